"""The engine's encoder (shim/journal.c) and the reference encoder (recorder/encoders.py) write the same bytes."""

import shutil
from pathlib import Path

import pytest

from .conftest import Build, Run

#: Address randomisation off, and variable values of one length: the same program has the same stack then.
STILL = shutil.which("setarch")
ENCODERS = ("python", "engine")


@pytest.mark.skipif(STILL is None, reason="needs setarch, which switches address randomisation off")
@pytest.mark.parametrize(
    ("host", "arguments", "schedule"),
    [
        ("arguments.c", [], "asap"),
        ("arguments.c", [], "seed:1"),
        ("spin.c", ["3"], "asap"),
        ("mixed.c", [], "late"),
        ("launches.c", [], "asap"),
    ],
)
def test_both_encoders_write_the_same_bytes(
    build: Build, run: Run, tmp_path: Path, host: str, arguments: list[str], schedule: str
) -> None:
    program = build(host)
    journals = []
    for encoder in ENCODERS:
        trace = tmp_path / f"{encoder}.cann"
        variables = {"CANNERY_ENCODER": encoder, "CANNERY_TRACE": str(trace), "CANNERY_CLOCK": "virtual"}
        done = run(STILL or "", "-R", str(program), *arguments, env=variables | {"CANNERY_SCHEDULE": schedule})
        assert done.returncode == 0, done.stderr
        journals.append((trace / "p0001" / "000001.journal").read_bytes())
    assert journals[0] == journals[1]
    assert len(journals[0].rstrip(b"\0")) > 200
