"""How programs find the runtime, and that all ways lead to the same library with the same state."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Call
from cannery.shim import sdk

from .conftest import HOSTS, LIMIT, Build, Run

NAMES = (*sdk.LIBRARY_NAMES, *sdk.SHARED_NAMES)
CTYPES = """
import ctypes, sys
handles = [ctypes.CDLL(name) for name in sys.argv[1:]]
stream = ctypes.c_void_p()
assert handles[0].aclrtSetDevice(0) == 0
for number, handle in enumerate(handles):
    assert handle.aclrtCreateStream(ctypes.byref(stream)) == 0
    assert handles[number - 1].aclrtDestroyStream(stream) == 0
print("one")
"""


def functions(trace: Path) -> list[str]:
    with Bundle.open(trace) as bundle:
        return [record.function for record in bundle.processes[0].records() if isinstance(record, Call)]


# By name


def test_dlopen_by_every_name_finds_the_preloaded_library(build: Build, cannery: Run) -> None:
    program = build("names.c", plain=True)
    done = cannery("run", "--no-record", "--", program, *NAMES)
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\n", "")


@pytest.mark.parametrize("first", NAMES)
def test_any_name_can_be_the_first_without_a_preload(build: Build, run: Run, first: str) -> None:
    program = build("names.c", plain=True)
    done = run(program, "-", first, *NAMES, preload=False, env={"LD_LIBRARY_PATH": sdk.search_path("")})
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\n", "")


def test_ctypes_by_every_name_is_one_library(cannery: Run, tmp_path: Path) -> None:
    done = cannery("run", "-o", tmp_path / "t.cann", "--", sys.executable, "-c", CTYPES, *NAMES)
    assert (done.returncode, done.stdout) == (0, "one\n")
    assert functions(tmp_path / "t.cann").count("aclrtCreateStream") == len(NAMES)


@pytest.mark.parametrize("place", ["lib64", "lib64/stub", "runtime/lib64", "acllib/lib64"])
def test_a_path_into_any_layout_is_the_preloaded_library(build: Build, cannery: Run, place: str) -> None:
    done = cannery("run", "--no-record", "--", build("names.c", plain=True), sdk.folder() / place / "libascendcl.so")
    assert (done.returncode, done.stdout) == (0, "one\n")


def test_names_of_libraries_with_other_functions_are_not_taken(build: Build, cannery: Run) -> None:
    done = cannery("run", "--no-record", "--", build("other_symbols.c", plain=True))
    assert done.stdout.splitlines() == ["libruntime.so absent", "libascend_dump.so ours"]


def test_a_real_library_of_a_shared_name_goes_before_ours(build: Build, cannery: Run, tmp_path: Path) -> None:
    (tmp_path / "real.c").write_text("int not_of_this_api(void) { return 0; }\n")
    for name in ("libruntime.so", "libascend_dump.so"):
        subprocess.run(["cc", "-shared", "-fPIC", "real.c", "-o", name], cwd=tmp_path, check=True)
    program = build("other_symbols.c", plain=True)
    done = cannery("run", "--no-record", "--", program, env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.stdout.splitlines() == ["libruntime.so other", "libascend_dump.so other"]


# Beside other libraries


def test_another_preloaded_shim_reaches_ours_with_rtld_next(build: Build, cannery: Run, tmp_path: Path) -> None:
    other = build("interposer.c", shared=True, plain=True)
    done = cannery("run", "-o", tmp_path / "t.cann", "--", build("allocates.c"), env={"LD_PRELOAD": str(other)})
    assert (done.returncode, done.stdout) == (0, "interposer saw 3\n")
    assert functions(tmp_path / "t.cann").count("aclrtMalloc") == 3


def test_libraries_of_the_program_are_found_as_before(build: Build, cannery: Run, run: Run, tmp_path: Path) -> None:
    library = build("interposer.c", shared=True, plain=True)
    (tmp_path / "libowned.so").symlink_to(library)
    program = build("allocates.c", "-Wl,--no-as-needed", f"-L{tmp_path}", "-lowned")
    done = cannery("run", "--no-record", "--", program, env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (
        0,
        "",
    )  # a preload goes before what a program is linked to: docs/limits.md
    done = run(program, env={"LD_LIBRARY_PATH": sdk.search_path(str(tmp_path))}, preload=False)
    assert (done.returncode, done.stdout) == (0, "interposer saw 3\n")


# Variables and files


@pytest.mark.parametrize(("given", "count"), [("1,3", 2), ("0", 1), ("7,6", None)])
def test_devices_are_chosen_by_the_environment(build: Build, cannery: Run, given: str, count: int | None) -> None:
    done = cannery("run", "--no-record", "--", build("visible.c"), env={"ASCEND_RT_VISIBLE_DEVICES": given})
    assert (done.returncode, done.stdout) == ((0, f"{count}\n") if count is not None else (3, ""))


def test_a_program_may_choose_devices_before_its_first_call(build: Build, cannery: Run) -> None:
    done = cannery("run", "--no-record", "--", build("visible.c"), "1,3,4", env={"ASCEND_RT_VISIBLE_DEVICES": "0"})
    assert (done.returncode, done.stdout) == (0, "3\n")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ["device 107002, -1", "message of the thread"]),
        ('{"defaultDevice": {"default_device": "5"}}', ["device 0, 5", "message of the thread"]),
        ('{"err_msg_mode": "1"}', ["device 107002, -1", "message of the process"]),
    ],
)
def test_the_configuration_of_aclinit_counts(
    build: Build, cannery: Run, tmp_path: Path, text: str, printed: list[str]
) -> None:
    (tmp_path / "acl.json").write_text(text)
    trace = tmp_path / "t.cann"
    done = cannery("run", "-o", trace, "--", build("configured.c"), tmp_path / "acl.json")
    assert (done.returncode, done.stdout.splitlines()) == (0, printed)
    (tmp_path / "acl.json").unlink()  # replay has the file from the trace
    assert cannery("replay", trace).returncode == 0


# Builds


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
@pytest.mark.parametrize("layout", ["folders", "files", "runtime", "acllib", "architecture", "search"])
def test_cmake_projects_for_cann_build_and_run(cannery: Run, tmp_path: Path, layout: str) -> None:
    source = tmp_path / "a project"
    shutil.copytree(HOSTS / "project", source)
    root = cannery("sdk").stdout.rstrip("\n")
    configure = [
        "cmake",
        "-S",
        source,
        "-B",
        source / "build",
        f"-DASCEND_CANN_PACKAGE_PATH={root}",
        f"-DLAYOUT={layout}",
    ]
    for command in (configure, ["cmake", "--build", source / "build"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, done.stdout + done.stderr
    trace = tmp_path / "its trace.cann"
    done = cannery("run", "-o", trace, "--", source / "build" / "main")
    assert (done.returncode, done.stdout) == (0, "the same\n")
    assert len(functions(trace)) == 8
    assert cannery("replay", trace).returncode == 0


def test_the_flags_build_a_program(cannery: Run, tmp_path: Path) -> None:
    flags = [shlex.split(cannery("sdk", option).stdout) for option in ("--cflags", "--libs")]
    compiler = shlex.split(os.environ.get("CC", "cc"))
    source = HOSTS / "allocates.c"
    subprocess.run([*compiler, *flags[0], source, "-o", tmp_path / "host", *flags[1], "-lpthread"], check=True)
    assert cannery("run", "--no-record", "--", tmp_path / "host").returncode == 0


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="pkg-config is not installed")
def test_pkg_config_builds_a_program(cannery: Run, tmp_path: Path) -> None:
    folder = cannery("sdk", "--pkg-config").stdout.rstrip("\n")
    printed = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "ascendcl"],
        env={**os.environ, "PKG_CONFIG_PATH": folder}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    compiler = shlex.split(os.environ.get("CC", "cc"))
    source = HOSTS / "allocates.c"
    subprocess.run([*compiler, source, "-o", tmp_path / "host", *shlex.split(printed), "-lpthread"], check=True)
    assert cannery("run", "--no-record", "--", tmp_path / "host").returncode == 0
