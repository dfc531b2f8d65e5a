"""Where a recorded call's time goes: instructions, counted by callgrind, which no other load of the machine changes.

Two runs that differ by so many calls differ by what these calls take, the start left out. Parts are told apart by the
file that the instructions are in; what Python's C API does for the engine and for the machine counts as its own.
"""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Final

from cannery.tools.bench.bench import Bench

_CALLS: Final = 10_000
WAYS: Final = (
    ("aclrtRecordEvent", "main"),
    ("aclrtRecordEvent", "foreign"),
    ("aclrtQueryEventStatus", "main"),
    ("aclrtGetDevice", "main"),
)
PARTS: Final = (
    (r"workload$", "the program"),
    (r"libcannery\.so|libascendcl\.so", "shim (C)"),
    (r"_engine\.", "engine (C)"),
    (r"__mypyc\.|/compiled/", "machine (compiled Python)"),
    (r"libpython", "libpython"),
    (r"\.cpython-", "extension modules"),
)
OTHER: Final = "C library, kernel page"


def measure(bench: Bench) -> None:
    """Instructions a call, by part."""
    if shutil.which("valgrind") is None:
        bench.note("the profile needs callgrind (apt-get install valgrind)")
        return
    for function, where in WAYS:
        for recorded in (True, False):
            parts = _instructions(bench, function, where, recorded)
            way = f"{function}, {where} thread, {'' if recorded else 'not '}recorded"
            for part, count in parts.items():
                bench.samples.add(f"{bench.group}/{way}/{part}", count, "instructions")
            bench.add(way, sum(parts.values()), "instructions")


def _instructions(bench: Bench, function: str, where: str, recorded: bool) -> dict[str, float]:
    fewer, more = (_count(bench, function, where, recorded, calls) for calls in (_CALLS, 2 * _CALLS))
    return {part: (more[part] - fewer[part]) / _CALLS for part in more}


def _count(bench: Bench, function: str, where: str, recorded: bool, calls: int) -> Counter[str]:
    output = bench.folder / "callgrind.out"
    variables = {"CANNERY_TRACE": str(bench.trace())} if recorded else {}
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", "--", str(bench.program)]
    subprocess.run(
        [*command, "one", function, where, str(calls)],
        env=bench.preloaded(**variables),
        check=True,
        capture_output=True,
    )
    return by_part(output)


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
