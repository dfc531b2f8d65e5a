"""What a call that did not end at once waits for, and how it goes on.

These are plain objects and no closures, so that the state of the machine is data (``state.py``): a subclass has what it
needs in its slots, values and objects of the model, and is given the machine. Calls have theirs beside their handlers.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cannery.runtime.errors import Refused
from cannery.runtime.kept import Kept

if TYPE_CHECKING:
    from cannery.runtime.exceptions import FailedTask
    from cannery.runtime.machine import Machine
    from cannery.runtime.objects import Thread
    from cannery.runtime.reach import Hold
    from cannery.runtime.tasks import Task

Reply = Any  # the return value, a tuple of it and the outputs, a Wait, or an Invoke


class Resume(Kept):
    """How a call goes on when its wait is over."""

    __slots__ = ()

    def reply(self, machine: "Machine") -> Reply:
        """The reply of the call. Raises Refused."""
        raise NotImplementedError


class Until(Kept):
    """What a call waits for that is not the end of a task."""

    __slots__ = ()

    def holds(self, machine: "Machine") -> bool:
        """Whether it is so by now; asked again and again."""
        raise NotImplementedError


class Then(Kept):
    """How a call goes on when a function of the program has returned that its thread ran for it."""

    __slots__ = ()

    def take(self, machine: "Machine", value: int) -> Reply:
        """The reply of the call, where the function returned ``value``. Raises Refused."""
        raise NotImplementedError


class Wait(Kept):
    """A call that has to wait for something outside the device. ``reply`` is None until the wait ended.

    It waits for ``targets``, for what ``until`` says, and for the release of the snapshot lock where ``unlocking``;
    then ``resume`` gives the reply. ``deadline`` (monotonic ns) limits it, and ``expired`` is the refusal that its end
    by the limit means. ``held``: why it could not end when it was asked last.
    """

    __slots__ = (
        "deadline", "expired", "function", "held", "reply", "resume", "targets", "thread", "unlocking", "until",
    )  # fmt: skip

    def __init__(self, thread: int, function: str, targets: "Sequence[Task]", resume: Resume) -> None:
        self.thread = thread
        self.function = function
        self.targets = targets
        self.resume = resume
        self.unlocking = False
        self.held: Hold | None = None
        self.until: Until | None = None
        self.deadline: int | None = None
        self.expired: Refused | None = None
        self.reply: Reply = None


class Given(Resume):
    """The reply is known."""

    __slots__ = ("known",)

    def __init__(self, known: Reply) -> None:
        self.known = known

    def reply(self, machine: "Machine") -> Reply:
        return self.known


class Retry(Resume):
    """The call is made again."""

    __slots__ = ("arguments", "function", "thread")

    def __init__(self, thread: "Thread", function: str, arguments: tuple[Any, ...]) -> None:
        self.thread = thread
        self.function = function
        self.arguments = arguments

    def reply(self, machine: "Machine") -> Reply:
        return machine.handler(self.function)(self.thread, *self.arguments)


class Refusal(Resume):
    """The call is refused."""

    __slots__ = ("function", "refused", "thread")

    def __init__(self, thread: "Thread", function: str, refused: Refused) -> None:
        self.thread = thread
        self.function = function
        self.refused = refused

    def reply(self, machine: "Machine") -> Reply:
        return machine.refuse(self.thread, self.function, self.refused)


class Told(Until):
    """All callbacks have been told of a failed task."""

    __slots__ = ("failed",)

    def __init__(self, failed: "FailedTask") -> None:
        self.failed = failed

    def holds(self, machine: "Machine") -> bool:
        return not self.failed.left
