"""What must not grow: with the number of calls, with what is live, with who waits."""

import shutil
from functools import partial
from pathlib import Path
from typing import Final

from cannery.recorder.bundle import Bundle
from cannery.tools.bench.bench import Bench, processor_ms, run
from cannery.tools.bench.peers import stored

COUNTS: Final = (100_000, 1_000_000, 10_000_000)
_SEEKS: Final = (0.0, 0.1, 0.33, 0.5, 0.77, 0.999)
_LIVE: Final = {
    "10 events": (10, 0, 0),
    "1,000 events": (1000, 0, 0),
    "60,000 events": (60_000, 0, 0),
    "10,000 allocations": (10, 10_000, 0),
    "16 waiting threads": (10, 0, 16),
}


def many(bench: Bench) -> None:
    """Traces of 10^5, 10^6 and 10^7 calls: cost of a call, memory of the program, size, time to open and to seek."""
    for count in COUNTS:
        name = f"10^{len(str(count)) - 1} calls"
        trace = bench.trace()
        bench.in_turns({name: partial(_record, bench, count, trace)}, "ns", 1)
        bench.in_turns({name: partial(_open_and_seek, trace)}, "ms", max(3, bench.rounds))
        shutil.rmtree(trace)
        last = count == COUNTS[-1]
        bench.add(f"{name}: the last tenth of the calls, each", bench.least(f"{name}/last_tenth"), "ns")
        bench.add(f"{name}: memory of the program at the end", bench.median(f"{name}/memory/end") / 1e6, "MB")
        bench.add(f"{name}: bytes a call, sealed", bench.median(f"{name}/memory/trace"), "B")
        bench.add(f"{name}: open", bench.median(f"{name}/open"), "ms", most=100 if last else None)
        bench.add(f"{name}: seek, the slowest", bench.median(f"{name}/seek"), "ms", most=300 if last else None)
    first, last_name = (f"10^{len(str(count)) - 1} calls" for count in (COUNTS[0], COUNTS[-1]))
    bench.add("last tenth of 10^7 calls / of 10^5", bench.ratio(f"{last_name}/last_tenth", f"{first}/last_tenth"), "",
              most=1.3)  # fmt: skip
    grown = bench.difference(f"{last_name}/memory/end", f"{first}/memory/end") / 1e6
    bench.add("memory at the end of 10^7 calls: more than of 10^5", grown, "MB", most=8)


def _record(bench: Bench, count: int, trace: Path) -> dict[str, float]:
    figures = run(bench.recorded("many", str(count), trace=trace)).figures
    return {**figures, "memory/trace": stored(trace) / figures["calls"]}


def _open_and_seek(trace: Path) -> dict[str, float]:
    """``open``: until the totals are known; ``seek``: until the record of a call is there, for the slowest of some."""

    def open_trace() -> None:
        with Bundle.open(trace) as bundle:
            bundle.processes[0].counts()

    with Bundle.open(trace) as bundle:
        stream = bundle.processes[0]
        calls = stream.counts().calls
        seeks = [processor_ms(partial(next, stream.records(int(at * calls)))) for at in _SEEKS]
    return {"open": processor_ms(open_trace), "seek": max(seeks)}


def live(bench: Bench) -> None:
    """Cost of a call while many events or allocations are live, or threads wait, against few and none."""

    def record(*numbers: int) -> dict[str, float]:
        return run(bench.recorded("live", *map(str, numbers))).figures

    bench.in_turns({name: partial(record, *numbers) for name, numbers in _LIVE.items()}, "ns")
    least = next(iter(_LIVE))
    for call in ("record", "query", "allocation"):
        bench.add(f"{call} with {least}", bench.least(f"{least}/{call}"), "ns")
        for name in list(_LIVE)[1:]:
            ratio = bench.ratio(f"{name}/{call}", f"{least}/{call}")
            most = None if name.endswith("threads") else 1.3
            bench.add(f"{call} with {name} / with {least}", ratio, "", most=most)
    pairs = {f"{count:,} live": partial(_in_any_order, bench, count) for count in (10, 10_000)}
    bench.in_turns(pairs, "ns")
    ratio = bench.ratio("10,000 live/pair", "10 live/pair")
    bench.add("free and malloc in random order with 10,000 allocations / with 10", ratio, "", most=1.3)


def _in_any_order(bench: Bench, count: int) -> dict[str, float]:
    return run(bench.recorded("allocations", str(count))).figures


def waiting(bench: Bench) -> None:
    """What a wait costs, and how soon it ends."""
    bench.in_turns(
        {
            "one": lambda: run(bench.recorded("waiting", "2000")).figures,
            "sixteen": lambda: run(bench.recorded("wake", "16", "50")).figures,
        },
        "ns",
        min(3, bench.rounds),
    )
    used = bench.median("one/waiting/processor") / 1e6
    bench.add("processor time of the whole process while a thread waits for 2 s", used, "ms", most=1)
    last, whole = (bench.median(f"sixteen/wake/{name}") / 1e3 for name in ("last", "whole"))
    bench.add("16 waiting threads: the last goes on, after the releasing call returned", last, "µs", most=1000)
    bench.add("16 waiting threads: the last goes on, after the releasing call began", whole, "µs")


def sharing(bench: Bench) -> None:
    """How soon a process goes on that waits for a notify of another one."""
    ways = {
        "recorded": lambda: run(bench.recorded("handovers", "1000")).figures,
        "not recorded": lambda: run(bench.unrecorded("handovers", "1000")).figures,
    }
    bench.in_turns(ways, "ns", min(3, bench.rounds))
    for name in ways:
        for part, most in (("median", 200), ("p99", None)):
            late = bench.median(f"{name}/handover/{part}") / 1e3
            bench.add(f"another process goes on after the record call, {part}, {name}", late, "µs", most=most)
