"""What is left when a program is killed: every call that returned, and a trace that opens and replays."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Call
from cannery.replayer.process import replay_process

from .conftest import Build, environment

ROUNDS = 20
LIMIT = 60.0


def killed_at_a_random_moment(program: Path, folder: Path, chance: random.Random) -> tuple[Path, int]:
    """Run the loop, kill it some time after its first call; the trace and how many calls had returned by then."""
    counter, trace = folder / "completed", folder / "t.cann"
    counter.write_bytes(bytes(4096))
    child = subprocess.Popen([program, counter], env=environment({"CANNERY_TRACE": str(trace)}))
    deadline = time.monotonic() + LIMIT
    calls_before_the_kill = chance.choice([1, 2, 3, 4, 100, 5000, 50000])
    while int.from_bytes(counter.read_bytes()[:8], "little") < calls_before_the_kill:
        assert child.poll() is None and time.monotonic() < deadline
    for _ in range(chance.randrange(2000)):
        pass  # not at the same place after the counter each time
    child.send_signal(signal.SIGKILL)
    assert child.wait(LIMIT) == -signal.SIGKILL
    return trace, int.from_bytes(counter.read_bytes()[:8], "little")


@pytest.mark.parametrize("seed", range(10))
def test_a_kill_loses_no_completed_call(build: Build, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    program = build("loop.c")
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        trace, completed = killed_at_a_random_moment(program, folder, chance)
        bundle = Bundle.open(trace)
        (stream,) = bundle.processes
        records = sum(1 for record in stream.records() if isinstance(record, Call))
        assert completed <= records <= completed + 1
        in_flight = stream.inflight()
        assert len(in_flight) <= 1
        assert {call.function.name for call in in_flight} <= {
            "aclrtRecordEvent",
            "aclrtCreateEvent",
            "aclrtCreateStream",
        }
        assert replay_process(bundle, stream).same
        assert sorted(os.listdir(trace)) == ["bundle", "p0001", "schema"]
