"""Whether programs get the shim, and the shim its engine: tried with real programs in processes of their own."""

import os
import subprocess
import sys
import time
from typing import Final

from cannery.shim import sdk
from cannery.tools.doctor.findings import NOTE, OK, PROBLEM, Finding

PLACEMENTS: Final = ("private", "inline", "host")
_LIMIT: Final = 60  # seconds; generous: the programs take a fraction of one

# Copies both ways, through the paths that a container's profile may forbid, and compares.
_CLIENT: Final = """
import ctypes, time
begin = time.perf_counter()
acl = ctypes.CDLL("libascendcl.so")
address, size = ctypes.c_void_p(), 64
def must(name, *arguments):
    number = getattr(acl, name)(*arguments)
    if number != 0:
        raise SystemExit(f"{name} answered {number}")
must("aclrtSetDevice", 0)
first = time.perf_counter() - begin
must("aclrtMalloc", ctypes.byref(address), ctypes.c_size_t(size), 0)
given, got = ctypes.create_string_buffer(b"x" * size, size), ctypes.create_string_buffer(size)
must("aclrtMemcpyAsync", address, ctypes.c_size_t(size), given, ctypes.c_size_t(size), 1, None)
must("aclrtSynchronizeDevice")
must("aclrtMemcpy", got, ctypes.c_size_t(size), address, ctypes.c_size_t(size), 2)
if got.raw != given.raw:
    raise SystemExit("a copy to the device and back changed the bytes")
print(f"{first * 1000:.0f}")
"""


def environment(**extra: str) -> dict[str, str]:
    """The variables of a program under the shim, with nothing else of Cannery's or of the loader's set."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CANNERY_", "ASCEND_", "LD_"))}
    return {**clean, "LD_PRELOAD": sdk.preloads(""), "LD_LIBRARY_PATH": sdk.search_path(""), **extra}


def preload() -> Finding:
    """A program that makes no call: starting it must stay cheap."""
    variables = environment()
    with_shim = _start(["true"], variables)
    plain = {name: value for name, value in variables.items() if not name.startswith("LD_")}
    without = _start(["true"], plain)
    if isinstance(with_shim, str):
        remedy = (
            "install Cannery again; if it stays, set CANNERY_CACHE to a folder whose file system allows running code"
        )
        return Finding("preload", PROBLEM, f"a program with {sdk.preload()} preloaded: {with_shim}", remedy)
    extra = (with_shim - without) * 1000 if isinstance(without, float) else 0.0
    return Finding("preload", OK, f"a program that makes no call starts {max(extra, 0.0):.1f} ms later with the shim")


def engine() -> Finding:
    """A program that makes calls, in the placement that is set, else in the default one."""
    wanted = os.environ.get("CANNERY_ENGINE") or PLACEMENTS[0]
    why = _try(wanted)
    if isinstance(why, float):
        text = f"placement {wanted}; first call of a program after {why:.0f} ms"
        return Finding("engine", OK, text)
    others = [placement for placement in PLACEMENTS if placement != wanted and isinstance(_try(placement), float)]
    if others:
        return Finding("engine", PROBLEM, f"placement {wanted}: {why}", f"use --engine {others[0]} (CANNERY_ENGINE)")
    return Finding("engine", PROBLEM, f"placement {wanted}: {why}", "install Cannery again with this Python")


def _try(placement: str) -> float | str:
    """How many milliseconds the first call took, or what went wrong."""
    command = [sys.executable, "-I", "-c", _CLIENT]
    try:
        done = subprocess.run(
            command,
            env=environment(CANNERY_ENGINE=placement),
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_LIMIT} s"
    if done.returncode == 0:
        return float(done.stdout)
    lines = done.stderr.strip().splitlines() or [f"the program ended with status {done.returncode}"]
    return next((line for line in lines if line.startswith("cannery: ")), lines[-1]).removeprefix("cannery: ")


def _start(command: list[str], variables: dict[str, str]) -> float | str:
    """The shortest of a few starts in seconds, or what the loader said."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        try:
            done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=_LIMIT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        times.append(time.perf_counter() - begin)
        if done.returncode != 0 or done.stderr:  # the loader goes on without a library that it cannot preload
            return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[0]
    return min(times)


def variables() -> Finding:
    """Variables of Cannery that are set, and whether they are understood."""
    from cannery.runtime.behaviours import behaviour
    from cannery.runtime.products import PRODUCTS
    from cannery.runtime.settings import SettingError, Settings
    from cannery.runtime.variables import misspelt, without_empty
    from cannery.tools.errors import suggestion

    given = sorted(name for name in without_empty(os.environ) if name.startswith("CANNERY_"))
    problems = misspelt(given)
    try:
        settings = Settings.from_environment(os.environ)
        behaviour(settings.behaviour)
        if settings.product not in PRODUCTS:
            near = suggestion(settings.product, list(PRODUCTS))
            problems.append(f"CANNERY_PRODUCT={settings.product} is none of {', '.join(PRODUCTS)}{near}")
    except SettingError as error:
        problems.append(str(error))
    if problems:
        return Finding("variables", PROBLEM, "; ".join(problems), "correct or unset them")
    if not given:
        return Finding("variables", OK, "none set")
    text = ", ".join(f"{name}={os.environ[name]}" for name in given)
    return Finding("variables", NOTE, f"set for every run: {text}")
