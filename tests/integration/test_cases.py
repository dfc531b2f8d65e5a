"""What users of the real runtime met: each case is a program that exits with 0 where the calls answer as they should.
Recorded, its trace replays."""

from pathlib import Path

import pytest

from tests.integration.conftest import Build, Run

CASES = sorted((Path(__file__).parent.parent / "cases").glob("*.c"))


@pytest.mark.parametrize("case", CASES, ids=[path.stem for path in CASES])
def test_the_answers_are_right_and_the_trace_replays(case: Path, build: Build, cannery: Run, tmp_path: Path) -> None:
    program = build(f"../../cases/{case.name}", "-Wno-error")
    trace = tmp_path / "trace.cann"
    done = cannery("run", "-o", trace, "--", program)
    assert done.returncode == 0, done.stdout
    replay = cannery("replay", trace)
    assert (replay.returncode, replay.stderr) == (0, "")
    assert replay.stdout.endswith("all the same\n")
