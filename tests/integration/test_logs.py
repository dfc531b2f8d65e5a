"""aclAppLog in real processes: what is printed, and what the trace keeps."""

import re
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Call
from cannery.replayer.process import replay_process

from .conftest import Build, Run

LINES = (
    "[DEBUG] APP: [logs.c:3] level 0 of four",
    "[INFO] APP: [logs.c:3] level 1 of four",
    "[WARNING] APP: [logs.c:3] level 2 of four",
    "[ERROR] APP: [logs.c:3] level 3 of four",
    "[WARNING] APP: [list.c:7] 2.5%",
    "[DEBUG] APP: [:0] no level",
    "[ERROR] APP: [:1] ",
)


@pytest.mark.parametrize(
    ("variables", "printed"),
    [
        ({}, ()),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "0"}, ()),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1"}, (3, 6)),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "ASCEND_GLOBAL_LOG_LEVEL": "0"}, (0, 1, 2, 3, 4, 5, 6)),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "ASCEND_GLOBAL_LOG_LEVEL": "2"}, (2, 3, 4, 6)),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "ASCEND_GLOBAL_LOG_LEVEL": "4"}, ()),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "ASCEND_GLOBAL_LOG_LEVEL": "loud"}, (3, 6)),
    ],
)
def test_messages_are_printed_where_the_variables_ask_for_it(
    build: Build, run: Run, tmp_path: Path, variables: dict[str, str], printed: tuple[int, ...]
) -> None:
    trace = tmp_path / "t.cann"
    done = run(build("logs.c"), env={**variables, "CANNERY_TRACE": str(trace)})
    assert (done.returncode, done.stderr) == (0, "")
    assert re.sub(r"\(\d+\)", "", done.stdout).splitlines() == [LINES[number] for number in printed]
    with Bundle.open(trace) as bundle:
        (stream,) = bundle.processes
        calls = [record for record in stream.records() if isinstance(record, Call)]
        assert [call.ins[4] for call in calls] == [
            *(f"level {level} of four".encode() for level in range(4)), b"2.5%", b"no level", None,
        ]  # fmt: skip
        assert replay_process(bundle, stream).same


def test_a_program_that_closed_its_output_goes_on(build: Build, run: Run) -> None:
    variables = {"ASCEND_SLOG_PRINT_TO_STDOUT": "1"}
    done = run("/bin/sh", "-c", f"exec {build('logs.c')} >&-", env=variables)
    assert (done.returncode, done.stderr) == (0, "")
