"""Whatever happens to the bytes of a trace: an answer or one clear line, a status of 0, 1 or 2, never a crash."""

import random
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from cannery.recorder import format
from cannery.recorder.seal import finish
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
