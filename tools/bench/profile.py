"""Where a recorded call's time goes: instructions, counted by callgrind, which no other load of the machine changes.

Two runs that differ by so many calls differ by what these calls take, the start left out. Parts are told apart by the
file that the instructions are in; what Python's C API does for the engine and for the machine counts as its own.
"""

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from cannery.tools.bench.bench import MAIN, Bench, base_environment

_CALLS: Final = 10_000


class Way(NamedTuple):
    """A call to count: ``pure`` with the machine's Python source, ``reference`` also with the reference encoder."""

    title: str
    function: str = "aclrtRecordEvent"
    where: str = "main"
    pure: bool = False
    reference: bool = False


WAYS: Final = (
    Way("record"),
    Way("record, foreign thread", where="foreign"),
    Way("record, machine not compiled", pure=True),
    Way("record, machine not compiled, reference encoder", pure=True, reference=True),
    Way("query of an event", "aclrtQueryEventStatus"),
    Way("GetDevice", "aclrtGetDevice"),
)
PARTS: Final = (
    (r"/workload$", "the program"),
    (r"libcannery\.so|libascendcl\.so", "shim (C)"),
    (r"_engine\.", "engine (C)"),
    (r"__mypyc\.|/compiled/", "machine (compiled Python)"),
    (r"libpython", "libpython"),
    (r"\.cpython-", "extension modules"),
)
OTHER: Final = "C library"


def measure(bench: Bench) -> None:
    """Instructions a call, by part; recorded, and as a whole also not recorded."""
    if shutil.which("valgrind") is None:
        bench.note("the profile needs callgrind (apt-get install valgrind)")
        return
    for way in WAYS:
        recorded = _instructions(bench, way, True)
        for part, count in recorded.items():
            bench.samples.add(f"{bench.group}/{way.title}/{part}", count, "instructions")
        total = sum(recorded.values())
        unrecorded = sum(_instructions(bench, way, False).values())
        bench.add(way.title, total, "instructions")
        bench.add(f"{way.title}: what recording adds", total - unrecorded, "instructions")


def _instructions(bench: Bench, way: Way, recorded: bool) -> dict[str, float]:
    fewer, more = (_count(bench, way, recorded, calls) for calls in (_CALLS, 2 * _CALLS))
    return {part: (more[part] - fewer[part]) / _CALLS for part in more}


def _count(bench: Bench, way: Way, recorded: bool, calls: int) -> Counter[str]:
    output = bench.folder / "callgrind.out"
    environment = bench.preloaded(**({"CANNERY_TRACE": str(bench.trace())} if recorded else {}))
    if way.pure:
        library = _pure_library()
        environment |= {"LD_PRELOAD": str(library), "LD_LIBRARY_PATH": str(library.parent)}
    if way.reference:
        environment["CANNERY_ENCODER"] = "python"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", "--", str(bench.program)]
    arguments = ["one", way.function, way.where, str(calls)]
    subprocess.run([*command, *arguments], env=environment, check=True, capture_output=True)
    return by_part(output)


def _pure_library() -> Path:
    """The library to preload for a machine that is not compiled."""
    command = [sys.executable, "-m", MAIN, "sdk", "--preload"]
    pure = base_environment() | {"CANNERY_PURE": "1"}
    return Path(subprocess.run(command, env=pure, check=True, capture_output=True, text=True).stdout.strip())


def by_part(path: Path) -> Counter[str]:
    """Instructions by part, of a file that callgrind wrote (valgrind manual, "Callgrind Format Specification")."""
    objects: dict[str, str] = {}
    counts: Counter[str] = Counter()
    part = OTHER
    inclusive = False  # the next line is what a callee took, which stands with the callee too
    with path.open() as file:
        for line in file:
            if line.startswith(("ob=", "cob=")):
                number, name = re.findall(r"\((\d+)\)(?: (.*))?", line)[0]
                if name:
                    objects[number] = _part_of(name)
                if line.startswith("ob="):
                    part = objects[number]
            elif line.startswith("calls="):
                inclusive = True
            elif found := re.match(r"[-+*\d]\S* (\d+)$", line):
                if not inclusive:
                    counts[part] += int(found[1])
                inclusive = False
    return counts


def _part_of(file: str) -> str:
    return next((part for pattern, part in PARTS if re.search(pattern, file)), OTHER)
