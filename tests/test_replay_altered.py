"""Replay is no mirror: a trace in which one result was altered does not replay, and the call is named."""

from collections.abc import Iterator
from typing import Any

import pytest

from cannery.recorder.records import Call, Effect, Enter, Exit, Expire, Payload, Record
from cannery.runtime.api import MODEL
from tests import scenarios
from tests.live import SCHEMA, Live

HANDLERS = Live().machine.handlers
IMPLEMENTED = [f.name for f in MODEL.functions if HANDLERS[f.index] is not None]
LIVES = {name: scenario() for name, scenario in scenarios.ALL.items()}
# There is nothing yet that could be imported, or exported, no symbols, and no kernels.
NEVER = (
    "aclrtGetArgsFromExceptionInfo",
    "aclrtNotifyImportByKey",
    "aclrtMemExportToShareableHandle",
    "aclrtGetSymbolAddress",
    "aclrtGetSymbolSize",
)


def results() -> Iterator[tuple[str, str]]:
    """Every function with its return value and each of its outputs."""
    for name in IMPLEMENTED:
        yield name, "return value"
        for param in SCHEMA[name].outputs:
            if name not in NEVER:
                yield name, f"output {param.name}"


def other(value: Any, form: str | None) -> Any:
    """A wire value that is not ``value``, of the same form."""
    if value is None:
        return b"." if form == "bytes" else (1,) if form is not None and form.startswith("list:") else 1
    if isinstance(value, bytes):
        return value + b"."
    if isinstance(value, tuple):
        last = value[-1]
        return (*value[:-1], last + 8 if isinstance(last, int) else other(last, None))
    return value + 1


def altered(record: Call | Exit, what: str, value: Any) -> Record:
    if what == "return value":
        return record._replace(ret=value)
    place = [f"output {param.name}" for param in SCHEMA[record.function].outputs].index(what)
    return record._replace(outs=(*record.outs[:place], value, *record.outs[place + 1 :]))


def value_of(record: Call | Exit, what: str) -> Any:
    if what == "return value":
        return record.ret
    return record.outs[[f"output {param.name}" for param in SCHEMA[record.function].outputs].index(what)]


def occurrences(function: str, what: str) -> Iterator[tuple[Live, int, Call | Exit]]:
    for live in LIVES.values():
        for place, record in enumerate(live.records):
            if isinstance(record, Call | Exit) and record.function == function and getattr(record, "supported", True):
                yield live, place, record


def first_difference(live: Live, records: list[Record]) -> Any:
    replay = live.replay(records)
    assert replay.compared.differences, "the altered trace replayed as if nothing had happened"
    return replay.compared.differences[0]


@pytest.mark.parametrize(("function", "what"), [*results()])
def test_an_altered_result_is_found_at_its_call(function: str, what: str) -> None:
    written = 0
    for live, place, record in occurrences(function, what):
        value = value_of(record, what)
        written += value is not None
        form = next((param.out for param in SCHEMA[function].outputs if what == f"output {param.name}"), None)
        changes = [other(value, form)] if value is None else [other(value, form), None]
        for change in changes if what != "return value" or not isinstance(value, int) else changes[:1]:
            records = [*live.records[:place], altered(record, what, change), *live.records[place + 1 :]]
            difference = first_difference(live, records)
            assert (difference.number, difference.function, difference.what) == (record.number, function, what)
            assert difference.expected != difference.actual
    assert written, "no scenario has a call that gives this result"


def effects() -> Iterator[tuple[str, int, int]]:
    for name in ("memory", "objects", "copies_that_wait"):
        for place, record in enumerate(LIVES[name].records):
            for index, _ in enumerate(getattr(record, "effects", ())):
                yield name, place, index


def with_effects(record: Any, found: tuple[Effect, ...]) -> Any:
    return record._replace(effects=found)


@pytest.mark.parametrize(("scenario", "place", "index"), [*effects()])
def test_an_altered_effect_is_found_at_its_step(scenario: str, place: int, index: int) -> None:
    live = LIVES[scenario]
    record: Any = live.records[place]
    effect = record.effects[index]

    def differs(found: tuple[Effect, ...]) -> None:
        records = [*live.records[:place], with_effects(record, found), *live.records[place + 1 :]]
        difference = first_difference(live, records)
        assert difference.number == getattr(record, "number", None)

    before, after = record.effects[:index], record.effects[index + 1 :]
    differs(before + after)
    differs((*before, effect, effect, *after))
    differs((*before, effect._replace(kind="fill" if effect.kind != "fill" else "move"), *after))
    payload = effect.payload
    if payload is not None and effect.kind != "file":  # a file is what the trace says it is
        longer = payload._replace(size=payload.size + 1, content=payload.content and payload.content + b".")
        differs((*before, effect._replace(payload=longer), *after))
        if effect.kind == "write":
            wrong = payload._replace(
                content=payload.content and bytes([payload.content[0] ^ 1]) + payload.content[1:],
                digest=payload.digest and bytes([payload.digest[0] ^ 1]) + payload.digest[1:],
            )
            differs((*before, effect._replace(payload=wrong), *after))


