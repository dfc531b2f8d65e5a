"""What work on traces costs: replay, reading, sealing, comparing. (Opening and seeking: see scale.)

Times are processor times: what a machine with nothing else to do takes. Files are in the page cache.
"""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.seal import finish
from cannery.tools.bench.bench import MAIN, Bench, base_environment, children_ms, processor_ms, run

_TRACES: Final = {
    "record loop": ("record", "400000"),
    "training loop": ("train", "1", "8000"),
    "query loop": ("queries", "400000"),
}


def measure(bench: Bench) -> None:
    """Replay, read, seal and compare one trace of each kind."""
    has_diff = importlib.util.find_spec("cannery.tools.commands.diff") is not None
    if not has_diff:
        bench.note("cannery diff was not measured: this version has none")
    for name, args in _TRACES.items():
        trace, unsealed, other = bench.trace(), bench.trace(), bench.trace()
        run(bench.recorded(*args, trace=trace))
        run([str(bench.program), *args], bench.preloaded(CANNERY_TRACE=str(unsealed)))  # nobody seals it
        with Bundle.open(trace) as bundle:
            counts = bundle.processes[0].counts()
        ways: dict[str, Callable[[], dict[str, float]]] = {
            "replay": partial(_timed, name, partial(_replay, trace)),
            "read": partial(_timed, name, partial(_read, trace)),
            "seal": partial(_seal, name, unsealed, bench.trace()),
        }
        if has_diff:
            run(bench.recorded(*args, trace=other))
            ways["diff"] = partial(_diff, name, trace, other)
        bench.in_turns(ways, "ms")
        bench.add(f"replay of the {name}", counts.calls / bench.least(f"replay/{name}"), "k calls/s", least=500)
        bench.add(f"reading the {name}", counts.records / bench.least(f"read/{name}"), "k records/s", least=400)
        bench.add(f"sealing the {name}", counts.records / bench.least(f"seal/{name}"), "k records/s")
        if has_diff:
            bench.add(f"diff of two runs of the {name}", counts.calls / bench.least(f"diff/{name}"), "k calls/s")


def _timed(name: str, work: Callable[[], object]) -> dict[str, float]:
    return {name: processor_ms(work)}


def _replay(trace: Path) -> None:
    from cannery.replayer.process import replay_process

    with Bundle.open(trace) as bundle:
        if replay_process(bundle, bundle.processes[0]).total:
            raise AssertionError("the recorded workload does not replay")


def _read(trace: Path) -> None:
    with Bundle.open(trace) as bundle:
        for _ in bundle.processes[0].records():
            pass


def _seal(name: str, unsealed: Path, copy: Path) -> dict[str, float]:
    shutil.copytree(unsealed, copy, ignore=shutil.ignore_patterns(format.PACK))
    figures = _timed(name, partial(finish, copy))
    shutil.rmtree(copy)
    return figures


def _diff(name: str, trace: Path, other: Path) -> dict[str, float]:
    """The whole command, its start included."""
    command = [sys.executable, "-m", MAIN, "diff", str(trace), str(other)]
    before = children_ms()
    subprocess.run(command, env=base_environment(), check=False, capture_output=True)
    return {name: children_ms() - before}
