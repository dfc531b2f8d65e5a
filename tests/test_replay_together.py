"""The processes of a bundle replayed side by side: what one read of shared memory is what another one wrote there."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Call, Payload
from cannery.replayer.process import replay_process
from cannery.replayer.together import Together, replay_together
from cannery.runtime.settings import Settings
from cannery.tools.main import main
from tests.fake_session import Session
from tests.live import HOST_BASE, OUT, Live

SIZE = 24
TO_DEVICE, TO_HOST = 1, 2


class Pair:
    """Two processes with one clock; the second has memory of the first open."""

    def __init__(self, **settings: Any) -> None:
        session = Session()
        self.one, self.two = (Live(Settings(devices=1, **settings), session=session) for _ in range(2))
        self.here = self.there = 0
        for which in (self.one, self.two):
            self.call(which, "aclrtSetDevice", 0)
        self.here = self.out(self.one, "aclrtMalloc", OUT, SIZE, 0)
        self.write(self.one, b"first, before it is shared"[:SIZE])
        key = self.out(self.one, "aclrtIpcMemGetExportKey", self.here, SIZE, OUT, 65, 1)
        self.there = self.out(self.two, "aclrtIpcMemImportByKey", OUT, key, 0)

    def call(self, which: Live, name: str, *args: Any) -> Any:
        which.now = max(self.one.now, self.two.now)
        return which.call(name, *args)

    def out(self, which: Live, name: str, *args: Any) -> Any:
        ret, value = self.call(which, name, *args)
        assert ret == 0
        return value

    def place(self, which: Live) -> int:
        return self.here if which is self.one else self.there

    def write(self, which: Live, content: bytes) -> None:
        """And make another call, so that the writing is over."""
        source = which.host.put(0, content)
        assert self.call(which, "aclrtMemcpy", self.place(which), SIZE, source, SIZE, TO_DEVICE) == 0
        self.out(which, "aclrtGetDevice", OUT)

    def read(self, which: Live) -> None:
        assert self.call(which, "aclrtMemcpy", HOST_BASE, SIZE, self.place(which), SIZE, TO_HOST) == 0

    def save(self, path: Path) -> Path:
        """Write the bundle. Both go on for a while, so that all is decided."""
        for which in (self.one, self.two, self.one, self.two):
            self.out(which, "aclrtGetDevice", OUT)
        self.one.save(path)
        return self.two.save(path)


def together(pair: Pair, path: Path) -> Together:
    with Bundle.open(pair.save(path)) as bundle:
        for stream in bundle.processes:
            assert replay_process(bundle, stream).same
        found = replay_together(bundle)
        assert found is not None
        return found


def altered(live: Live, number: int, content: bytes | None) -> None:
    """As if a call had found other bytes, where it read some; None: bytes that the trace does not have."""
    place = next(place for place, record in enumerate(live.records) if getattr(record, "number", -1) == number)
    record = live.records[place]
    assert isinstance(record, Call) and record.effects
    payload = Payload(SIZE, None, content)
    live.records[place] = record._replace(effects=tuple(each._replace(payload=payload) for each in record.effects))


def writes(live: Live) -> list[int]:
    """The calls that copied to the device."""
    return [r.number for r in live.records if isinstance(r, Call) and r.effects and r.effects[0].kind == "read"]


def test_what_one_wrote_is_there_when_the_other_reads_it(tmp_path: Path) -> None:
    pair = Pair()
    for _ in range(3):
        pair.read(pair.two)
        pair.write(pair.two, b"from the second process.")
        pair.read(pair.one)
        pair.write(pair.one, b"from the first process..")
        pair.read(pair.two)
    assert together(pair, tmp_path / "a.cann") == Together(9, 0, None)


@pytest.mark.parametrize("writer", [1, 2])
def test_other_bytes_are_a_difference_that_names_both_calls(tmp_path: Path, writer: int) -> None:
    pair = Pair()
    writing, reading = (pair.one, pair.two)[:: 1 if writer == 1 else -1]
    pair.write(writing, b"what the trace has later")
    pair.read(reading)
    read, call = reading.calls - 1, writes(writing)[-1]
    altered(writing, call, b"what somebody put there.")
    found = together(pair, tmp_path / "a.cann")
    assert found.problem == (
        f"process {3 - writer}, call #{read} aclrtMemcpy read {SIZE} bytes of memory that process 1 "
        f"shares, and the replay has others there; it was written last in process {writer}, call #{call} aclrtMemcpy"
    )
    shown = CliRunner().invoke(main, ["replay", str(tmp_path / "a.cann")])
    assert shown.exit_code == 1
    assert f"the processes do not fit together: {found.problem}" in shown.stdout


def test_bytes_from_before_the_memory_was_shared_count_too(tmp_path: Path) -> None:
    pair = Pair()
    pair.read(pair.two)
    altered(pair.one, writes(pair.one)[0], bytes(SIZE))
    problem = together(pair, tmp_path / "a.cann").problem
    assert problem is not None and problem.endswith("nobody wrote it")


def test_a_write_that_was_perhaps_not_over_decides_nothing(tmp_path: Path) -> None:
    pair = Pair()
    pair.write(pair.one, b"long ago, and over......")
    pair.call(pair.one, "aclrtMemset", pair.here, SIZE, 7, SIZE)
    pair.read(pair.two)
    pair.out(pair.one, "aclrtGetDevice", OUT)
    altered(pair.two, pair.two.calls - 1, b"long ago, and over......")
    assert together(pair, tmp_path / "a.cann") == Together(0, 1, None)


def test_a_write_whose_step_began_later_may_have_been_seen(tmp_path: Path) -> None:
    pair = Pair()
    pair.read(pair.two)
    pair.write(pair.one, b"written while it is read")
    altered(pair.two, pair.two.calls - 1, b"written while it is read")
    assert together(pair, tmp_path / "a.cann") == Together(1, 0, None)


def test_bytes_that_are_not_in_the_trace_are_not_compared(tmp_path: Path) -> None:
    pair = Pair()
    pair.read(pair.two)
    altered(pair.one, writes(pair.one)[0], None)
    assert together(pair, tmp_path / "a.cann") == Together(0, 1, None)


def test_processes_with_clocks_of_their_own_are_not_compared(tmp_path: Path) -> None:
    pair = Pair(clock="virtual")
    pair.read(pair.two)
    with Bundle.open(pair.save(tmp_path / "a.cann")) as bundle:
        assert replay_together(bundle) is None
    shown = CliRunner().invoke(main, ["replay", str(tmp_path / "a.cann")])
    assert shown.exit_code == 0 and "clocks of their own" in shown.stderr


def test_memory_whose_sharing_is_not_in_the_trace_decides_nothing(tmp_path: Path) -> None:
    """As in tails, which begin after it."""
    pair = Pair()
    pair.read(pair.two)
    with Bundle.open(pair.save(tmp_path / "a.cann")) as bundle, pytest.MonkeyPatch.context() as patch:
        patch.setattr("cannery.replayer.together.Room.share", lambda *_: None)
        assert replay_together(bundle) == Together(0, 1, None)
