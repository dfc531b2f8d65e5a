"""Whatever two processes do to each other, and in whatever order: the trace of each replays alone."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cannery.recorder.bundle import Bundle
from cannery.replayer.together import replay_together
from cannery.runtime.settings import Settings
from tests.fake_session import Session
from tests.live import HOST_BASE, OUT, Live
from tests.test_keyframes import check

SCHEDULES = ("asap", "late", "seed:1", "seed:2")
SIZE = 64
Step = tuple[int, str, int, int]


class Half:
    """One of the processes: two streams, and its half of a notify, an event and a piece of memory."""

    def __init__(self, session: Session, schedule: str) -> None:
        self.live = Live(Settings(devices=1, schedule=schedule), session=session)
        for thread in (1, 2):
            self.live.ok("aclrtSetDevice", 0, thread=thread)
        self.streams = [self.live.create("aclrtCreateStream") for _ in range(2)]
        self.gate = self.live.create("aclrtCreateEventWithFlag", 1)
        self.notify = self.event = self.memory = 0

    def share(self) -> list[Any]:
        """Make the things, and give their keys."""
        live = self.live
        self.notify = live.create("aclrtCreateNotify", 0)
        self.event = live.create("aclrtCreateEventExWithFlag", 0x40)
        self.memory = live.create("aclrtMalloc", SIZE, 0)
        calls: list[tuple[Any, ...]] = [
            ("aclrtNotifyGetExportKey", self.notify, OUT, 65, 2), ("aclrtIpcGetEventHandle", self.event, OUT),
            ("aclrtIpcMemGetExportKey", self.memory, SIZE, OUT, 65, 1),
        ]  # fmt: skip
        return [live.call(*call)[1] for call in calls]

    def open(self, notify: Any, event: Any, memory: Any) -> None:
        self.notify = self.live.create("aclrtNotifyImportByKey", notify, 0)
        _, self.event = self.live.call("aclrtIpcOpenEventHandle", event, OUT)
        self.memory = self.live.create("aclrtIpcMemImportByKey", memory, 0)

    def step(self, what: str, stream: int, number: int) -> None:
        live, queue = self.live, self.streams[stream]
        place = self.memory + number % (SIZE // 8) * 8
        calls: dict[str, tuple[Any, ...]] = {
            "record notify": ("aclrtRecordNotify", self.notify, queue),
            "wait notify": ("aclrtWaitAndResetNotify", self.notify, queue, number % 2),
            "reset notify": ("aclrtNotifyBatchReset", (self.notify,), 1),
            "record event": ("aclrtRecordEvent", self.event, queue),
            "wait event": ("aclrtStreamWaitEvent", queue, self.event),
            "query event": ("aclrtQueryEventStatus", self.event, OUT),
            "write": ("aclrtMemset", place, 8, number, 8),
            "write later": ("aclrtMemsetAsync", place, 8, number, 8, queue),
            "read": ("aclrtMemcpy", HOST_BASE, 8, place, 8, 2),
            "wait value": ("aclrtValueWait", place, number, 1, queue),
            "hold": ("aclrtStreamWaitEvent", queue, self.gate),
            "release": ("aclrtRecordEvent", self.gate, 0),
            "clear": ("aclrtResetEvent", self.gate, 0),
            "query": ("aclrtStreamQuery", queue, OUT),
            "synchronise": ("aclrtSynchronizeStreamWithTimeout", queue, 50),
            "information": ("aclrtGetMemInfo", 1, OUT, OUT),
        }
        thread = next((thread for thread in (1, 2) if thread not in live.waiting_threads()), None)
        if what in calls and thread is not None:
            live.call(*calls[what], thread=thread)
        elif what == "signal":
            live.signal()
        elif what == "pace":
            live.pace(number * 10_000_000)
        elif what == "expire":
            for waiting in sorted(live.waiting_threads()):
                if live.limited(waiting):
                    live.expire(waiting)


NAMES = (
    "record notify", "wait notify", "reset notify", "record event", "wait event", "query event", "write",
    "write later", "read", "wait value", "hold", "release", "clear", "query", "synchronise", "information",
    "signal", "signal", "pace", "expire",
)  # fmt: skip
steps = st.tuples(st.integers(0, 1), st.sampled_from(NAMES), st.integers(0, 1), st.integers(0, 9))


def run(program: list[Step], schedule: str) -> tuple[Half, Half]:
    session = Session(slots=3)
    halves = Half(session, schedule), Half(session, schedule)
    halves[1].open(*halves[0].share())
    for which, what, stream, number in program:
        halves[which].live.now = max(half.live.now for half in halves)  # they have one clock
        halves[which].step(what, stream, number)
    return halves


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=60), st.sampled_from(SCHEDULES))
def test_each_replays_alone(program: list[Step], schedule: str) -> None:
    for half in run(program, schedule):
        assert half.live.replay().compared.differences == []


@settings(max_examples=15, deadline=None)
@given(st.lists(steps, max_size=60), st.sampled_from(SCHEDULES), st.integers(1, 9))
def test_any_call_of_each_is_reached_from_a_keyframe(program: list[Step], schedule: str, every: int) -> None:
    for half in run(program, schedule):
        with TemporaryDirectory() as folder:
            check(half.live, Path(folder, "a.cann"), every, max(half.live.calls // 4, 1))


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, max_size=60), st.sampled_from(SCHEDULES))
def test_both_replay_side_by_side(program: list[Step], schedule: str) -> None:
    with TemporaryDirectory() as folder:
        for half in run(program, schedule):
            path = half.live.save(Path(folder, "a.cann"))
        with Bundle.open(path) as bundle:
            found = replay_together(bundle)
    assert found is not None and found.problem is None
