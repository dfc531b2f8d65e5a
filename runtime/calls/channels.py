"""Channels for tensors: queues whose messages are datasets (reference pages and implementation of the functions named).

On a card the other end of a channel is a program on the device. Here nobody is at the other end: what a program sends
it can receive itself, as with a channel that is backed by a queue.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.datasets import DataItem, Dataset, dataset_named, release_items
from cannery.runtime.calls.devices import device_named
from cannery.runtime.calls.memory import not_allocated
from cannery.runtime.calls.queues import Turn, open_queue, readable, when_ready
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_RT_MEMORY_ALLOCATION, Refused, invalid, no_context, null, stale
from cannery.runtime.objects import Device, Thread
from cannery.runtime.queues import NAME_ROOM, Message, Part, Queue
from cannery.runtime.small_objects import SmallObject, find, keep
from cannery.runtime.waits import Reply

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

ALIGNMENT: Final = 64  # of each item in the memory that receives a dataset


class Channel(SmallObject):
    __slots__ = ("device", "queue")

    def __init__(self, device: Device, queue: Queue) -> None:
        super().__init__()
        self.device = device
        self.queue = queue


def _channel(machine: "Machine", handle: int) -> Channel:
    if not handle:
        raise null("handle")
    channel = find(machine, Channel, handle)
    if channel is None or channel.queue.gone:
        raise stale("handle", handle)
    return channel


@call("acltdtCreateChannelWithCapacity")
def create_channel_with_capacity(
    machine: "Machine", thread: Thread, device_id: int, name: bytes | None, capacity: int
) -> int:
    """Null, and a message, if it cannot be made. The device has to be open in this process."""
    try:
        return keep(machine, _open(machine, device_id, name, capacity))
    except Refused as refused:
        machine.refuse(thread, "acltdtCreateChannelWithCapacity", refused)
        return 0


def _open(machine: "Machine", device_id: int, name: bytes | None, capacity: int) -> Channel:
    if name is None:
        raise null("name")
    if len(name) + 1 > NAME_ROOM:
        raise invalid("the argument name has {} bytes; pass {} at most", len(name), NAME_ROOM - 1)
    device = device_named(machine, device_id)
    if not device.contexts:
        raise no_context()
    return Channel(device, open_queue(device, name, capacity))


@call("acltdtDestroyChannel")
def destroy_channel(machine: "Machine", thread: Thread, handle: int) -> int:
    channel = _channel(machine, handle)
    channel.device.queues.destroy(channel.queue)
    del machine.small_objects[handle]
    return 0


@call("acltdtStopChannel")
def stop_channel(machine: "Machine", thread: Thread, handle: int) -> int:
    """Has no effect on a channel that is backed by a queue (reference implementation)."""
    _channel(machine, handle)
    return 0


@call("acltdtCleanChannel")
def clean_channel(machine: "Machine", thread: Thread, handle: int) -> int:
    _channel(machine, handle).queue.messages.clear()
    return 0


@call("acltdtQueryChannelSize")
def query_channel_size(machine: "Machine", thread: Thread, handle: int, out: int) -> Any:
    channel = _channel(machine, handle)
    if not out:
        raise null("size")
    return 0, len(channel.queue.messages)


@call("acltdtSendTensor")
def send_tensor(machine: "Machine", thread: Thread, handle: int, dataset_handle: int, timeout: int) -> Any:
    """The data is read when there is room for it."""
    channel = _channel(machine, handle)
    dataset = dataset_named(machine, dataset_handle)
    turn = Send(channel.device, channel.queue, dataset)
    return when_ready(machine, thread, "acltdtSendTensor", turn, True, timeout)


class Send(Turn):
    """Puts what the items of a dataset describe into the queue of a channel."""

    __slots__ = ("dataset",)

    def __init__(self, device: Device, queue: Queue, dataset: Dataset) -> None:
        super().__init__(device, queue)
        self.dataset = dataset

    def act(self, machine: "Machine") -> Reply:
        self.queue.messages.append(Message(tuple(_part(machine, item) for item in self.dataset.items)))
        return 0


def _part(machine: "Machine", handle: int) -> Part:
    item = find(machine, DataItem, handle)
    if item is None:
        raise stale("dataItem", handle)
    content = readable(machine, "data", item.address, item.size) if item.address and item.size else b""
    return Part(content, item.tensor_type, item.data_type, item.dims)


@call("acltdtReceiveTensor")
def receive_tensor(machine: "Machine", thread: Thread, handle: int, dataset_handle: int, timeout: int) -> Any:
    """The dataset gets items of its own, in pinned memory; those of an earlier receive are gone."""
    channel = _channel(machine, handle)
    dataset = dataset_named(machine, dataset_handle)
    turn = Receive(channel.device, channel.queue, dataset)
    return when_ready(machine, thread, "acltdtReceiveTensor", turn, False, timeout)


class Receive(Turn):
    """Takes a message out of the queue of a channel, for a dataset."""

    __slots__ = ("dataset",)

    def __init__(self, device: Device, queue: Queue, dataset: Dataset) -> None:
        super().__init__(device, queue)
        self.dataset = dataset

    def act(self, machine: "Machine") -> Reply:
        dataset = self.dataset
        if dataset.items and not dataset.owns:
            raise invalid("the argument dataset has items of the program; receive into an empty dataset")
        message = self.queue.messages[0]
        starts, size = _layout(message)
        memory = machine.memory.pin(size)
        if memory is None:
            raise Refused(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has not {} bytes left for a dataset", size)
        release_items(machine, dataset)
        dataset.owns = True
        dataset.memory = memory
        for part, start in zip(message.parts, starts, strict=True):
            _receive(machine, dataset, part, memory.address + start)
        self.queue.messages.popleft()
        return 0


def _layout(message: Message) -> tuple[list[int], int]:
    """Where each part of a message goes, and how much memory they take."""
    starts, size = [], 0
    for part in message.parts:
        starts.append(size)
        size += -(-len(part.content) // ALIGNMENT) * ALIGNMENT
    return starts, max(size, ALIGNMENT)


def _receive(machine: "Machine", dataset: Dataset, part: Part, address: int) -> None:
    if part.content and not machine.port.write(address, memoryview(part.content)):
        raise not_allocated("data", machine.memory.place(address), len(part.content))
    item = DataItem(part.tensor_type, part.dims, part.data_type, address if part.content else 0, len(part.content))
    dataset.items.append(keep(machine, item))
