"""States of the machine: in a long trace, at any call (docs/states.md), and kept by a program (docs/snapshot.md)."""

import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Final

import click

from cannery.recorder.bundle import Bundle
from cannery.tools.bench.bench import MAIN, Bench, base_environment, children_ms, run

_TRACES: Final = {"record loop": ("record", "1000000"), "training loop": ("train", "1", "41600")}
_PLACES: Final = (0.049, 0.17, 0.3301, 0.5, 0.6667, 0.7719, 0.8888, 0.9999)  # of the calls


def measure(bench: Bench) -> None:
    """Traces of 10^6 calls: write keyframes, and print the state at calls here and there."""
    for name, args in _TRACES.items():
        trace = bench.trace()
        run(bench.recorded(*args, trace=trace))
        bench.in_turns({"index": partial(_index, name, trace)}, "ms", 1)
        with Bundle.open(trace) as bundle:
            calls = bundle.processes[0].counts().calls
        bench.in_turns({"at": partial(_show, name, trace, calls)}, "ms")
        shutil.rmtree(trace)
        what = f"{name}, 10^6 calls"
        bench.add(f"{what}: write keyframes", bench.median(f"index/{name}") / 1e3, "s")
        bench.add(f"{what}: show --at, processor time", bench.median(f"at/{name}/processor"), "ms")
        bench.add(f"{what}: show --at, the slowest", bench.median(f"at/{name}/slowest"), "ms", most=300)


def snapshots(bench: Bench) -> None:
    """Backup and restore of 1 GB against memcpy; threads that go on when the process is unlocked."""
    size = 1024
    ways = {
        "1 GB": lambda: run(bench.unrecorded("snapshots", str(size))).figures,
        "64 threads": lambda: run(bench.unrecorded("unlock", "64")).figures,
    }
    bench.in_turns(ways, "ns")
    for what, copy in (("backup/first", "first"), ("backup/again", "again"), ("restore", "again")):
        name = what.replace("/again", ", into the memory of the one before").replace("/first", ", into new memory")
        ratio = bench.ratio(f"1 GB/memcpy/{copy}", f"1 GB/{what}")
        bench.add(f"{name}: speed / memcpy, likewise", ratio, "", least=0.5)
    more = (bench.median("1 GB/memory/after") - bench.median("1 GB/memory/before")) / (size << 20)
    bench.add("memory that a backup takes / that was touched", more, "", most=1.05)
    last = bench.median("64 threads/unlock/last") / 1e6
    bench.add("64 threads go on, after the unlock was called", last, "ms", most=5)


def _index(name: str, trace: Path) -> dict[str, float]:
    return {name: _command("index", str(trace))[1]}


def _show(name: str, trace: Path, calls: int) -> dict[str, float]:
    """Of whole commands, from their start to their end: the slowest, and the processor time of the mean one."""
    taken = [_command("show", str(trace), "--at", str(int(place * calls))) for place in _PLACES]
    return {
        f"{name}/slowest": max(elapsed for elapsed, _ in taken),
        f"{name}/processor": sum(processor for _, processor in taken) / len(taken),
    }


def _command(*args: str) -> tuple[float, float]:
    """What a command takes, and its processor time, in milliseconds."""
    before, start = children_ms(), time.perf_counter()
    done = subprocess.run([sys.executable, "-m", MAIN, *args], env=base_environment(), check=False, capture_output=True)
    elapsed = (time.perf_counter() - start) * 1e3
    if done.returncode != 0:
        raise click.ClickException(f"cannery {' '.join(args)}:\n{done.stderr.decode(errors='replace')}")
    return elapsed, children_ms() - before
