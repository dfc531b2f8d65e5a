"""Fixtures of the integration tests: C programs compiled against the SDK and run as real processes under the shim."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cannery.shim import sdk

HOSTS = Path(__file__).parent / "hosts"
#: Generous: a hang is a failure, a slow machine is not.
LIMIT = 120

Build = Callable[..., Path]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """``build("name.c", *flags)`` compiles a host program of this folder once per session."""
    made: dict[tuple[str, ...], Path] = {}

    def compile_host(name: str, *flags: str, shared: bool = False, plain: bool = False) -> Path:
        key = (name, *flags, str(shared), str(plain))
        if key not in made:
            folder = tmp_path_factory.mktemp("hosts")
            target = folder / (f"lib{Path(name).stem}.so" if shared else Path(name).stem)
            compiler = os.environ.get("CXX", "c++") if name.endswith(".cc") else os.environ.get("CC", "cc")
            standard = "-std=c++17" if name.endswith(".cc") else "-std=gnu11"
            command = [*shlex.split(compiler), standard, "-Wall", "-Wextra", "-Werror", "-O1", "-g", *flags]
            command += ["-shared", "-fPIC"] if shared else []
            command += [f"-I{sdk.include_folder()}", str(HOSTS / name), "-o", str(target)]
            command += [] if plain else [f"-L{sdk.library_folder()}", "-lascendcl"]
            command += ["-lpthread", "-ldl"]
            subprocess.run(command, check=True, timeout=LIMIT)
            made[key] = target
        return made[key]

    return compile_host


def environment(extra: Mapping[str, str] | None = None, preload: bool = True) -> dict[str, str]:
    """The environment of a program that runs under the shim without the launcher."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("CANNERY_", "ASCEND_", "LD_"))}
    libraries = sdk.library_folder()
    clean["LD_LIBRARY_PATH"] = str(libraries)
    if preload:
        clean["LD_PRELOAD"] = str(libraries / sdk.SHIM_NAME)
    return clean | dict(extra or {})


@pytest.fixture
def run() -> Run:
    """``run(program, *args, env={}, preload=True)`` runs a program under the shim and returns what it did."""

    def start(
        program: Path | str, *args: str, env: Mapping[str, str] | None = None, preload: bool = True, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(program), *args],
            env=environment(env, preload),
            capture_output=True,
            text=True,
            timeout=options.pop("timeout", LIMIT),
            check=False,
            **options,
        )

    return start


@pytest.fixture
def cannery() -> Run:
    """``cannery("run", ...)`` runs the command line in a process of its own."""

    def start(
        *args: str | Path, env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("CANNERY_", "ASCEND_", "LD_"))}
        return subprocess.run(
            [sys.executable, "-m", "cannery.tools.main", *map(str, args)],
            env=clean | dict(env or {}),
            capture_output=True,
            text=True,
            timeout=options.pop("timeout", LIMIT),
            check=False,
            **options,
        )

    return start
