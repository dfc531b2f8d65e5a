"""Functions of the program: that they are run, with what, in which order, and what a call makes of what they return."""

from collections.abc import Iterator
from typing import Any

import pytest

from cannery.recorder.records import Enter, Errand, Exit, Invoke, Record, Returned
from cannery.replayer.printer import Printer
from cannery.runtime.calls.registry import HANDLERS
from cannery.runtime.errors import Refused
from cannery.runtime.invoke import Errand as Asked
from cannery.runtime.invoke import Invoke as Function
from cannery.runtime.waits import Then
from tests import scenarios
from tests.live import SCHEMA, Live

CALLBACK = 0x5555_0000_1000
LAUNCH = "aclrtLaunchCallback"


class Second(Then):
    """The call has another function run, after one that returned 0."""

    def __init__(self, thread: Any, function: int) -> None:
        self.thread = thread
        self.function = function

    def take(self, machine: Any, value: int) -> Any:
        if value:
            raise Refused(500000, "the function said no")
        return machine.invoke(self.thread, LAUNCH, Function(self.function, (0, 64), "ptr(ptr,size)"), Last())


class Last(Then):
    """The call ends."""

    def take(self, machine: Any, value: int) -> Any:
        return 0 if value else 207001


@pytest.fixture(autouse=True)
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A function of the API that has functions of the program run: by its thread, or by a worker."""

    def launch(machine: Any, thread: Any, function: int, data: int, block: int, stream: int) -> Any:
        if not block:
            machine.errands.append(Asked(1, Function(function, (data,), "void(ptr)")))
            return 0

        return machine.invoke(thread, LAUNCH, Function(function, (3, data), "u32(i32,ptr)"), Second(thread, function))

    monkeypatch.setitem(HANDLERS, LAUNCH, launch)
    yield


def launch(live: Live, block: int = 1, thread: int = 1) -> None:
    live.call(LAUNCH, CALLBACK, 0x10, block, 0, thread=thread)


def recorded() -> Live:
    live = scenarios.selected()
    launch(live)
    live.ok("aclrtGetRunMode", 1)  # the function itself calls the runtime
    live.returned(1, 0)
    launch(live, block=0, thread=2)  # another thread has a worker run something meanwhile
    live.returned(1, 0x2000_0000_0400)
    live.errand_done(1)
    launch(live)
    live.returned(1, 7)
    live.call("aclrtPeekAtLastError", 0)
    return live


def difference(live: Live, records: list[Record]) -> Any:
    found = live.replay(records).compared.differences
    assert found, "the altered trace replayed as if nothing had happened"
    return found[0]


def altered(live: Live, kind: type, place: int, **fields: Any) -> list[Record]:
    """The records with the ``place``-th of a kind altered, or taken out when there are no ``fields``."""
    records: list[Any] = list(live.records)
    index = [at for at, record in enumerate(records) if isinstance(record, kind)][place]
    if fields:
        records[index] = records[index]._replace(**fields)
    else:
        del records[index]
    return records


def test_what_functions_return_is_an_input_and_the_rest_replays() -> None:
    live = recorded()
    kinds = [type(record) for record in live.records if not hasattr(record, "supported")]
    assert kinds == [Enter, Invoke, Returned, Invoke, Invoke, Returned, Exit, Errand, Enter, Invoke, Returned, Exit]
    assert [record.ret for record in live.records if isinstance(record, Exit)] == [0, 500000]
    replay = live.replay()
    assert replay.compared.differences == []
    assert replay.calls == live.calls


def test_a_call_inside_a_function_of_the_program_is_a_call_of_its_own() -> None:
    live = scenarios.selected()
    launch(live)
    launch(live)  # by the function: nested on the same thread
    live.returned(1, 5)
    live.returned(1, 6)
    assert [record.number for record in live.records if isinstance(record, Exit)] == [3, 2]
    assert live.replay().compared.differences == []


@pytest.mark.parametrize(
    "fields",
    [{"function": 2}, {"signature": "void(ptr)", "args": (True,)}, {"args": (4, True)}, {"args": (3, False)}],
)
def test_what_is_run_and_with_what_is_compared(fields: dict[str, Any]) -> None:
    live = recorded()
    found = difference(live, altered(live, Invoke, 0, **fields))
    assert (found.number, found.what) == (2, "function of the program")


def test_another_value_gives_another_result() -> None:
    live = recorded()
    found = difference(live, altered(live, Returned, 1, value=(0, 0)))
    assert (found.number, found.what, found.actual) == (2, "return value", "207001 ACL_ERROR_RT_MEMORY_ALLOCATION")


def test_missing_and_needless_functions_are_found() -> None:
    live = recorded()
    assert difference(live, altered(live, Invoke, 0)).what == "function of the program"
    assert difference(live, altered(live, Invoke, 1)).what == "function of the program"
    errand = difference(live, altered(live, Invoke, 2))
    assert (errand.what, errand.actual) == ("function of the program", "worker 1 runs one")
    assert difference(live, altered(live, Invoke, 2, worker=2)).what == "function of the program"
    needless = [*live.records, Invoke(None, None, 1, 1, "void(ptr)", (True,))]
    assert difference(live, needless).actual == "it runs none"
    again = altered(live, Exit, 0)
    assert difference(live, again).what == "end of the wait"


def test_how_they_are_printed() -> None:
    printer = Printer(SCHEMA)
    shown = [printer.line(record) for record in recorded().records if isinstance(record, Invoke | Returned | Errand)]
    assert shown[:5] == [
        "#2 T1 runs function#1(3, set)",
        "#2 T1 +0.005ms function returned 0",
        "#2 T1 runs function#1(null, 64)",
        "W1 runs function#1(set)",
        "#2 T1 +0.007ms function returned 1024",
    ]
