"""The shim under the address and undefined-behaviour sanitizers: hosts linked to an instrumented build of it.

The engine stays as it is: it lives in a link namespace that the sanitizers do not see. Leaks are not looked for: the
engine takes its memory from the host's allocator and keeps it until the process ends.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.shim import sdk
from tests.shim_sources import SHIM_SOURCES

from .conftest import HOSTS, LIMIT, environment

ROOT = Path(__file__).parents[2]
FLAGS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1"]
STRICT = ["-Wall", "-Wextra", "-Werror"]


def compiler(name: str = "CC", default: str = "cc") -> list[str]:
    return shlex.split(os.environ.get(name, default))


@pytest.fixture(scope="module")
def instrumented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an instrumented shim and the configuration of the installed one."""
    folder = tmp_path_factory.mktemp("sanitized")
    subprocess.run([sys.executable, ROOT / "tools/generate/exports.py", folder], check=True, timeout=LIMIT)
    library = folder / "libascendcl.so"
    command = [
        *compiler(),
        "-std=gnu11",
        *STRICT,
        *FLAGS,
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        f"-I{ROOT / 'shim'}",
    ]
    sources = map(str, [*SHIM_SOURCES, folder / "exports.c"])
    command += [f"-I{folder}", *sources, "-o", str(library), "-ldl", "-lpthread"]
    done = subprocess.run(
        [*command, "-Wl,-soname,libascendcl.so"], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    if done.returncode != 0 and "sanitize" in done.stderr:
        pytest.skip("this compiler has no sanitizer runtimes")
    assert done.returncode == 0, done.stderr
    shutil.copy(sdk.library_folder() / "engine.conf", folder)
    return folder


@pytest.mark.parametrize(
    ("host", "arguments"),
    [("threads.c", ["300"]), ("forks.c", []), ("late_calls.cc", []), ("handler.c", []), ("arguments.c", [])],
)
def test_hosts_run_clean(instrumented: Path, tmp_path: Path, host: str, arguments: list[str]) -> None:
    program = tmp_path / "host"
    build = [*compiler("CXX", "c++"), "-std=c++17"] if host.endswith(".cc") else [*compiler(), "-std=gnu11"]
    include = f"-I{sdk.include_folder()}"
    command = [
        *build,
        *FLAGS,
        include,
        str(HOSTS / host),
        "-o",
        str(program),
        f"-L{instrumented}",
        "-lascendcl",
        "-lpthread",
    ]
    subprocess.run(command, check=True, timeout=LIMIT)
    variables = environment({"CANNERY_TRACE": str(tmp_path / "t.cann")}, preload=False)
    variables |= {
        "LD_LIBRARY_PATH": str(instrumented),
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    done = subprocess.run(
        [program, *arguments], env=variables, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "runtime error" not in done.stderr and "AddressSanitizer" not in done.stderr
    assert Bundle.open(tmp_path / "t.cann").processes
