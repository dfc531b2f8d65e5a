"""Parameters of the process and of contexts, and limits of operators (reference pages of the functions named).

The model runs no operators of its own that could take too long, or whose result could depend on a parameter: it keeps
what was set, and kernel models may ask for it.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, Refused, invalid, null, out_of_range, unsupported
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

OPTIONS: Final = (
    "ACL_OPT_DETERMINISTIC",
    "ACL_OPT_ENABLE_DEBUG_KERNEL",
    "ACL_OPT_STRONG_CONSISTENCY",
    "ACL_OPT_ENABLE_KERNEL_EARLY_START",
)
OF_CONTEXTS: Final = 3  # so many of them can be set for a context
DETERMINISTIC: Final = 0
LEVELS: Final = 4  # values that ACL_OPT_DETERMINISTIC may have
SWITCHED: Final = 2  # values of the others

NS_PER_MS: Final = 1_000_000
NS_PER_US: Final = 1_000


def _check_option(option: int, count: int) -> None:
    if not 0 <= option < count:
        raise invalid(
            "the argument opt is {}; pass a constant from {} (0) to {} ({})",
            option, OPTIONS[0], OPTIONS[count - 1], count - 1,
        )  # fmt: skip


def _check_value(option: int, value: int) -> None:
    most = LEVELS if option == DETERMINISTIC else SWITCHED
    if not 0 <= value < most:
        raise out_of_range("the argument value is {}; {} takes numbers from 0 to {}", value, OPTIONS[option], most - 1)


@call("aclrtSetSysParamOpt")
def set_sys_param_opt(machine: "Machine", thread: Thread, option: int, value: int) -> int:
    _check_option(option, len(OPTIONS))
    _check_value(option, value)
    machine.process.parameters[option] = value
    return 0


@call("aclrtGetSysParamOpt")
def get_sys_param_opt(machine: "Machine", thread: Thread, option: int, out: int) -> Any:
    """0 unless it was set."""
    if not out:
        raise null("value")
    _check_option(option, len(OPTIONS))
    return 0, machine.process.parameters.get(option, 0)


@call("aclrtCtxSetSysParamOpt")
def ctx_set_sys_param_opt(machine: "Machine", thread: Thread, option: int, value: int) -> int:
    _check_option(option, OF_CONTEXTS)
    _check_value(option, value)
    machine.context_of(thread).parameters[option] = value
    return 0


@call("aclrtCtxGetSysParamOpt")
def ctx_get_sys_param_opt(machine: "Machine", thread: Thread, option: int, out: int) -> Any:
    """There is no default: what was not set for the context cannot be asked for."""
    if not out:
        raise null("value")
    _check_option(option, OF_CONTEXTS)
    value = machine.context_of(thread).parameters.get(option)
    if value is None:
        raise Refused(
            ACL_ERROR_RT_SYSPARAMOPT_NOT_SET,
            "{} was not set for the current context; set it with aclrtCtxSetSysParamOpt first",
            OPTIONS[option],
        )
    return 0, value


# Limits of operators. The hardware counts in intervals; a limit is rounded up to them.


@call("aclrtSetOpExecuteTimeOut")
def set_op_execute_time_out(machine: "Machine", thread: Thread, seconds: int) -> int:
    """0: the longest limit there is."""
    machine.process.operator_limit = seconds * 1_000_000_000
    return 0


@call("aclrtSetOpExecuteTimeOutWithMs", everywhere=True)
def set_op_execute_time_out_with_ms(machine: "Machine", thread: Thread, milliseconds: int) -> int:
    raise unsupported("no product has this function (reference documents); use aclrtSetOpExecuteTimeOutV2")


@call("aclrtSetOpExecuteTimeOutV2")
def set_op_execute_time_out_v2(machine: "Machine", thread: Thread, microseconds: int, out: int) -> Any:
    if not out:
        raise null("actualTimeout")
    machine.context_of(thread)
    machine.process.operator_limit = microseconds * NS_PER_US
    return 0, operator_limit(machine) // NS_PER_US


@call("aclrtGetOpExecuteTimeout")
def get_op_execute_timeout(machine: "Machine", thread: Thread, out: int) -> Any:
    """The limit that counts, in whole milliseconds, rounded up."""
    if not out:
        raise null("timeoutMs")
    return 0, -(-operator_limit(machine) // NS_PER_MS)


@call("aclrtGetOpTimeOutInterval")
def get_op_time_out_interval(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("interval")
    machine.context_of(thread)
    return 0, machine.profile.operator_interval_ns // NS_PER_US


def operator_limit(machine: "Machine") -> int:
    """How long an operator may take, in ns: what was set, rounded up to intervals, or the product's default."""
    profile = machine.profile
    wanted = machine.process.operator_limit
    if wanted is None:
        intervals = profile.operator_intervals_default
    elif not wanted:
        intervals = profile.operator_intervals
    else:
        intervals = min(-(-wanted // profile.operator_interval_ns), profile.operator_intervals)
    return profile.operator_interval_ns * intervals
