"""The conformance programs under the shim: what they print against what the reference implementation printed for them,
line by line (tests/conformance/README.md), and their traces against the model."""

import difflib
import re
from pathlib import Path

import pytest

from tests.integration.conftest import Build, Run

FOLDER = Path(__file__).parent.parent / "conformance"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("conf_*.c"))
#: Programs that do not match yet, and how many lines of theirs have to.
FLOORS = {"conf_memory": 378}
#: Programs that have to match except for calls of functions that these switches are about.
DEFAULT = {
    "conf_memory": {"memcpyasync-host-to-host": r"aclrtMemcpyAsync\("},
    "conf_snapshot": {
        "snapshot-signature": r"^. arguments \|",
        "snapshot-repeat-backup": r"Backup in BACKED_UP \| call",
    },
}
DOCUMENTED = DEFAULT | {"conf_event_matrix": {"waitstatus-without-sync": r"aclrtQueryEventWaitStatus\(flag"}}


def settings(behaviour: str) -> dict[str, str]:
    return {"CANNERY_PRODUCT": "A2", "CANNERY_DEVICES": "2", "CANNERY_BEHAVIOUR": behaviour}


@pytest.fixture(scope="module")
def program(build: Build) -> dict[str, Path]:
    flags = (f"-I{FOLDER}", "-Wno-deprecated-declarations", "-Wno-error")
    return {name: build(f"../../conformance/{name}.c", *flags) for name in PROGRAMS}


def lines_of(run: Run, program: Path, behaviour: str, **extra: str) -> list[str]:
    done = run(program, env=settings(behaviour) | extra, preload=False)
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout.splitlines()


def missed(name: str, printed: list[str]) -> list[str]:
    """Lines of the golden file that were not printed where they have to be, and lines that should not be there."""
    golden = (FOLDER / f"{name}.golden").read_text(encoding="utf-8").splitlines()
    return [line for line in difflib.ndiff(golden, printed) if line[0] in "-+"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_observed_behaviour_is_that_of_the_golden_file(
    name: str, program: dict[str, Path], run: Run, cannery: Run, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.cann"
    wrong = missed(name, lines_of(run, program[name], "observed", CANNERY_TRACE=str(trace)))
    golden = (FOLDER / f"{name}.golden").read_text(encoding="utf-8").count("\n")
    if name in FLOORS:
        matched = golden - sum(line[0] == "-" for line in wrong)
        assert matched >= FLOORS[name], f"{matched} of {golden} lines"
    else:
        assert wrong == []
    replay = cannery("replay", trace)
    assert replay.returncode == 0, replay.stdout


@pytest.mark.parametrize(("behaviour", "switches"), [("default", DEFAULT), ("documented", DOCUMENTED)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_other_behaviour_differs_at_named_switches_only(
    name: str, behaviour: str, switches: dict[str, dict[str, str]], program: dict[str, Path], run: Run
) -> None:
    if name in FLOORS:
        pytest.skip("does not match the golden file yet")
    wrong = missed(name, lines_of(run, program[name], behaviour))
    expected = switches.get(name, {}).values()
    assert [line for line in wrong if not any(re.search(pattern, line) for pattern in expected)] == []
    assert bool(wrong) == bool(expected)
