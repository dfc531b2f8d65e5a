"""Queues of a device: messages that wait for whoever takes them, and routes that hand them on to other queues.

What is put into a queue is copied at once, and so is what is taken out: nothing of it is a task.
"""

from collections import deque
from typing import Final, NamedTuple

from cannery.runtime.kept import Kept

NAME_ROOM: Final = 128  # bytes of a name, with its end
LEAST_DEPTH: Final = 2
GREATEST_DEPTH: Final = 8192
DEFAULT_DEPTH: Final = 8
USER_ROOM: Final = 96  # bytes of the program's own in a message


class Part(NamedTuple):
    """One piece of a message's data; what it says of itself only channels use."""

    content: bytes
    tensor_type: int = 0
    data_type: int = -1
    dims: tuple[int, ...] = ()


class Message(NamedTuple):
    parts: tuple[Part, ...]
    user: bytes = b""

    @property
    def size(self) -> int:
        return sum(len(part.content) for part in self.parts)


class Queue(Kept):
    """``number``: what the program calls it, one for each queue of a device. ``gone``: destroyed."""

    __slots__ = ("depth", "gone", "messages", "name", "number")

    def __init__(self, number: int, name: bytes, depth: int) -> None:
        self.number = number
        self.name = name
        self.depth = depth
        self.gone = False
        self.messages: deque[Message] = deque()

    @property
    def full(self) -> bool:
        return len(self.messages) >= self.depth


class Queues(Kept):
    """The queues of one device by number, and the ``routes`` between them: for a source, where its messages go."""

    __slots__ = ("by_number", "made", "routes")

    def __init__(self) -> None:
        self.by_number: dict[int, Queue] = {}
        self.routes: dict[int, list[int]] = {}
        self.made = 0

    def named(self, name: bytes) -> bool:
        """Whether a queue has that name. Those without one have none."""
        return name != b"" and any(queue.name == name for queue in self.by_number.values())

    def make(self, name: bytes, depth: int) -> Queue:
        """A new queue."""
        queue = Queue(self.made, name, depth)
        self.by_number[queue.number] = queue
        self.made += 1
        return queue

    def destroy(self, queue: Queue) -> None:
        """A queue that is an end of no route; what is in it is lost."""
        queue.gone = True
        del self.by_number[queue.number]

    def clear(self) -> None:
        """Destroy all, with their routes."""
        self.routes.clear()
        for queue in [*self.by_number.values()]:
            self.destroy(queue)

    def routed(self, number: int) -> bool:
        """Whether a queue is an end of a route."""
        return number in self.routes or any(number in targets for targets in self.routes.values())

    def leads(self, source: int, target: int) -> bool:
        """Whether messages of one queue come to the other, over any number of routes. There are no cycles."""
        return any(one == target or self.leads(one, target) for one in self.routes.get(source, ()))

    def bind(self, source: int, target: int) -> bool:
        """Add a route. False: one of its queues does not exist, it exists already, or it would close a cycle."""
        known = source in self.by_number and target in self.by_number
        if not known or source == target or target in self.routes.get(source, ()) or self.leads(target, source):
            return False
        self.routes.setdefault(source, []).append(target)
        return True

    def unbind(self, source: int, target: int) -> bool:
        """Take a route away. False: there is none."""
        targets = self.routes.get(source, [])
        if target not in targets:
            return False
        targets.remove(target)
        if not targets:
            del self.routes[source]
        return True

    def hand_on(self) -> None:
        """Move messages along the routes, as long as all targets of a source have room."""
        moved = True
        while moved:
            moved = False
            for source, targets in self.routes.items():
                messages = self.by_number[source].messages
                ends = [self.by_number[target] for target in targets]
                while messages and not any(end.full for end in ends):
                    message = messages.popleft()
                    for end in ends:
                        end.messages.append(message)
                    moved = True
