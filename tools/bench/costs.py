"""What calls, copies and the start of a program cost with Cannery, against less of it or none."""

import shutil
import sys
from collections.abc import Callable
from functools import partial
from typing import Final

from cannery.shim import sdk
from cannery.tools.bench.bench import MAIN, Bench, Ways, base_environment, run

_COPY: Final = 64 << 20
#: Other sizes of copies, by name: bytes, and how often. Below 16 MB what a call costs counts more than the bytes.
_SIZES: Final = {"4 KB": (4 << 10, 400), "64 KB": (64 << 10, 400), "1 MB": (1 << 20, 200), "16 MB": (16 << 20, 15),
                 "1 GB": (1 << 30, 3)}  # fmt: skip
_WHERE: Final = ("main", "foreign")
_LIMITS: Final = {
    "aclrtRecordEvent": 1000,
    "aclrtGetDevice": 600,
    "aclrtQueryEventStatus": 600,
    "aclrtStreamQuery": 600,
    "aclrtSynchronizeStream": None,
}


def calls(bench: Bench) -> None:
    """Cost of one call, recorded and not, on the main and on a foreign thread."""
    ways = {
        "recorded": lambda: run(bench.recorded("calls", "400")).figures,
        "not recorded": lambda: run(bench.unrecorded("calls", "400")).figures,
    }
    bench.in_turns(ways, "ns")
    for name, limit in _LIMITS.items():
        for where in _WHERE:
            call = f"{name}/{where}"
            bench.add(f"{name}, {where} thread, recorded", bench.least(f"recorded/{call}"), "ns", most=limit)
    for name in _LIMITS:
        for where in _WHERE:
            call = f"{name}/{where}"
            added = bench.difference(f"recorded/{call}", f"not recorded/{call}")
            bench.add(f"{name}, {where} thread: what recording adds", added, "ns", most=150)


def flight(bench: Bench) -> None:
    """What keeping only the tail costs, against keeping everything: of a call, and of all processor time."""

    def timed(*options: str) -> dict[str, float]:
        done = run(bench.recorded("calls", "400", options=options))
        return {**done.figures, "processor": done.processor}

    ways: Ways = {"everything": timed, "tail": partial(timed, "--keep", "10000")}
    bench.in_turns(ways, "ns")
    for name in _LIMITS:
        ratio = bench.ratio(f"tail/{name}/main", f"everything/{name}/main")
        bench.add(f"{name}, with --keep 10000 / recorded whole", ratio, "")
    ratio = bench.ratio("tail/processor", "everything/processor")
    bench.add("processor time with --keep 10000, launcher included / recorded whole", ratio, "")


