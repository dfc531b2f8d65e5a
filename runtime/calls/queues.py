"""Queues: making them, putting data in and taking it out (reference pages of the functions named).

Queues belong to the device of the current context. The program is a host's: functions that only exist for programs
on a device are not here.
"""

from typing import TYPE_CHECKING, Any

from cannery.runtime.calls.memory import not_allocated
from cannery.runtime.calls.queue_objects import QueueAttributes, attributes_named
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import (
    ACL_ERROR_FAILURE,
    ACL_ERROR_RT_QUEUE_EMPTY,
    ACL_ERROR_RT_QUEUE_FULL,
    Refused,
    driver_fault,
    invalid,
    null,
    out_of_range,
)
from cannery.runtime.objects import Device, Thread
from cannery.runtime.queues import GREATEST_DEPTH, LEAST_DEPTH, USER_ROOM, Message, Part, Queue
from cannery.runtime.waits import Reply, Resume, Until

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine


def open_queue(device: Device, name: bytes, depth: int) -> Queue:
    """A new queue of a device.

    Raises:
        Refused: 107000.
    """
    if not LEAST_DEPTH <= depth <= GREATEST_DEPTH:
        raise out_of_range("the depth of the queue is {}; set one from {} to {}", depth, LEAST_DEPTH, GREATEST_DEPTH)
    if device.queues.named(name):
        raise out_of_range(
            "device {} has a queue with the name {} already; choose another one",
            device.user, name.decode("utf-8", "replace"),
        )  # fmt: skip
    return device.queues.make(name, depth)


def named_queue(device: Device, number: int) -> Queue:
    """Raises 107000."""
    queue = device.queues.by_number.get(number)
    if queue is None:
        raise out_of_range(
            "the argument qid is {}, but device {} has no such queue; pass what acltdtCreateQueue gave",
            number, device.user,
        )  # fmt: skip
    return queue


class Ready(Until):
    """A queue has room, or, unless ``putting``, a message; or it is gone."""

    __slots__ = ("putting", "queue")

    def __init__(self, queue: Queue, putting: bool) -> None:
        self.queue = queue
        self.putting = putting

    def holds(self, machine: "Machine") -> bool:
        queue = self.queue
        return queue.gone or (not queue.full if self.putting else bool(queue.messages))


class Turn(Resume):
    """What a call does with a queue that is ready."""

    __slots__ = ("device", "queue")

    def __init__(self, device: Device, queue: Queue) -> None:
        self.device = device
        self.queue = queue

    def reply(self, machine: "Machine") -> Reply:
        if self.queue.gone:
            raise out_of_range("the queue was destroyed while the call waited for it")
        result = self.act(machine)
        self.device.queues.hand_on()
        return result

    def act(self, machine: "Machine") -> Reply:
        """Put a message in, or take one out; the call's reply. Raises Refused."""
        raise NotImplementedError


def when_ready(machine: "Machine", thread: Thread, function: str, turn: Turn, putting: bool, limit: int) -> Any:
    """The reply of a call that may have to wait for room in a queue, or for a message. A limit of 0 means not at all, a
    negative one for as long as it takes."""
    queue = turn.queue
    ready = Ready(queue, putting)
    expired = _full(queue) if putting else _empty()
    if not limit and not ready.holds(machine):
        raise expired
    return machine.wait_until(thread, function, ready, turn, limit, expired)


def _full(queue: Queue) -> Refused:
    return Refused(
        ACL_ERROR_RT_QUEUE_FULL, "the queue has {} messages, and no room for more; take some out first", queue.depth
    )


def _empty() -> Refused:
    return Refused(ACL_ERROR_RT_QUEUE_EMPTY, "the queue has no message; put one in first")


@call("acltdtCreateQueue")
def create_queue(machine: "Machine", thread: Thread, attributes: int, out: int) -> Any:
    """Without attributes: no name, and the default depth."""
    if not out:
        raise null("qid")
    wanted = QueueAttributes() if not attributes else attributes_named(machine, attributes)
    device = machine.context_of(thread).device
    return 0, open_queue(device, wanted.name, wanted.depth).number


@call("acltdtDestroyQueue")
def destroy_queue(machine: "Machine", thread: Thread, number: int) -> int:
    """What is in it is lost."""
    device = machine.context_of(thread).device
    queue = named_queue(device, number)
    if device.queues.routed(number):
        raise Refused(
            ACL_ERROR_FAILURE,
            "the queue {} is an end of a route; unbind that first (acltdtUnbindQueueRoutes)", number, remembered=False,
        )  # fmt: skip
    device.queues.destroy(queue)
    return 0


