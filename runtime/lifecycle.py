"""How devices, contexts, streams, events and notifies come and go.

A device is open while it has a context. Its primary context lives from the first aclrtSetDevice to the reset that
brings the count to zero; contexts made explicitly live until they are destroyed (semantics.md 4).
"""

from typing import TYPE_CHECKING

from cannery.runtime import conditions, counting, flow, host_functions, notifies
from cannery.runtime.errors import ACL_ERROR_RT_NO_STREAM_RESOURCE, Again, Refused
from cannery.runtime.ids import HardwareId
from cannery.runtime.lanes import BoundLane
from cannery.runtime.objects import Context, Device, Event, Stream, Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine


def select(machine: "Machine", thread: Thread, device: Device) -> Context:
    """Make the device's primary context current for the thread, as aclrtSetDevice does.

    Threads that selected the device before it was reset have the new primary context too.
    """
    context = device.primary
    if context is None:
        context = device.primary = open_context(machine, device, True)
        for other in machine.threads.values():
            if other.follows is device:
                other.context = context
    device.selected += 1
    thread.follows = device
    thread.context = context
    return context


def release(machine: "Machine", thread: Thread, device: Device) -> None:
    """The count of a device reached zero: its primary context ends, and the calling thread loses its current context,
    unless that was made explicitly (semantics.md 4, observed)."""
    context = device.primary
    assert context is not None
    device.selected = 0
    device.primary = None
    current = thread.context
    close_context(machine, context)
    if current is None or current.primary:
        thread.context = None
        thread.follows = None


def join(machine: "Machine", thread: Thread, context: Context) -> None:
    """Part of each call that ends a context: it waits for the host functions that the context's worker runs, unless
    one of them makes that very call (reference implementation).

    Raises:
        Again: the call has to wait.
    """
    worker = context.worker
    if worker is not None and worker.running is not None and machine.identify(thread).worker != worker.number:
        raise Again(until=host_functions.Idle(worker))


def open_context(machine: "Machine", device: Device, primary: bool) -> Context:
    """A new context with its default stream.

    Raises:
        Refused: 207008, the device has no stream left.
    """
    hardware_id = take_stream_id(device)
    context = Context(machine.new_handle(), device, primary)
    machine.contexts[context.handle] = context
    device.contexts += 1
    context.default = open_stream(machine, context, hardware_id)
    return context


def close_context(machine: "Machine", context: Context) -> None:
    """End a context and its streams; no thread has it current any more. What becomes of queued work depends on the
    schedule (semantics.md does not say)."""
    for stream in [*context.streams.values()]:
        machine.schedule.retire(stream)
        close_stream(machine, stream)
    if context.worker is not None:
        context.worker.retire(machine)
        context.worker = None
    for graph in [*context.graphs.values()]:
        if graph.handle in machine.graphs:  # else it ended with the instance that it is a child of
            conditions.close(machine, graph)
    flow.close(machine, context)
    del machine.contexts[context.handle], context.default  # the stream refers back to its context
    for thread in machine.threads.values():
        if thread.context is context:
            thread.context = None
    if context.overflow is not None and context.overflow.live:
        machine.memory.free(context.overflow)
    device = context.device
    device.contexts -= 1
    if not device.contexts:
        close_device(machine, device)


def close_device(machine: "Machine", device: Device) -> None:
    """The last context of a device is gone: its events, notifies and memory go too, and the kernels on it."""
    for event in [*device.events.values()]:
        close_event(machine, event)
    for notify in [*device.notifies.values()]:
        notifies.close(machine, notify)
    for counter in [*device.counting.values()]:
        counting.close(machine, counter)
    device.event_ids.clear()
    device.peers.clear()
    device.core_limits.clear()
    device.sync_area = None
    device.queues.clear()
    for binary in machine.binaries.values():
        binary.close_device(device)
    machine.memory.clear(device)


def take_stream_id(device: Device) -> HardwareId:
    """A stream id of the device.

    Raises:
        Refused: 207008, all are taken.
    """
    hardware_id = device.stream_ids.take()
    if hardware_id is None:
        raise Refused(
            ACL_ERROR_RT_NO_STREAM_RESOURCE,
            "device {} has {} streams, default streams included, and this product no more; destroy some, or reuse them",
            device.user, device.stream_ids.limit,
        )  # fmt: skip
    return hardware_id


def open_stream(
    machine: "Machine", context: Context, hardware_id: HardwareId, priority: int = 0, flags: int = 0
) -> Stream:
    """A new stream of a context, with that id."""
    stream = Stream(machine.new_handle(), context, hardware_id, priority, flags)
    machine.streams[stream.handle] = stream
    context.streams[stream.handle] = stream
    return stream


def close_stream(machine: "Machine", stream: Stream) -> None:
    """End a stream at once; what is still queued is dropped. No effect on one that ended."""
    if stream.context.streams.pop(stream.handle, None) is not None:
        machine.schedule.drop(stream)
        machine.streams.pop(stream.handle, None)
        lane, stream.lane = stream.lane, None  # which may refer back to it
        if isinstance(lane, BoundLane):
            lane.graph = None
            lane.tasks = []  # which may refer to lanes
        host_functions.unsubscribe(machine, stream)
        stream.id.give_back()


def open_event(machine: "Machine", context: Context, flags: int, ex: bool, hardware_id: HardwareId | None) -> Event:
    """A new event on the device of a context, with that id if it keeps one."""
    event = Event(machine.new_handle(), context, flags, ex)
    event.id = hardware_id
    machine.events[event.handle] = event
    event.device.events[event.handle] = event
    return event


def close_event(machine: "Machine", event: Event) -> None:
    """The handle dies at once; queued work that uses the event goes on, and keeps its id (semantics.md 1.6)."""
    del machine.events[event.handle]
    del event.device.events[event.handle]
    event.gone = True
    if event.peers is not None:
        event.peers.close(machine)
    if event.record is not None:
        event.record.supersede()
        event.record = None
    if not event.uses:
        event.give_back()
