"""Refused calls: the numbers that calls answer, and the texts that explain them.

A handler raises :class:`Refused`; the machine turns it into the number, the thread's last error and a message. Who
checks decides two things (semantics.md 0.1, 0.2): a check of the acl layer, marked (A) there, does not set the last
error, one of the runtime layer (R) does. Texts are kept as template and values, and formatted when somebody reads
them.

The numbers are those of ``api/abi/error_codes.json``; a test compares them.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.kept import Kept

if TYPE_CHECKING:
    from cannery.runtime.exceptions import FailedTask
    from cannery.runtime.tasks import Task
    from cannery.runtime.waits import Until

ACL_SUCCESS: Final = 0
ACL_ERROR_INVALID_PARAM: Final = 100000
ACL_ERROR_REPEAT_INITIALIZE: Final = 100002
ACL_ERROR_INVALID_FILE: Final = 100003
ACL_ERROR_PARSE_FILE: Final = 100006
ACL_ERROR_REPEAT_FINALIZE: Final = 100037
ACL_ERROR_PROF_NOT_RUN: Final = 100043
ACL_ERROR_RT_PARAM_INVALID: Final = 107000
ACL_ERROR_RT_INVALID_DEVICEID: Final = 107001
ACL_ERROR_RT_CONTEXT_NULL: Final = 107002
ACL_ERROR_RT_STREAM_CONTEXT: Final = 107003
ACL_ERROR_RT_MODEL_CONTEXT: Final = 107004
ACL_ERROR_RT_STREAM_MODEL: Final = 107005
ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID: Final = 107006
ACL_ERROR_RT_ADDR_UNALIGNED: Final = 107008
ACL_ERROR_RT_STREAM_SUBSCRIBE: Final = 107011
ACL_ERROR_RT_THREAD_SUBSCRIBE: Final = 107012
ACL_ERROR_RT_GROUP_NOT_CREATE: Final = 107014
ACL_ERROR_RT_STREAM_NO_CB_REG: Final = 107015
ACL_ERROR_RT_INVALID_MEMORY_TYPE: Final = 107016
ACL_ERROR_RT_INVALID_HANDLE: Final = 107017
ACL_ERROR_RT_WAIT_TIMEOUT: Final = 107019
ACL_ERROR_RT_TASK_TIMEOUT: Final = 107020
ACL_ERROR_RT_SYSPARAMOPT_NOT_SET: Final = 107021
ACL_ERROR_RT_DEVICE_TASK_ABORT: Final = 107022
ACL_ERROR_RT_STREAM_ABORT: Final = 107023
ACL_ERROR_RT_CAPTURE_DEPENDENCY: Final = 107024
ACL_ERROR_RT_STREAM_UNJOINED: Final = 107025
ACL_ERROR_RT_MODEL_CAPTURED: Final = 107026
ACL_ERROR_RT_STREAM_CAPTURED: Final = 107027
ACL_ERROR_RT_EVENT_CAPTURED: Final = 107028
ACL_ERROR_RT_STREAM_NOT_CAPTURED: Final = 107029
ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT: Final = 107030
ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT: Final = 107031
ACL_ERROR_STREAM_CAPTURE_CONFLICT: Final = 107032
ACL_ERROR_STREAM_TASK_GROUP_STATUS: Final = 107033
ACL_ERROR_STREAM_TASK_GROUP_INTR: Final = 107034
ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED: Final = 107036
ACL_ERROR_RT_MODEL_RUNNING: Final = 107037
ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD: Final = 107038
ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY: Final = 107039
ACL_ERROR_RT_MODEL_UPDATE_FAILED: Final = 107040
ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC: Final = 107041
ACL_ERROR_RT_INVALID_DEVICE_FUNCTION: Final = 107044
ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING: Final = 107045
ACL_ERROR_FEATURE_UNSUPPORTED: Final = 200006
ACL_ERROR_RT_FEATURE_NOT_SUPPORT: Final = 207000
ACL_ERROR_RT_MEMORY_ALLOCATION: Final = 207001
ACL_ERROR_RT_NO_DEVICE: Final = 207004
ACL_ERROR_RT_NO_EVENT_RESOURCE: Final = 207007
ACL_ERROR_RT_NO_STREAM_RESOURCE: Final = 207008
ACL_ERROR_RT_NO_NOTIFY_RESOURCE: Final = 207009
ACL_ERROR_RT_QUEUE_EMPTY: Final = 207013
ACL_ERROR_RT_QUEUE_FULL: Final = 207014
ACL_ERROR_FAILURE: Final = 500001
ACL_ERROR_GE_FAILURE: Final = 500002
ACL_ERROR_RT_INTERNAL_ERROR: Final = 507000
ACL_ERROR_RT_CONTEXT_RELEASE_ERROR: Final = 507007
ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT: Final = 507009
ACL_ERROR_RT_MODEL_EXECUTE: Final = 507011
ACL_ERROR_RT_REPORT_TIMEOUT: Final = 507012
ACL_ERROR_RT_SYS_DMA: Final = 507013
ACL_ERROR_RT_AICORE_EXCEPTION: Final = 507015
ACL_ERROR_RT_AICPU_EXCEPTION: Final = 507018
ACL_ERROR_RT_MODEL_ABORT_NORMAL: Final = 507023
ACL_ERROR_RT_LABEL_CONTEXT: Final = 507031
ACL_ERROR_RT_DEV_SETUP_ERROR: Final = 507033
ACL_ERROR_RT_STREAM_SYNC_TIMEOUT: Final = 507046
ACL_ERROR_RT_EVENT_SYNC_TIMEOUT: Final = 507047
ACL_ERROR_RT_DRV_INTERNAL_ERROR: Final = 507899
ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED: Final = 507903
ACL_ERROR_SNAPSHOT_LOCK_FAILED: Final = 507906
ACL_ERROR_SNAPSHOT_UNLOCK_FAILED: Final = 507907
ACL_ERROR_SNAPSHOT_BACKUP_FAILED: Final = 507908
ACL_ERROR_SNAPSHOT_RESTORE_FAILED: Final = 507909
ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED: Final = 507910
ACL_ERROR_HOST_MEMORY_NOT_REGISTERED: Final = 507911
ACL_ERROR_SNAPSHOT_CALLBACK_FAILED: Final = 507912
ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED: Final = 507913

NAMES: Final[dict[int, str]] = {
    value: name for name, value in list(globals().items()) if name.startswith("ACL_") and isinstance(value, int)
}


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not an error of Cannery
    """A call that answers ``number``; ``text.format(*values)`` says what was wrong, which argument, and what to do.
    ``report``: of the failure of a task, what exception callbacks are told of it, if there are any."""

    __slots__ = ("number", "remembered", "report", "text", "values")

    def __init__(self, number: int, text: str, *values: object, remembered: bool = True) -> None:
        super().__init__(number)
        self.number = number
        self.text = text
        self.values = values
        self.remembered = remembered
        self.report: FailedTask | None = None

    def reason(self) -> str:
        """The text with its values."""
        return self.text.format(*self.values)

    def again(self) -> "Refused":
        """The same refusal for another call."""
        made = Refused(self.number, self.text, *self.values, remembered=self.remembered)
        made.report = self.report
        return made


class Again(Exception):  # noqa: N818 - as above
    """The call has to wait and then starts again: until ``target`` is done, or ``until`` holds, or, without either,
    until the snapshot lock is released (semantics.md 10.6)."""

    __slots__ = ("target", "until")

    def __init__(self, target: "Task | None" = None, until: "Until | None" = None) -> None:
        super().__init__()
        self.target = target
        self.until = until


class Message(Kept):
    """One failure, as aclGetRecentErrMsg will tell it."""

    __slots__ = ("function", "read", "refused")

    def __init__(self, function: str, refused: Refused) -> None:
        self.function = function
        # its traceback leads to the frame that holds the thread, and so back here: a cycle, and no collector runs
        self.refused = refused.with_traceback(None)
        self.read = False

    def __str__(self) -> str:
        number = self.refused.number
        name = NAMES.get(number)
        return f"{self.function}: {self.refused.reason()} [{number}{f' {name}' if name else ''}]"


def null(argument: str) -> Refused:
    """(A) 100000: a pointer that must not be null is."""
    return Refused(
        ACL_ERROR_INVALID_PARAM, "the argument {} is null; pass the address of an object that exists", argument,
        remembered=False,
    )  # fmt: skip


def invalid(text: str, *values: object) -> Refused:
    """(A) 100000: any other argument check of the acl layer."""
    return Refused(ACL_ERROR_INVALID_PARAM, text, *values, remembered=False)


def out_of_range(text: str, *values: object) -> Refused:
    """(R) 107000: a value, range or state that the runtime layer refuses."""
    return Refused(ACL_ERROR_RT_PARAM_INVALID, text, *values)


def stale(kind: str, handle: int) -> Refused:
    """(R) 107017: not the handle of a live object of this kind (semantics.md 0.2)."""
    return Refused(
        ACL_ERROR_RT_INVALID_HANDLE,
        "the argument {} ({:#x}) is not the handle of a live {}: it was destroyed, its device was reset, or it is of "
        "another kind; use the handle that its create call gave, and only until its destroy call",
        kind, handle, kind,
    )  # fmt: skip


def no_context() -> Refused:
    """(R) 107002: the thread has no current context (semantics.md 0.3)."""
    return Refused(
        ACL_ERROR_RT_CONTEXT_NULL,
        "this thread has no current context; call aclrtSetDevice or aclrtSetCurrentContext on this thread first",
    )


def foreign(handle: int) -> Refused:
    """(R) 107003: a task for a stream of another context than the current one (semantics.md 0.3)."""
    return Refused(
        ACL_ERROR_RT_STREAM_CONTEXT,
        "the stream {:#x} belongs to another context than the current one; make its context current first "
        "(aclrtSetCurrentContext, or aclrtSetDevice for the context of a device)",
        handle,
    )


def unsupported(text: str, *values: object) -> Refused:
    """(R) 207000: this product, or the model, does not have it."""
    return Refused(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, text, *values)


def driver_fault(text: str, *values: object) -> Refused:
    """(R) 507899: what the driver answers where no other number is known (semantics.md 0.1)."""
    return Refused(ACL_ERROR_RT_DRV_INTERNAL_ERROR, text, *values)
