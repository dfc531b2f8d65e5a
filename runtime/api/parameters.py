"""The roles of functions about parameters of the process and of contexts, limits of operators, and overflow: see
``annotations.py``. Rules come from the reference pages of the functions."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import Address, AddressOut, Handle, OutScalar, Role, Scalar

_STREAM: Final = Handle("stream")
_OPTION: Final = Scalar("aclSysParamOpt")
_STATUS: Final[dict[str, Role]] = {"outputAddr": Address("device", "outputSize", "write")}

PARAMETERS: Final[tuple[Annotation, ...]] = (
    call("aclrtSetSysParamOpt")(opt=_OPTION, value=Scalar("int64_t")),
    call("aclrtGetSysParamOpt")(opt=_OPTION, value=OutScalar("int64_t")),
    call("aclrtCtxSetSysParamOpt", CONTEXT)(opt=_OPTION, value=Scalar("int64_t")),
    call("aclrtCtxGetSysParamOpt", CONTEXT)(opt=_OPTION, value=OutScalar("int64_t")),
    # Limits of operators.
    call("aclrtSetOpExecuteTimeOut")(timeout=Scalar("uint32_t")),
    call("aclrtSetOpExecuteTimeOutWithMs")(timeout=Scalar("uint32_t")),
    call("aclrtSetOpExecuteTimeOutV2", CONTEXT)(timeout=Scalar("uint64_t"), actualTimeout=OutScalar("uint64_t")),
    call("aclrtGetOpExecuteTimeout")(timeoutMs=OutScalar("uint32_t")),
    call("aclrtGetOpTimeOutInterval", CONTEXT)(interval=OutScalar("uint64_t")),
    # Overflow of floating-point numbers. What reads or clears the status is queued.
    call("aclrtSetDeviceSatMode")(mode=Scalar("aclrtFloatOverflowMode")),
    call("aclrtGetDeviceSatMode")(mode=OutScalar("aclrtFloatOverflowMode")),
    call("aclrtCtxGetFloatOverflowAddr", CONTEXT)(overflowAddr=AddressOut("device")),
    call("aclrtGetOverflowStatus", BLOCKS, CONTEXT)(**_STATUS, outputSize=Scalar("size_t"), stream=_STREAM),
    call("aclrtResetOverflowStatus", BLOCKS, CONTEXT)(stream=_STREAM),
    call("aclrtGetFloatOverflowStatus", BLOCKS, CONTEXT)(**_STATUS, outputSize=Scalar("uint64_t"), stream=_STREAM),
    call("aclrtResetFloatOverflowStatus", BLOCKS, CONTEXT)(stream=_STREAM),
    call("aclrtNpuGetFloatOverFlowStatus", BLOCKS, CONTEXT)(
        **_STATUS, outputSize=Scalar("uint64_t"), checkMode=Scalar("uint32_t"), stream=_STREAM
    ),
    call("aclrtNpuClearFloatOverFlowStatus", BLOCKS, CONTEXT)(checkMode=Scalar("uint32_t"), stream=_STREAM),
)
