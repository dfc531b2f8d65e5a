"""What pip makes of the project: a wheel, also below a path with a space, and an editable installation.

Built offline with what the environment of the tests has. tools/setup/installs.sh tries the same with every Python.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from cannery.runtime.version import VERSION
from cannery.shim import sdk

from .conftest import HOSTS, LIMIT

ROOT = Path(__file__).parents[2]
PARTS = ("recorder", "replayer", "runtime", "shim", "tools")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("scikit_build_core") is None or shutil.which("cmake") is None,
    reason="the build requirements are not installed",
)


def pip(*args: "str | Path") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT * 4)


def build(source: Path, out: Path) -> "subprocess.CompletedProcess[str]":
    return pip("wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", out, source)


def clean() -> dict[str, str]:
    dropped = ("CANNERY_", "ASCEND_", "LD_", "PYTHON")
    return {key: value for key, value in os.environ.items() if not key.startswith(dropped)}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the sources, without what builds leave in a tree."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name in ("pyproject.toml", "README.md", "CMakeLists.txt"):
        shutil.copy(ROOT / name, folder)
    for name in PARTS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "include"))
    return folder


def run_and_replay(command: list[str | Path], environment: dict[str, str], folder: Path) -> None:
    """A program under that installation, with its own Python as the host, recorded and replayed."""
    for arguments in (
        ["run", "-o", folder / "t.cann", "--", sys.executable, HOSTS / "client.py", "libacl_rt.so"],
        ["replay", folder / "t.cann"],
    ):
        done = subprocess.run(
            [*command, *arguments], env=environment, cwd=folder, capture_output=True, text=True, timeout=LIMIT
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "fine" in done.stdout or "all the same" in done.stdout


def test_a_wheel_works_below_a_path_with_a_space(source: Path, tmp_path: Path) -> None:
    done = build(source, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"cannery", f"cannery-{VERSION}.dist-info"}
    for part in PARTS:
        assert f"cannery/{part}/py.typed" in names
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    wanted = {f"shim/_engine{suffix}", "shim/libcannery.so", "shim/include/acl/acl.h", "tools/data/tests.json"}
    assert {f"cannery/{name}" for name in wanted} <= set(names)
    assert not [name for name in names if name.startswith("cannery/shim/") and name.endswith(".c")]

    site = tmp_path / "a path" / "site"
    done = pip("install", "--no-deps", "--no-index", "--target", site, wheel)
    assert done.returncode == 0, done.stdout + done.stderr
    environment = clean() | {"PYTHONPATH": str(site), "CANNERY_CACHE": str(tmp_path / "cache")}
    command: list[str | Path] = [sys.executable, "-m", "cannery.tools.main"]
    run_and_replay(command, environment, tmp_path)
    folder = subprocess.run(
        [*command, "sdk"], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert folder.startswith(str(tmp_path / "cache"))
    assert Path(folder, "lib64", "libacl_rt.so").samefile(site / "cannery" / "shim" / sdk.SHIM_NAME)


def test_an_editable_installation_works(source: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=LIMIT)
    (site,) = venv.glob("lib/python*/site-packages")
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():  # what Cannery and its build need
        if "cannery" not in entry.name:
            (site / entry.name).symlink_to(entry)
    done = pip(
        "--python", venv / "bin/python", "install", "--no-build-isolation", "--no-deps", "--no-index", "-e", source
    )
    assert done.returncode == 0, done.stdout + done.stderr
    environment = clean() | {"CANNERY_CACHE": str(tmp_path / "cache")}
    run_and_replay([venv / "bin/cannery"], environment, tmp_path)
    assert f"\nsite={site}\n" in next((tmp_path / "cache").glob("*/lib64/engine.conf")).read_text()
    session = source / "shim" / "session.py"
    session.write_text(f"{session.read_text()}\nraise SystemError('edited')\n")
    program = [venv / "bin/cannery", "run", "--no-record", "--", sys.executable, HOSTS / "client.py", "libacl_rt.so"]
    done = subprocess.run(program, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert "SystemError: edited" in done.stderr


def test_a_python_without_shared_library_stops_the_build_with_its_reason(source: Path, tmp_path: Path) -> None:
    (source / "shim" / "libpython.py").write_text("raise SystemExit('Python has no shared libpython: install x')\n")
    done = build(source, tmp_path)
    assert done.returncode != 0
    assert "Python has no shared libpython: install x" in done.stdout + done.stderr