def test_an_effect_where_there_was_none_is_found() -> None:
    live = LIVES["objects"]
    for place, record in enumerate(live.records):
        if isinstance(record, Call) and record.supported and not record.effects:
            found = (Effect("write", True, Payload(4, None, b"abcd")),)
            records = [*live.records[:place], record._replace(effects=found), *live.records[place + 1 :]]
            assert first_difference(live, records).number == record.number


def test_bytes_given_to_the_device_matter() -> None:
    """Altered input bytes are no difference by themselves; what comes back from the device then is."""
    live = LIVES["memory"]
    place, record = next(
        (place, record)
        for place, record in enumerate(live.records)
        if isinstance(record, Call) and record.effects and record.effects[0].kind == "read" and record.ins[3] == 16
    )
    payload = record.effects[0].payload
    assert payload is not None
    assert payload.content is not None
    effect = record.effects[0]._replace(payload=payload._replace(content=payload.content[::-1]))
    records = [*live.records[:place], record._replace(effects=(effect,)), *live.records[place + 1 :]]
    difference = first_difference(live, records)
    assert difference.function == "aclrtMemcpy"
    assert difference.number is not None
    assert difference.number == record.number + 1
    assert "write" in difference.expected


class TestWaits:
    """The end of every wait, and the order of ends, is compared."""

    live = LIVES["waits"]

    def places(self, kind: type) -> list[int]:
        return [place for place, record in enumerate(self.live.records) if isinstance(record, kind)]

    def without(self, place: int) -> list[Record]:
        return [*self.live.records[:place], *self.live.records[place + 1 :]]

    def test_a_missing_end(self) -> None:
        for place in self.places(Exit):
            exit_: Any = self.live.records[place]
            difference = first_difference(self.live, self.without(place))
            if difference.what == "order of ends":  # two end in one step: then it is the other that came too early
                assert difference.number == exit_.number + 1
            else:
                assert (difference.number, difference.what) == (exit_.number, "end of the wait")

    def test_an_end_too_early(self) -> None:
        for enter, place in zip(self.places(Enter), self.places(Exit), strict=True):
            exit_ = self.live.records[place]
            records = self.without(place)
            records.insert(enter + 1, exit_)
            difference = first_difference(self.live, records)
            assert (difference.number, difference.what) == (exit_.number, "end of the wait")  # type: ignore[union-attr]

    def test_ends_in_another_order(self) -> None:
        first, second = self.places(Exit)[-2:]
        records = list(self.live.records)
        records[first], records[second] = records[second], records[first]
        assert first_difference(self.live, records).what == "order of ends"

    def test_a_limit_that_did_not_pass(self) -> None:
        (place,) = self.places(Expire)
        difference = first_difference(self.live, self.without(place))
        assert difference.what == "end of the wait"
        assert difference.actual == "the call still waits"

    def test_a_limit_of_a_thread_that_does_not_wait(self) -> None:
        (place,) = self.places(Expire)
        expire: Any = self.live.records[place]
        records = [*self.live.records[:place], expire._replace(thread=2), *self.live.records[place + 1 :]]
        assert first_difference(self.live, records).what == "limit of a wait"

    def test_a_call_that_did_not_wait(self) -> None:
        (place, *_) = self.places(Enter)
        enter: Any = self.live.records[place]
        call = Call(enter.number, enter.thread, enter.time, enter.function, 0, enter.ins, (), ())
        difference = first_difference(self.live, [*self.live.records[:place], call])
        assert (difference.number, difference.what, difference.actual) == (enter.number, "wait", "the call waits")

    def test_a_wait_that_was_none(self) -> None:
        place, call = next(
            (place, record)
            for place, record in enumerate(self.live.records)
            if isinstance(record, Call) and record.function == "aclrtStreamQuery"
        )
        enter = Enter(call.number, call.thread, call.time, call.function, call.ins, ())
        difference = first_difference(self.live, [*self.live.records[:place], enter])
        assert (difference.number, difference.what, difference.expected) == (call.number, "wait", "the call waits")


def test_an_altered_time_of_day_is_an_input_that_timing_results_show() -> None:
    """Time is an input: device work takes as long as it takes, so an event time moves with the time of its record."""
    live = LIVES["objects"]
    records = [
        record._replace(time=record.time + 250_000)
        if isinstance(record, Call) and record.function == "aclrtRecordEvent" and record.number < end_record(live)
        else record
        for record in live.records
    ]
    assert first_difference(live, records).function in ("aclrtEventElapsedTime", "aclrtStreamQuery")


def end_record(live: Live) -> int:
    """Number of the second record of an event."""
    found = [r.number for r in live.records if isinstance(r, Call) and r.function == "aclrtRecordEvent"]
    return found[1]
