"""Contexts (semantics.md 4, 10a): explicit ones beside the primary context of each device."""

from typing import TYPE_CHECKING, Any

from cannery.runtime import lifecycle
from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_RT_CONTEXT_NULL, Refused, null, out_of_range
from cannery.runtime.objects import Context, Thread
from cannery.runtime.state_callbacks import CREATE_POST, DESTROY_PRE, tell
from cannery.runtime.waits import Given, Reply, Resume

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine


@call("aclrtCreateContext")
def create_context(machine: "Machine", thread: Thread, out: int, device_id: int) -> Any:
    if not out:
        raise null("context")
    machine.hold()
    context = lifecycle.open_context(machine, device_named(machine, device_id), False)
    thread.context = context
    thread.follows = None
    created = machine.told.of_streams([context.default], CREATE_POST)
    return tell(machine, thread, "aclrtCreateContext", created, Given((0, context.handle)))


@call("aclrtDestroyContext")
def destroy_context(machine: "Machine", thread: Thread, handle: int) -> Any:
    if not handle:
        raise null("context")
    machine.hold()
    context = machine.contexts.get(handle)
    if context is None:
        raise Refused(
            ACL_ERROR_RT_CONTEXT_NULL,
            "the argument context ({:#x}) is not a live context; destroy a context once only",
            handle,
        )
    if context.primary:
        raise Refused(
            ACL_ERROR_RT_CONTEXT_NULL,
            "the argument context ({:#x}) is the primary context of device {}; it goes with aclrtResetDevice",
            handle, context.device.user,
        )  # fmt: skip
    lifecycle.join(machine, thread, context)
    ending = machine.told.of_streams(context.streams.values(), DESTROY_PRE)
    return tell(machine, thread, "aclrtDestroyContext", ending, Close(context))


class Close(Resume):
    """A context ends."""

    __slots__ = ("context",)

    def __init__(self, context: Context) -> None:
        self.context = context

    def reply(self, machine: "Machine") -> Reply:
        if machine.contexts.get(self.context.handle) is self.context:  # else a function of the program did it meanwhile
            lifecycle.close_context(machine, self.context)
        return 0


@call("aclrtSetCurrentContext")
def set_current_context(machine: "Machine", thread: Thread, handle: int) -> int:
    if not handle:
        raise null("context")
    context = machine.contexts.get(handle)
    if context is None:
        raise out_of_range(
            "the argument context ({:#x}) is not a live context: it was destroyed, its device was reset, or it never "
            "was one; pass what aclrtCreateContext or aclrtGetCurrentContext gave",
            handle,
        )
    thread.context = context
    thread.follows = None
    return 0


@call("aclrtGetCurrentContext")
def get_current_context(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("context")
    try:
        return 0, machine.context_of(thread).handle
    except Refused as refused:
        refused.remembered = False  # checked by the acl layer (semantics.md 0.2)
        raise
