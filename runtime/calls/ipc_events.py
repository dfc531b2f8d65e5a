"""Events that other processes have too (semantics.md 1.14)."""

from typing import TYPE_CHECKING, Any

from cannery.runtime import exchange, lifecycle, shared_events
from cannery.runtime.calls import sharing
from cannery.runtime.calls.events import live_event
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import null, out_of_range
from cannery.runtime.objects import IPC, Thread
from cannery.runtime.shared_events import SharedEvent

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine


@call("aclrtIpcGetEventHandle")
def ipc_get_event_handle(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    """Every call for an event gives the same; also where the event itself was opened by it."""
    if not handle:
        raise null("event")
    if not out:
        raise null("handle")
    event = live_event(machine, handle)
    if not event.ipc:
        raise out_of_range(
            "the event {:#x} cannot be shared; make it by aclrtCreateEventExWithFlag with ACL_EVENT_IPC", handle
        )
    if event.peers is None:
        entry, key = machine.port.exchange.share(exchange.EVENT, event.device.index, 0, 0, False)
        if not entry:
            raise sharing.alone()
        shared_events.share(machine, event, entry, key)
    assert event.peers is not None
    return 0, event.peers.key


@call("aclrtIpcOpenEventHandle")
def ipc_open_event_handle(machine: "Machine", thread: Thread, key: Any, out: int) -> Any:
    """The devices of both processes reach each other from then on (reference implementation)."""
    if not out:
        raise null("event")
    context = machine.context_of(thread)
    entry, home, _ = sharing.open_entry(machine, exchange.EVENT, key, "event")
    if home != context.device.index:
        context.device.peers.add(home)
    event = lifecycle.open_event(machine, context, IPC, True, None)
    event.peers = SharedEvent(machine, entry, key)
    return 0, event.handle