@call("acltdtEnqueueData")
def enqueue_data(
    machine: "Machine",
    thread: Thread,
    number: int,
    address: int,
    size: int,
    user: bytes | None,
    user_size: int,
    timeout: int,
    reserved: int,
) -> Any:
    """``reserved`` is not looked at (reference implementation). The data is read when there is room for it."""
    if not address:
        raise null("data")
    if not size:
        raise invalid("the argument dataSize is 0; pass a number of bytes above 0")
    device = machine.context_of(thread).device
    queue = named_queue(device, number)
    check_user_size(user_size)

    turn = Enqueue(device, queue, address, size, (user or b"").ljust(USER_ROOM, b"\0"))
    return when_ready(machine, thread, "acltdtEnqueueData", turn, True, timeout)


class Enqueue(Turn):
    """Puts the bytes at ``address`` into a queue, with those of the program in ``user``."""

    __slots__ = ("address", "size", "user")

    def __init__(self, device: Device, queue: Queue, address: int, size: int, user: bytes) -> None:
        super().__init__(device, queue)
        self.address = address
        self.size = size
        self.user = user

    def act(self, machine: "Machine") -> Reply:
        content = readable(machine, "data", self.address, self.size)
        self.queue.messages.append(Message((Part(content),), self.user))
        return 0


def check_user_size(size: int) -> None:
    if size > USER_ROOM:
        raise out_of_range("the argument userDataSize is {}; a message has room for {} bytes", size, USER_ROOM)


def readable(machine: "Machine", argument: str, address: int, size: int) -> bytes:
    """The bytes of any memory.

    Raises:
        Refused: 507899.
    """
    place = machine.memory.place(address)
    if not place.holds(size):
        raise not_allocated(argument, place, size)
    content = machine.memory.load(place, size)
    if content is None:
        raise driver_fault("the {} bytes of host memory at {} ({:#x}) are not readable", size, argument, address)
    return content


@call("acltdtDequeueData")
def dequeue_data(
    machine: "Machine",
    thread: Thread,
    number: int,
    address: int,
    size: int,
    out_size: int,
    out_user: int,
    user_size: int,
    timeout: int,
) -> Any:
    """Tells the size of a message that does not fit, too, and leaves it in the queue."""
    if not address:
        raise null("data")
    if not out_size:
        raise null("retDataSize")
    if not size:
        raise invalid("the argument dataSize is 0; pass a number of bytes above 0")
    device = machine.context_of(thread).device
    queue = named_queue(device, number)
    check_user_size(user_size)

    turn = Dequeue(device, queue, thread, address, size, user_size if out_user else -1)
    return when_ready(machine, thread, "acltdtDequeueData", turn, False, timeout)


class Dequeue(Turn):
    """Takes a message out of a queue. ``room``: how many bytes for its data ``address`` has; ``user_room``:
    for what it has of the program, -1 where that is not wanted."""

    __slots__ = ("address", "room", "thread", "user_room")

    def __init__(
        self, device: Device, queue: Queue, thread: Thread, address: int, room: int, user_room: int
    ) -> None:
        super().__init__(device, queue)
        self.thread = thread
        self.address = address
        self.room = room
        self.user_room = user_room

    def act(self, machine: "Machine") -> Reply:
        message = self.queue.messages[0]
        if message.size > self.room:
            refused = out_of_range("the message has {} bytes, but dataSize is {}", message.size, self.room)
            return machine.refuse(self.thread, "acltdtDequeueData", refused), message.size, None
        put_content(machine, "data", self.address, b"".join(part.content for part in message.parts))
        self.queue.messages.popleft()
        return 0, message.size, message.user[: self.user_room] if self.user_room >= 0 else None


def put_content(machine: "Machine", argument: str, address: int, content: bytes) -> None:
    """Write to any memory at once.

    Raises:
        Refused: 507899.
    """
    place = machine.memory.place(address)
    size = len(content)
    if not place.holds(size):
        raise not_allocated(argument, place, size)
    if place.device is not None:
        machine.memory.store(place, content)
    elif not machine.port.write(address, memoryview(content)):
        raise driver_fault("the {} bytes of host memory at {} ({:#x}) are not writable", size, argument, address)
