"""The roles of functions about devices: see ``annotations.py``."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import Handle, OutScalar, Scalar

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
        pid=OutScalar("int32_t"),
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
