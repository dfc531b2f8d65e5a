"""Whatever happens to the bytes of a trace: an answer or one clear line, a status of 0, 1 or 2, never a crash."""

import random
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.seal import finish, note_end
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.tools.main import main
from tests import scenarios

VERBS = (
    ["show"],
    ["show", "--json"],
    ["info"],
    ["replay"],
    ["replay", "--keep-going"],
    ["replay", "--product", "310P"],
)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Each scenario as a bundle, as the program left it and sealed."""
    folder = tmp_path_factory.mktemp("bundles")
    found = []
    for name, scenario in scenarios.ALL.items():
        found.append(scenario().save(folder / f"{name}.cann"))
        shutil.copytree(found[-1], folder / f"{name}-sealed.cann")
        finish(folder / f"{name}-sealed.cann")
        found.append(folder / f"{name}-sealed.cann")
    return found


def answer(trace: Path) -> None:
    """Ask every verb about the trace."""
    for verb in VERBS:
        result = CliRunner().invoke(main, [*verb, str(trace)])
        assert result.exception is None or isinstance(result.exception, SystemExit), verb
        assert result.exit_code in (0, 1, 2), verb
        assert result.exit_code == 0 or result.stdout or result.stderr.startswith("cannery: "), verb
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize("seed", range(40))
def test_an_altered_or_cut_file(bundles: list[Path], tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    trace = tmp_path / "t.cann"
    shutil.copytree(chance.choice(bundles), trace)
    files = sorted(path for path in trace.rglob("*") if path.is_file())
    path = chance.choices(files, [20 if path.suffix == format.JOURNAL else 1 for path in files])[0]
    content = bytearray(path.read_bytes())
    place = chance.randrange(len(content.rstrip(b"\0")) or 1)
    if chance.random() < 0.2:
        del content[place:]
    elif content:
        content[place] ^= chance.randrange(1, 256)
    path.write_bytes(content)
    answer(trace)


@pytest.mark.parametrize("name", ["bundle", "schema", "p0001/process", "p0001/000001.journal", "p0001/inflight"])
def test_a_missing_or_empty_file(bundles: list[Path], tmp_path: Path, name: str) -> None:
    for case in ("missing", "empty", "folder"):
        trace = tmp_path / case
        shutil.copytree(bundles[0], trace)
        (trace / name).unlink()
        if case == "empty":
            (trace / name).touch()
        elif case == "folder":
            (trace / name).mkdir()
        answer(trace)


def test_a_trace_of_the_future_is_refused_with_both_versions(bundles: list[Path], tmp_path: Path) -> None:
    trace = tmp_path / "t.cann"
    shutil.copytree(bundles[0], trace)
    sheet, _ = unpack_sheet((trace / "bundle").read_bytes(), "bundle")
    (trace / "bundle").write_bytes(pack_sheet(sheet | {"version": format.VERSION + 7}))
    for verb in VERBS:
        result = CliRunner().invoke(main, [*verb, str(trace)])
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"has format version {format.VERSION + 7}; this Cannery reads up to" in result.stderr


READERS = (["info"], ["info", "--json"], ["show"], ["stats"], ["replay"], ["replay", "--json"])
DAMAGED = {
    "end": 11,
    "p0001/end": 11,
    "p0001/process": 150,
    "p0001/000001.chunk": 300,
    "p0001/inflight": 64,
    "p0001/payloads.pack": 40,
    "schema": 1000,
    "bundle": 50,
}
LIBRARIES = ("msgpack", "OutOfData", "Error", "unpack", "zstd", "sheet")


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed trace that has a file of every kind."""
    trace = scenarios.ALL["memory"]().save(tmp_path_factory.mktemp("sealed") / "a.cann")
    with Bundle.open(trace) as bundle:
        note_end(trace, bundle.processes[0].header["host"]["pid"], 0)
    finish(trace)
    assert all((trace / name).exists() for name in DAMAGED)
    return trace


def told(trace: Path, name: str, whole: Path) -> None:
    """Every verb that reads the file has status 2, and names it, in words for people."""
    verbs = [*READERS, ["diff", str(whole)]]
    for verb in [["info"], ["replay"]] if name.endswith(format.PACK) else verbs:
        result = CliRunner().invoke(main, [*verb, str(trace)])
        assert result.exit_code == 2, verb
        found = result.stderr + result.stdout
        assert name in found, verb
        assert not any(word in found for word in LIBRARIES), found


@pytest.mark.parametrize("name", DAMAGED)
def test_an_altered_byte_is_told_by_every_verb(sealed: Path, tmp_path: Path, name: str) -> None:
    trace = tmp_path / "t.cann"
    shutil.copytree(sealed, trace)
    content = bytearray((trace / name).read_bytes())
    content[DAMAGED[name]] ^= 0x41
    (trace / name).write_bytes(content)
    told(trace, name, sealed)


@pytest.mark.parametrize("name", DAMAGED)
def test_a_file_that_was_cut_off_is_told_by_every_verb(sealed: Path, tmp_path: Path, name: str) -> None:
    trace = tmp_path / "t.cann"
    shutil.copytree(sealed, trace)
    content = (trace / name).read_bytes()
    (trace / name).write_bytes(content[: len(content) // 2])
    told(trace, name, sealed)


@pytest.mark.parametrize("name", ["p0001/process", "p0001/000001.chunk"])
def test_a_file_that_is_gone_is_told_by_every_verb_that_needs_it(sealed: Path, tmp_path: Path, name: str) -> None:
    trace = tmp_path / "t.cann"
    shutil.copytree(sealed, trace)
    (trace / name).unlink()
    for verb in READERS:
        result = CliRunner().invoke(main, [*verb, str(trace)])
        assert result.exit_code == 2, verb
        assert f"{name} is missing" in result.stderr + result.stdout
