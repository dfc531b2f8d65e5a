"""Kernels under the shim: with models and without, recorded, replayed, computed again."""

from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Record

from .conftest import Build, Run

MODELS = """
from cannery.runtime.models import In, Out, Scalar, kernel

@kernel("add", In("float32", "n"), In("float32", "n"), Out("float32", "n"), Scalar("uint32"), relative=1e-6)
def add(launch, x, y, z, n):
    z[:] = x + y

@kernel("double_all", Out("int32"))
def double_all(launch, x):
    x *= 2

@kernel("broken", Out("uint8"))
def broken(launch, x):
    x[:] = 0
    raise RuntimeError(f"cannot work with {launch.blocks} block")
"""
COMPUTED = [
    "host arguments: 2080", "list: 8416", "own memory: 2080", "three times: 8 16 24", "host memory: 42",
    "broken: 507015", "host arguments: 2080",
]  # fmt: skip
UNTOUCHED = [
    "host arguments: 0", "list: 0", "own memory: 0", "three times: 1 2 3", "host memory: 21", "broken: 0",
    "host arguments: 0",
]  # fmt: skip


@pytest.fixture
def models(tmp_path: Path) -> Path:
    path = tmp_path / "models.py"
    path.write_text(MODELS)
    return path


def effects(trace: Path) -> list[tuple[str, bool]]:
    found: list[Record] = [record for stream in Bundle.open(trace).processes for record in stream.records()]
    return [(effect.kind, effect.ok) for record in found for effect in getattr(record, "effects", ())]


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:4"])
def test_models_compute_and_replay_needs_none(
    build: Build, cannery: Run, tmp_path: Path, models: Path, schedule: str
) -> None:
    program, trace = build("kernels.c"), tmp_path / "t.cann"
    options = ("--kernels", models, "--schedule", schedule)
    done = cannery("run", "-o", trace, *options, "--", program)
    assert (done.returncode, done.stdout.splitlines()) == (0, COMPUTED), done.stderr
    assert [line for line in done.stderr.splitlines() if "has no model" in line] == [
        "cannery: the kernel nameless has no model: its launches do nothing (docs/kernels.md)"
    ]
    found = effects(trace)
    assert found.count(("kernel", True)) == 8
    assert found.count(("kernel", False)) == 1
    assert found.count(("model", False)) == 1
    program.rename(program.with_name("elsewhere"))  # its content is in the trace
    try:
        replayed = cannery("replay", trace)
        assert (replayed.returncode, replayed.stderr) == (0, ""), replayed.stdout
        assert "computed again" not in replayed.stdout
    finally:
        program.with_name("elsewhere").rename(program)
    models.write_text(MODELS + "# moved\n")
    again = cannery("replay", trace, "--kernels", models)
    assert (again.returncode, again.stderr) == (0, ""), again.stdout
    assert "8 kernel launches computed again" in again.stdout
    models.write_text(MODELS.replace("x + y", "x - y"))
    other = cannery("replay", trace, "--kernels", models)
    assert other.returncode == 1
    assert "element 0 of z" in other.stdout


def test_without_models_kernels_touch_nothing_and_are_named_once(build: Build, cannery: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    done = cannery("run", "-o", trace, "--", build("kernels.c"))
    assert (done.returncode, done.stdout.splitlines()) == (0, UNTOUCHED)
    told = [line.split()[3] for line in done.stderr.splitlines() if "has no model" in line]
    assert told == ["add", "double_all", "nameless", "broken", "add"]  # the child is a process of its own
    shown = cannery("show", trace, "--function", "aclrtLaunchKernel*", "--function", "aclrtBinaryGetFunction").stdout
    assert 'kernelName="add", funcHandle=-> kernel#' in shown
    assert "[no model]" in shown
    assert shown.count("(unmodelled)") == 1507
    assert cannery("replay", trace).returncode == 0
    assert "nameless (unmodelled): 1,500" in cannery("stats", trace, "--process", "1").stdout


def test_strict_refuses_them(build: Build, cannery: Run, tmp_path: Path, models: Path) -> None:
    trace = tmp_path / "t.cann"
    done = cannery("run", "-o", trace, "--strict", "--kernels", models, "--", build("kernels.c"))
    assert done.returncode == 3
    assert "= 207000" in done.stderr
    assert cannery("replay", trace).returncode == 0


def test_models_reach_a_program_by_the_environment_alone(build: Build, run: Run, tmp_path: Path, models: Path) -> None:
    done = run(build("kernels.c"), env={"CANNERY_KERNELS": models.name}, cwd=tmp_path)
    assert done.stdout.splitlines() == COMPUTED
    models.write_text("def (")
    done = run(build("kernels.c"), env={"CANNERY_KERNELS": str(models)})
    assert done.stdout.splitlines() == UNTOUCHED
    assert f"cannery: {models}:1: invalid syntax; running without kernel models" in done.stderr.splitlines()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def (", ":1: invalid syntax"),
        (MODELS.replace("y, z, n)", "y, z)"), "has to take the launch and 4 arguments"),
        (MODELS + MODELS, "two kernel models for add"),
        (None, "no such file of kernel models"),
    ],
)
@pytest.mark.parametrize("verb", ["run", "replay"])
def test_a_bad_file_is_one_line_and_nothing_is_started(
    build: Build, cannery: Run, tmp_path: Path, models: Path, verb: str, text: str | None, reason: str
) -> None:
    trace = tmp_path / "t.cann"
    if verb == "replay":
        assert cannery("run", "-o", trace, "--", build("spin.c"), "3").returncode == 0
    if text is None:
        models.unlink()
    else:
        models.write_text(text)
    rest = (trace,) if verb == "replay" else ("-o", trace, "--", "/bin/sh", "-c", "echo started")
    done = cannery(verb, "--kernels", models, *rest)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("cannery: --kernels: ")
    assert reason in line
    assert verb == "replay" or not trace.exists()
