"""The roles of functions about devices: see ``annotations.py``."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import (
    Address,
    AddressOut,
    Buffer,
    ConstantOut,
    CString,
    Handle,
    Identity,
    OutScalar,
    ReleasedHandle,
    Scalar,
    Struct,
)
from cannery.runtime.version import TOOLKIT

DEVICES: Final[tuple[Annotation, ...]] = (
    call("aclrtSetDevice", BLOCKS)(
        deviceId=Scalar("int32_t"),
    ),
    call("aclrtResetDevice", BLOCKS)(
        deviceId=Scalar("int32_t"),
    ),
    call("aclrtResetDeviceForce", BLOCKS)(
        deviceId=Scalar("int32_t"),
    ),
    call("aclrtGetDevice", CONTEXT)(
        deviceId=OutScalar("int32_t"),
    ),
    call("aclrtGetDeviceCount")(
        count=OutScalar("uint32_t"),
    ),
    call("aclrtGetSocName")(),
    # Versions of the packages that the program would run with, and what these and the devices can do.
    call("aclsysGetVersionStr")(pkgName=CString(), versionStr=Buffer(f"{len(TOOLKIT) + 1}", "out")),
    call("aclsysGetVersionNum")(pkgName=CString(), versionNum=OutScalar("int32_t")),
    call("aclsysGetCANNVersion")(name=Scalar("aclCANNPackageName"), version=Struct("aclCANNPackageVersion", "out")),
    call("aclGetCannAttributeList")(cannAttrList=ConstantOut(), num=OutScalar("size_t")),
    call("aclGetCannAttribute")(cannAttr=Scalar("aclCannAttr"), value=OutScalar("int32_t")),
    call("aclGetDeviceCapability")(
        deviceId=Scalar("uint32_t"), deviceInfo=Scalar("aclDeviceInfo"), value=OutScalar("int64_t")
    ),
    call("aclrtGetRunMode")(
        runMode=OutScalar("aclrtRunMode"),
    ),
    call("aclrtQueryDeviceStatus")(
        deviceId=Scalar("int32_t"),
        deviceStatus=OutScalar("aclrtDeviceStatus"),
    ),
    call("aclrtSetTsDevice")(
        tsId=Scalar("aclrtTsId"),
    ),
    call("aclrtGetDeviceInfo")(
        deviceId=Scalar("uint32_t"),
        attr=Scalar("aclrtDevAttr"),
        value=OutScalar("int64_t"),
    ),
    call("aclrtDeviceGetBareTgid")(
        pid=Identity(OutScalar("int32_t"), "process"),
    ),
    call("aclrtDeviceCanAccessPeer")(
        canAccessPeer=OutScalar("int32_t"),
        deviceId=Scalar("int32_t"),
        peerDeviceId=Scalar("int32_t"),
    ),
    call("aclrtDeviceEnablePeerAccess", CONTEXT)(
        peerDeviceId=Scalar("int32_t"),
        flags=Scalar("uint32_t"),
    ),
    call("aclrtDeviceDisablePeerAccess", CONTEXT)(
        peerDeviceId=Scalar("int32_t"),
    ),
    call("aclrtDevicePeerAccessStatus")(
        deviceId=Scalar("int32_t"),
        peerDeviceId=Scalar("int32_t"),
        status=OutScalar("int32_t"),
    ),
    # What devices can do, are doing, and are called (reference pages of these functions)
    call("aclrtGetDeviceCapability")(
        deviceId=Scalar("int32_t"),
        devFeatureType=Scalar("aclrtDevFeatureType"),
        value=OutScalar("int32_t"),
    ),
    call("aclrtGetDeviceUtilizationRate")(
        deviceId=Scalar("int32_t"),
        utilizationInfo=Struct("aclrtUtilizationInfo", "inout"),
    ),
    call("aclrtGetPrimaryCtxState")(
        deviceId=Scalar("int32_t"),
        flags=Address("any"),  # reserved
        active=OutScalar("int32_t"),
    ),
    call("aclrtGetHardwareSyncAddr", CONTEXT)(
        addr=AddressOut("device"),
    ),
    call("aclrtDeviceGetUuid")(
        deviceId=Scalar("int32_t"),
        uuid=Struct("aclrtUuid", "out"),
    ),
    call("aclrtGetDevicesTopo")(
        deviceId=Scalar("uint32_t"),
        otherDeviceId=Scalar("uint32_t"),
        value=OutScalar("uint64_t"),
    ),
    call("aclrtGetLogicDevIdByUserDevId")(
        userDevid=Scalar("int32_t"),
        logicDevId=OutScalar("int32_t"),
    ),
    call("aclrtGetUserDevIdByLogicDevId")(
        logicDevId=Scalar("int32_t"),
        userDevid=OutScalar("int32_t"),
    ),
    call("aclrtGetLogicDevIdByPhyDevId")(
        phyDevId=Scalar("int32_t"),
        logicDevId=OutScalar("int32_t"),
    ),
    call("aclrtGetPhyDevIdByLogicDevId")(
        logicDevId=Scalar("int32_t"),
        phyDevId=OutScalar("int32_t"),
    ),
    call("aclrtGetPhyDevIdByUserDevId")(
        userDevId=Scalar("int32_t"),
        phyDevId=OutScalar("int32_t"),
    ),
    call("aclrtGetUserDevIdByPhyDevId")(
        phyDevId=Scalar("int32_t"),
        userDevId=OutScalar("int32_t"),
    ),
    # Groups of cores
    call("aclrtSetGroup", CONTEXT)(
        groupId=Scalar("int32_t"),
    ),
    call("aclrtGetGroupCount", CONTEXT)(
        count=OutScalar("uint32_t"),
    ),
    call("aclrtCreateGroupInfo")(),
    call("aclrtDestroyGroupInfo")(
        groupInfo=ReleasedHandle("group information"),
    ),
    call("aclrtGetAllGroupInfo", CONTEXT)(
        groupInfo=Handle("group information"),
    ),
    call("aclrtGetGroupInfoDetail", CONTEXT)(
        groupInfo=Handle("group information"),
        groupIndex=Scalar("int32_t"),
        attr=Scalar("aclrtGroupAttr"),
        attrValue=Buffer("valueLen", "out"),
        valueLen=Scalar("size_t"),
        paramRetSize=OutScalar("size_t"),
    ),
    # Cores that a process, a stream or a thread may use (reference pages of these functions)
    call("aclrtSetDeviceResLimit")(
        deviceId=Scalar("int32_t"),
        type=Scalar("aclrtDevResLimitType"),
        value=Scalar("uint32_t"),
    ),
    call("aclrtGetDeviceResLimit")(
        deviceId=Scalar("int32_t"),
        type=Scalar("aclrtDevResLimitType"),
        value=OutScalar("uint32_t"),
    ),
    call("aclrtResetDeviceResLimit")(
        deviceId=Scalar("int32_t"),
    ),
    call("aclrtSetStreamResLimit")(
        stream=Handle("stream"),
        type=Scalar("aclrtDevResLimitType"),
        value=Scalar("uint32_t"),
    ),
    call("aclrtGetStreamResLimit")(
        stream=Handle("stream"),
        type=Scalar("aclrtDevResLimitType"),
        value=OutScalar("uint32_t"),
    ),
    call("aclrtResetStreamResLimit")(
        stream=Handle("stream"),
    ),
    call("aclrtUseStreamResInCurrentThread")(
        stream=Handle("stream"),
    ),
    call("aclrtUnuseStreamResInCurrentThread")(
        stream=Handle("stream"),
    ),
    call("aclrtGetResInCurrentThread")(
        type=Scalar("aclrtDevResLimitType"),
        value=OutScalar("uint32_t"),
    ),
)