def threads(bench: Bench) -> None:
    """Throughput of several threads that record events at once, each on its own stream, against one."""
    total = 400_000
    counts = (1, 2, 4, 8, 16)

    def hammer(count: int) -> dict[str, float]:
        return run(bench.recorded("threads", str(count), str(total // count))).figures

    bench.in_turns({f"{count}": partial(hammer, count) for count in counts}, "ns")
    for count in counts[1:]:
        ratio = bench.ratio("1/threads", f"{count}/threads")
        bench.add(f"throughput of {count} threads / of one", ratio, "", least=0.9 if count == 8 else None)


def copies(bench: Bench) -> None:
    """Synchronous copies against memcpy in the same process."""
    _warm_page_cache(bench)
    args = ("copies", str(_COPY), "5")

    def copy(*options: str) -> dict[str, float]:
        trace = bench.trace()
        figures = run(bench.recorded(*args, trace=trace, options=options)).figures
        shutil.rmtree(trace)
        return figures

    ways: Ways = {
        "recorded": copy,
        "--payload none": partial(copy, "--payload", "none"),
        "not recorded": lambda: run(bench.unrecorded(*args)).figures,
    }
    all_limits = {"recorded": {"new": 0.25, "stored": 0.50}, "--payload none": {"new": 0.60}}
    bench.in_turns(ways, "ns")
    for name in ways:
        limits = all_limits.get(name, {})
        for kind in ("new", "stored", "to_host"):
            ratio = bench.ratio(f"{name}/copy/memcpy", f"{name}/copy/{kind}")
            bench.add(f"64 MB copy, {kind}, {name}: speed / memcpy", ratio, "", least=limits.get(kind))
        bench.add(f"64 MB copy, first touch, {name}", bench.median(f"{name}/copy/first_touch") / 1e6, "ms")
    for size, numbers in _SIZES.items():
        _copies_of(bench, size, numbers)


def _copies_of(bench: Bench, size: str, numbers: tuple[int, int]) -> None:
    def copy(*options: str) -> dict[str, float]:
        trace = bench.trace()
        figures = run(bench.recorded("copies", *map(str, numbers), trace=trace, options=options)).figures
        shutil.rmtree(trace)
        return figures

    ways: Ways = {f"{size}, recorded": copy, f"{size}, --payload none": partial(copy, "--payload", "none")}
    bench.in_turns(ways, "ns", min(3, bench.rounds))
    for name, kinds in zip(ways, (("new", "stored"), ("new",)), strict=True):
        for kind in kinds:
            ratio = bench.ratio(f"{name}/copy/memcpy", f"{name}/copy/{kind}")
            bench.add(f"copy of {name}, {kind}: speed / memcpy", ratio, "")
            if numbers[0] < 1 << 20:
                bench.add(f"copy of {name}, {kind}", bench.least(f"{name}/copy/{kind}"), "ns")


def _warm_page_cache(bench: Bench) -> None:
    """The first use of memory that a virtual machine never touched is slow, and would count as Cannery's."""
    path = bench.folder / "warm"
    block = b"\1" * (1 << 20)
    with path.open("wb") as file:
        for _ in range(8 * (_COPY >> 20)):
            file.write(block)
    path.unlink()


def start(bench: Bench) -> None:
    """Whole processes: what the first call, the launcher and a preload cost."""
    plain = base_environment()
    linked = plain | {"LD_LIBRARY_PATH": str(sdk.library_folder())}
    commands = {"sh": ["sh", "-c", ":"], "ls": ["ls", "/"], "cc": ["cc", "--version"]}
    ways: dict[str, Callable[[], dict[str, float]]] = {
        "nothing": partial(_elapsed, [str(bench.program), "nothing"], linked),
        "once": partial(_elapsed, [str(bench.program), "once"], bench.preloaded()),
        "recorded": lambda: _elapsed([str(bench.program), "once"], bench.preloaded(CANNERY_TRACE=str(bench.trace()))),
        "launcher": partial(_elapsed, [sys.executable, "-m", MAIN, "run", "--no-record", "--", "true"], plain),
        "recording launcher": lambda: _elapsed(bench.recorded("once"), plain),
    }
    for name, command in commands.items():
        ways[name] = partial(_elapsed, command, plain)
        ways[f"preloaded {name}"] = partial(_elapsed, command, bench.preloaded())
    bench.in_turns(ways, "ms", max(9, bench.rounds * 3))
    later = bench.difference("once/start", "nothing/start")
    bench.add("a program that makes one call, not recorded: later than the bare one", later, "ms")
    later = bench.difference("recorded/start", "nothing/start")
    bench.add("a program that makes one call, recorded: later than the bare one", later, "ms", most=80)
    more = bench.difference("recorded/processor", "nothing/processor")
    bench.add("a program that makes one call, recorded: more processor time than the bare one", more, "ms")
    for name, command in commands.items():
        later = bench.difference(f"preloaded {name}/start", f"{name}/start")
        bench.add(f"preloaded {' '.join(command)}: later than without", later, "ms", most=2)
    bench.add("cannery run --no-record -- true", bench.median("launcher/start"), "ms")
    bench.add("cannery run -- a program that makes one call", bench.median("recording launcher/start"), "ms")


def _elapsed(command: list[str], environment: dict[str, str]) -> dict[str, float]:
    done = run(command, environment)
    return {"start": done.milliseconds, "processor": done.processor}
