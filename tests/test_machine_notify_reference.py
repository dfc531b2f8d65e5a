"""The machine against all that may happen to notifies, worked out by a model that shares nothing with it.

A record lets any one stream that waits go, so the model keeps every state that the calls so far may have led to. After
each call the machine gets time for all that can happen, and what it shows has to fit one of these states at least.
"""

from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.fakes import OUT, Driver

STREAMS = 3
NOTIFIES = 3

Task = tuple[str, int]  # "record" or "wait", of which notify


class World(NamedTuple):
    flags: tuple[bool, ...]
    queues: tuple[tuple[Task, ...], ...]

    def queued(self, stream: int, task: Task) -> "World":
        return self._replace(queues=replaced(self.queues, stream, (*self.queues[stream], task)))

    def next(self) -> list["World"]:
        """The states after any one task that can run."""
        following = []
        for stream, queue in enumerate(self.queues):
            if queue:
                (what, notify), *rest = queue
                if what == "record" or self.flags[notify]:
                    flags = replaced(self.flags, notify, what == "record")
                    following.append(World(flags, replaced(self.queues, stream, tuple(rest))))
        return following


def replaced(values: tuple, place: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*values[:place], value, *values[place + 1 :])


def settled(worlds: set[World]) -> set[World]:
    """Where all of these may end when everything has happened that can."""
    ends, seen, left = set(), set(worlds), list(worlds)
    while left:
        following = (world := left.pop()).next()
        if not following:
            ends.add(world)
        for other in following:
            if other not in seen:
                seen.add(other)
                left.append(other)
    return ends


class Possible(RuleBasedStateMachine):
    @initialize(schedule=st.sampled_from(["asap", "late", "seed:1", "seed:99"]))
    def begin(self, schedule: str) -> None:
        self.driver = Driver(schedule=schedule).opened()
        self.streams = [self.driver.stream() for _ in range(STREAMS)]
        self.notifies = [self.driver.ok("aclrtCreateNotify", OUT, 0) for _ in range(NOTIFIES)]
        self.worlds = {World((False,) * NOTIFIES, ((),) * STREAMS)}

    def settle(self) -> None:
        self.worlds = settled(self.worlds)
        self.driver.pace(1000)
        shown = [self.driver.ok("aclrtStreamQuery", stream, OUT) for stream in self.streams]
        self.worlds = {w for w in self.worlds if [int(bool(queue)) for queue in w.queues] == shown}
        assert self.worlds, shown

    @rule(
        tasks=st.lists(
            st.tuples(st.integers(0, STREAMS - 1), st.sampled_from(["record", "wait"]), st.integers(0, NOTIFIES - 1)),
            min_size=1,
            max_size=4,
        )
    )
    def submit(self, tasks: list[tuple[int, str, int]]) -> None:
        """The schedule decides what of it runs before the next is there."""
        for stream, what, notify in tasks:
            self.worlds = {world.queued(stream, (what, notify)) for world in self.worlds}
            after, left = set(self.worlds), list(self.worlds)
            while left:
                for world in left.pop().next():
                    if world not in after:
                        after.add(world)
                        left.append(world)
            self.worlds = after
            if what == "record":
                self.driver.ok("aclrtRecordNotify", self.notifies[notify], self.streams[stream])
            else:
                self.driver.ok("aclrtWaitAndResetNotify", self.notifies[notify], self.streams[stream], 0)
        self.settle()

    @rule(chosen=st.lists(st.integers(0, NOTIFIES - 1), min_size=1, max_size=3))
    def reset(self, chosen: list[int]) -> None:
        self.driver.ok("aclrtNotifyBatchReset", tuple(self.notifies[notify] for notify in chosen), len(chosen))
        for notify in chosen:
            self.worlds = {world._replace(flags=replaced(world.flags, notify, False)) for world in self.worlds}
        self.settle()

    @rule(stream=st.integers(0, STREAMS - 1))
    def synchronise(self, stream: int) -> None:
        """Ends at once if nothing is queued, else not before a further record."""
        reply = self.driver.call("aclrtSynchronizeStreamWithTimeout", self.streams[stream], 1)
        idle = {not world.queues[stream] for world in self.worlds}
        assert idle == {reply == 0}
        if reply != 0:
            self.driver.expire(reply)
            assert reply.reply == 507046


TestPossible = Possible.TestCase
TestPossible.settings = settings(max_examples=150, stateful_step_count=15, deadline=None)
