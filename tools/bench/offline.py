"""What work on traces costs: replay, reading, sealing, comparing. (Opening and seeking: see scale.)

Times are processor times: what a machine with nothing else to do takes. Those of commands have the start taken off,
which is what the command takes for a trace of one call. Files are in the page cache.
"""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import click

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.seal import finish
from cannery.tools.bench.bench import MAIN, Bench, base_environment, children_ms, processor_ms, run

_TRACES: Final = {
    "record loop": ("record", "400000"),
    "training loop": ("train", "1", "16000"),
    "query loop": ("queries", "400000"),
}


def measure(bench: Bench) -> None:
    """Replay, read, seal and compare one trace of each kind."""
    has_diff = importlib.util.find_spec("cannery.tools.commands.diff") is not None
    if not has_diff:
        bench.note("cannery diff was not measured: this version has none")
    empty = bench.trace()
    run(bench.recorded("once", trace=empty))
    for name, args in _TRACES.items():
        trace, unsealed, other = bench.trace(), bench.trace(), bench.trace()
        run(bench.recorded(*args, trace=trace))
        run([str(bench.program), *args], bench.preloaded(CANNERY_TRACE=str(unsealed)))  # nobody seals it
        with Bundle.open(trace) as bundle:
            counts = bundle.processes[0].counts()
        ways: dict[str, Callable[[], dict[str, float]]] = {
            "replay": partial(_command, name, "replay", trace),
            "replay of one call": partial(_command, name, "replay", empty),
            "read": partial(_timed, name, partial(_read, trace)),
            "seal": partial(_seal, name, unsealed, bench.trace()),
        }
        for verb in ("show", "stats"):
            ways[verb] = partial(_command, name, verb, trace)
            ways[f"{verb} of one call"] = partial(_command, name, verb, empty)
        if has_diff:
            run(bench.recorded(*args, trace=other))
            ways["diff"] = partial(_command, name, "diff", trace, other)
            ways["diff of one call"] = partial(_command, name, "diff", empty, empty)
        bench.in_turns(ways, "ms")
        speed = counts.calls / bench.difference(f"replay/{name}", f"replay of one call/{name}")
        bench.add(f"replay of the {name}", speed, "k calls/s", least=500)
        if has_diff:
            speed = counts.calls / bench.difference(f"diff/{name}", f"diff of one call/{name}")
            bench.add(f"diff of two runs of the {name}", speed, "k calls/s", least=34)
        for verb in ("show", "stats"):
            speed = counts.calls / bench.difference(f"{verb}/{name}", f"{verb} of one call/{name}")
            bench.add(f"{verb} of the {name}", speed, "k calls/s", least=150)
        bench.add(f"reading the {name}", counts.records / bench.least(f"read/{name}"), "k records/s", least=400)
        bench.add(f"sealing the {name}", counts.records / bench.least(f"seal/{name}"), "k records/s")


def _command(name: str, verb: str, *traces: Path) -> dict[str, float]:
    """What a command takes, its start included."""
    before = children_ms()
    command = [sys.executable, "-m", MAIN, verb, *map(str, traces)]
    done = subprocess.run(command, env=base_environment(), check=False, capture_output=True, text=True)
    if verb == "replay" and done.returncode != 0:
        raise click.ClickException(f"the recorded workload does not replay:\n{done.stdout}{done.stderr}")
    return {name: children_ms() - before}


def _timed(name: str, work: Callable[[], object]) -> dict[str, float]:
    return {name: processor_ms(work)}


def _read(trace: Path) -> None:
    with Bundle.open(trace) as bundle:
        for _ in bundle.processes[0].records():
            pass


def _seal(name: str, unsealed: Path, copy: Path) -> dict[str, float]:
    shutil.copytree(unsealed, copy, ignore=shutil.ignore_patterns(format.PACK))
    figures = _timed(name, partial(finish, copy))
    shutil.rmtree(copy)
    return figures
