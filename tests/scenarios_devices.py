"""Programs that ask what devices are, and set what they do, for ``scenarios.py``."""

from cannery.runtime.settings import Settings
from tests.live import OUT, Live

SIZE = 64
UNASKED = (0, 0, 0, 0, False)  # aclrtUtilizationInfo


def parameters() -> Live:
    """Parameters of the process and of a context, limits of operators."""
    live = Live(Settings(devices=2))
    live.call("aclrtCtxGetSysParamOpt", 0, OUT)
    live.ok("aclrtSetDevice", 0)
    live.call("aclrtCtxGetSysParamOpt", 0, OUT)
    live.ok("aclrtCtxSetSysParamOpt", 0, 2)
    live.ok("aclrtCtxGetSysParamOpt", 0, OUT)
    live.ok("aclrtSetSysParamOpt", 1, 1)
    live.call("aclrtSetSysParamOpt", 1, 2)
    live.ok("aclrtGetSysParamOpt", 1, OUT)
    live.ok("aclrtGetOpTimeOutInterval", OUT)
    live.ok("aclrtGetOpExecuteTimeout", OUT)
    live.ok("aclrtSetOpExecuteTimeOut", 100)
    live.ok("aclrtGetOpExecuteTimeout", OUT)
    live.ok("aclrtSetOpExecuteTimeOutV2", 5_000_000, OUT)
    live.call("aclrtSetOpExecuteTimeOutWithMs", 5)
    return live


def overflow() -> Live:
    """The mode of results, and the status: read, cleared, read again."""
    live = Live(Settings(devices=2))
    live.ok("aclrtSetDevice", 0)
    live.ok("aclrtGetDeviceSatMode", OUT)
    live.ok("aclrtSetDeviceSatMode", 0)
    live.ok("aclrtGetDeviceSatMode", OUT)
    stream, device = live.create("aclrtCreateStream"), live.create("aclrtMalloc", SIZE, 0)
    mark = live.create("aclrtCtxGetFloatOverflowAddr")
    live.ok("aclrtMemset", mark, 4, 3, 4)
    host = live.host.put(0, b"")
    for read, mode in (("GetOverflowStatus", ()), ("GetFloatOverflowStatus", ()), ("NpuGetFloatOverFlowStatus", (0,))):
        live.ok(f"aclrt{read}", device, SIZE, *mode, stream)
        live.ok("aclrtSynchronizeStream", stream)
        live.ok("aclrtMemcpy", host, SIZE, device, SIZE, 2)
    live.ok("aclrtResetOverflowStatus", stream)
    live.ok("aclrtResetFloatOverflowStatus", stream)
    live.ok("aclrtNpuClearFloatOverFlowStatus", 0, stream)
    live.ok("aclrtGetOverflowStatus", device, SIZE, stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpy", host, SIZE, device, SIZE, 2)
    live.call("aclrtGetOverflowStatus", device, 1, stream)
    live.ok("aclrtResetDevice", 0)
    return live


def identities() -> Live:
    """Ids of devices of which the process sees some, links, state."""
    live = Live(Settings(devices=4, visible="1,3"))
    for function in ("LogicDevIdByUserDevId", "PhyDevIdByUserDevId", "PhyDevIdByLogicDevId"):
        live.ok(f"aclrtGet{function}", 1, OUT)
        live.call(f"aclrtGet{function}", 2, OUT)
    for function in ("UserDevIdByLogicDevId", "UserDevIdByPhyDevId", "LogicDevIdByPhyDevId"):
        live.ok(f"aclrtGet{function}", 3, OUT)
        live.call(f"aclrtGet{function}", 2, OUT)
    live.ok("aclsysGetVersionStr", b"runtime", OUT)
    live.ok("aclsysGetVersionNum", b"runtime", OUT)
    live.ok("aclsysGetCANNVersion", 0, OUT)
    live.ok("aclGetCannAttribute", 0, OUT)
    live.ok("aclGetCannAttributeList", OUT, OUT)
    live.ok("aclGetDeviceCapability", 0, 2, OUT)
    live.ok("aclrtGetDevicesTopo", 0, 1, OUT)
    live.ok("aclrtDeviceGetUuid", 1, OUT)
    live.ok("aclrtGetDeviceCapability", 0, 1, OUT)
    live.call("aclrtGetPrimaryCtxState", 0, OUT, OUT)
    live.ok("aclrtSetDevice", 0)
    live.ok("aclrtGetPrimaryCtxState", 0, 0, OUT)
    live.ok("aclrtGetDeviceUtilizationRate", 0, UNASKED)
    live.call("aclrtGetDeviceUtilizationRate", 0, None)
    live.ok("aclrtGetHardwareSyncAddr", OUT)
    live.ok("aclrtResetDevice", 0)
    return live


def groups() -> Live:
    """Groups of cores, which only 310P has."""
    live = Live(Settings(devices=1, product="310P"))
    live.call("aclrtCreateGroupInfo")
    live.ok("aclrtSetDevice", 0)
    live.ok("aclrtGetGroupCount", OUT)
    information = live.call("aclrtCreateGroupInfo")
    live.ok("aclrtGetAllGroupInfo", information)
    live.ok("aclrtGetGroupInfoDetail", information, 0, 0, OUT, 4, OUT)
    live.ok("aclrtSetGroup", 0)
    live.call("aclrtSetGroup", 1)
    live.ok("aclrtDestroyGroupInfo", information)
    live.call("aclrtDestroyGroupInfo", information)
    return live


ALL = {
    "parameters": parameters,
    "overflow": overflow,
    "identities": identities,
    "groups": groups,
}
