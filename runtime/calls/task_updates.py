"""Changing a task of a model instance that was built by hand, from a stream outside of it (reference page of
aclrtTaskUpdateAsync; checks and numbers of the reference implementation).

Random number tasks can be changed. Kernels cannot in this version: which kernel a card takes then follows from numbers
in device memory and from the content of the binary, which a replay need not have.
"""

from struct import unpack_from
from typing import TYPE_CHECKING, Final

from cannery.runtime import capture
from cannery.runtime.calls.random_numbers import INFORMATION, Order, RandomNumbers, order_of
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import live_stream, named_stream, submission_stream
from cannery.runtime.errors import ACL_ERROR_RT_AICPU_EXCEPTION, Refused, null, out_of_range, unsupported
from cannery.runtime.lanes import BoundLane
from cannery.runtime.memory_tasks import gone
from cannery.runtime.objects import Stream, Thread
from cannery.runtime.places import DEVICE, Place
from cannery.runtime.tasks import Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtUpdateTaskAttrId
RANDOM: Final = 1
KERNEL: Final = 2

UPDATE_RANDOM: Final = ("A3", "A2")  # products that do

VALUE: Final = 8  # where aclrtTaskUpdateInfo has what is set


class RandomUpdate(Task):
    """Has a random number task do from now on what an aclrtRandomNumTaskInfo at ``source`` in device memory says when
    this runs. ``order`` is that of the task, which its runs share."""

    __slots__ = ("order", "source")

    reported = True
    what = "update of a random number task"

    order: Order
    source: Place

    def effect(self, machine: "Machine") -> Refused | None:
        source = self.source
        if source.kind is not DEVICE or not source.holds(INFORMATION):
            return gone(self.what, INFORMATION, source)
        information = machine.memory.load(source, INFORMATION)
        assert information is not None, "device memory that is there is readable"
        try:
            order, _ = order_of(machine, information)
        except Refused as refused:
            # our choice: what a card makes of such a description is not published
            return Refused(
                ACL_ERROR_RT_AICPU_EXCEPTION,
                "a random number task was to be updated with what is at {:#x}, but {}",
                source.address, refused.reason(),
            )  # fmt: skip
        self.order.take(order)
        return None


@call("aclrtTaskUpdateAsync")
def task_update_async(
    machine: "Machine", thread: Thread, task_stream: int, task: int, information: bytes | None, exec_stream: int
) -> int:
    """``task`` is what aclrtGetThreadLastTaskId told when the task was submitted."""
    if information is None:
        raise null("info")
    machine.hold()
    (kind,) = unpack_from("<i", information)
    if kind == KERNEL:
        raise unsupported("kernels cannot be updated in this version; launch another one, or capture a task group")
    if kind != RANDOM:
        raise out_of_range(
            "id in the argument info is {}; pass ACL_RT_UPDATE_RANDOM_TASK (1) or ACL_RT_UPDATE_AIC_AIV_TASK (2)", kind
        )
    if not task_stream:
        raise out_of_range("the argument taskStream is null; pass the stream of a model instance that has the task")
    target_stream = live_stream(machine, task_stream)
    if machine.profile.name not in UPDATE_RANDOM:
        raise unsupported("product {} cannot update random number tasks", machine.profile.name)
    named = named_stream(machine, exec_stream)
    address, size = unpack_from("<QQ", information, VALUE)
    if not address:
        raise out_of_range("srcAddr in the argument info is null; pass device memory with an aclrtRandomNumTaskInfo")
    if size != INFORMATION:
        raise out_of_range("size in the argument info is {}; an aclrtRandomNumTaskInfo has {} bytes", size, INFORMATION)
    context = machine.context_of(thread)
    if named is not None:
        _check_outside(machine, named)
    stream = submission_stream(machine, context, exec_stream, named)
    update = RandomUpdate()
    update.order = _order(target_stream, task)
    update.source = machine.memory.place(address)
    update.cost = machine.profile.launch_ns
    update.stream = stream
    machine.schedule.submit(update)
    return 0


def _check_outside(machine: "Machine", stream: Stream) -> None:
    """Raises 107000, 107027."""
    if stream.lane is not None and stream.lane.bound:
        raise out_of_range(
            "the argument execStream ({:#x}) belongs to a model instance; pass one that runs work as it comes",
            stream.handle,
        )
    capture.check_free(machine, stream)


def _order(stream: Stream, number: int) -> Order:
    """What the random number task with that number on a stream makes. Raises 107000."""
    lane = stream.lane
    if not isinstance(lane, BoundLane) or lane.graph is None:
        raise out_of_range(
            "the argument taskStream ({:#x}) belongs to no model instance that was built by hand; bind it first "
            "(aclmdlRIBindStream)",
            stream.handle,
        )
    if not 0 < number <= len(lane.tasks):
        raise out_of_range(
            "the argument taskId is {}, which is no task of the stream {:#x}; pass what aclrtGetThreadLastTaskId told",
            number, stream.handle,
        )  # fmt: skip
    task = lane.tasks[number - 1]
    if not isinstance(task, RandomNumbers):
        raise out_of_range("the task {} of the stream {:#x} is no random number task", number, stream.handle)
    if not task.order.updates:
        raise out_of_range(
            "the task {} of the stream {:#x} was submitted without randomParaAddr, which its update needs",
            number, stream.handle,
        )  # fmt: skip
    return task.order
