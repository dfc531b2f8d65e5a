"""The group that runs the same program under every tool: what a call costs there, and what it leaves."""

import shutil
from pathlib import Path
from typing import Final, NamedTuple

from cannery.tools.bench.bench import Bench
from cannery.tools.bench.peers import TOOLS, Cannery, Nothing, Tool, Unrecorded, stored
from cannery.tools.bench.programs import compile_stub


class Workload(NamedTuple):
    """One of the four loops: ``args`` for so many ``units`` (calls, or iterations of the training loop)."""

    letter: str
    what: str
    args: tuple[str, ...]
    units: int
    bytes_limit: float | None = None


WORKLOADS: Final = (
    Workload("a", "record loop", ("record",), 400_000, 9.0),
    Workload("b", "training loop, 4 streams", ("train", "1"), 8_000, 14.0),
    Workload("c", "training loop, 8 threads", ("train", "8"), 1_000),
    Workload("d", "query loop", ("queries",), 400_000),
)
_LEAST: Final = {"record": 2000, "queries": 2000, "train": 20}


def measure(bench: Bench) -> None:
    """All workloads under all tools, in turns."""
    stub = compile_stub(bench.folder)
    tools: list[Tool] = []
    for kind in TOOLS:
        tool = kind(bench, stub)
        missing = tool.missing()
        if missing is None:
            tools.append(tool)
            bench.versions[tool.name] = tool.version
        else:
            bench.note(missing)
    try:
        for workload in WORKLOADS:
            bench.in_turns({tool.name: _Loop(bench, tool, workload) for tool in tools}, "ns")
        bench.in_turns({tool.name: _Start(bench, tool) for tool in tools}, "ms", max(9, bench.rounds))
    finally:
        for tool in tools:
            tool.close()
    _add_rows(bench)


class _Loop:
    """Runs one workload under one tool."""

    def __init__(self, bench: Bench, tool: Tool, workload: Workload) -> None:
        self._bench, self._tool, self._workload = bench, tool, workload

    def __call__(self) -> dict[str, float]:
        name, *numbers = self._workload.args
        units = max(int(self._workload.units * self._tool.share), _LEAST[name])
        trace = self._bench.trace()
        figures = self._tool.run([name, *numbers, str(units)], trace).figures
        letter = self._workload.letter
        found = {
            f"{letter}/call": figures.get("median", figures["mean"]),
            f"{letter}/mean": figures["mean"],
            f"memory/{letter}": figures["memory"],
        }
        if trace.exists():
            found[f"memory/{letter}/trace"] = stored(trace) / figures["calls"]
            _remove(trace)
        return found


class _Start:
    """Runs a program that makes one call."""

    def __init__(self, bench: Bench, tool: Tool) -> None:
        self._bench, self._tool = bench, tool

    def __call__(self) -> dict[str, float]:
        trace = self._bench.trace()
        elapsed = self._tool.run(["once"], trace).milliseconds
        _remove(trace)
        return {"start": elapsed}


def _remove(trace: Path) -> None:
    if trace.is_dir():
        shutil.rmtree(trace)
    else:
        trace.unlink(missing_ok=True)


def _add_rows(bench: Bench) -> None:
    for workload in WORKLOADS:
        cost = bench.least(f"{Cannery.name}/{workload.letter}/call")
        bench.add(f"({workload.letter}) {workload.what}: a recorded call", cost, "ns")
        added = bench.difference(f"{Cannery.name}/{workload.letter}/call", f"{Unrecorded.name}/{workload.letter}/call")
        bench.add(f"({workload.letter}) {workload.what}: what recording adds to a call", added, "ns")
        size = bench.median(f"{Cannery.name}/memory/{workload.letter}/trace")
        bench.add(
            f"({workload.letter}) {workload.what}: bytes a call, sealed, without payloads",
            size,
            "B",
            most=workload.bytes_limit,
        )
    later = bench.difference(f"{Cannery.name}/start", f"{Nothing.name}/start")
    bench.add("a program that makes one call, recorded: later than the bare one", later, "ms", most=80)
