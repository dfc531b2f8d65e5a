"""Calls and functions of the program that had not ended where a trace ends."""

from pathlib import Path

from cannery.recorder.bundle import Bundle
from cannery.recorder.records import Errand, Invoke
from cannery.recorder.seal import finish
from cannery.replayer.printer import Printer
from cannery.replayer.unfinished import Unfinished
from tests import scenarios
from tests.live import SCHEMA


def test_what_ran_at_the_end_of_a_trace_is_named() -> None:
    live = scenarios.functions()
    whole = live.records
    endings = {}
    for length in range(len(whole) + 1):
        unfinished = Unfinished()
        for record in whole[:length]:
            unfinished.note(record)
        endings[length] = unfinished.lines(Printer(SCHEMA, bare=True))
        assert live.replay(whole[:length]).unfinished.lines(Printer(SCHEMA, bare=True)) == endings[length]
    assert endings[len(whole)] == []
    deepest = max(endings.values(), key=len)
    assert deepest == [
        "T2 aclrtProcessReport(timeout=1000) waits",
        "T2 runs function#5(null)",
        "T2 aclrtProcessReport(timeout=1000) waits",
        "T2 runs function#6(set)",
    ]
    assert any("W2 runs function#4(null)" in lines for lines in endings.values())


def test_a_bundle_tells_how_many_functions_run_at_its_end(tmp_path: Path) -> None:
    live = scenarios.functions()
    place = next(place for place, record in enumerate(live.records) if isinstance(record, Errand))
    begin = next(place for place, record in enumerate(live.records) if isinstance(record, Invoke) and record.worker)
    for length, running in ((len(live.records), 0), (place, 1), (begin, 0)):
        path = live.save(tmp_path / f"{length}.cann", live.records[:length])
        assert Bundle.open(path).processes[0].counts().running == running
        finish(path)
        assert Bundle.open(path).processes[0].counts().running == running
