"""What is remembered of failures: last errors and messages (semantics.md 0.2, 4)."""

from typing import TYPE_CHECKING

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import Message, invalid, no_context
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine


def _check_level(level: int) -> None:
    if level:
        raise invalid("the argument level is {}; the only level is ACL_RT_THREAD_LEVEL (0)", level)


@call("aclrtPeekAtLastError")
def peek_at_last_error(machine: "Machine", thread: Thread, level: int) -> int:
    _check_level(level)
    return thread.last_error


@call("aclrtGetLastError")
def get_last_error(machine: "Machine", thread: Thread, level: int) -> int:
    _check_level(level)
    error, thread.last_error = thread.last_error, 0
    return error


@call("aclGetRecentErrMsg")
def get_recent_err_msg(machine: "Machine", thread: Thread) -> bytes | None:
    """Newest text first. Reading clears, but in a thread without current context the call adds a message about that
    itself, and texts repeat until a context is set (observed)."""
    shared = machine.process.messages
    messages = thread.messages if shared is None else shared
    if thread.context is None and machine.process.default_device is None:
        messages.append(Message("aclGetRecentErrMsg", no_context()))
        told = list(messages)
        for message in told:
            message.read = True
    else:
        told = [message for message in messages if not message.read]
        messages.clear()
    if not told:
        return None
    return "\n".join(str(message) for message in reversed(told)).encode("utf-8", "replace")
