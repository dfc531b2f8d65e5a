"""Replay of kernels: what models wrote comes from the trace, and is computed again only when models are given."""

from typing import Any

import pytest

from cannery.recorder.records import Call, Effect, Record
from cannery.runtime.models import In, Launched, Out, Scalar, kernel
from cannery.runtime.models.load import Models
from tests import scenarios_kernels
from tests.kernel_tools import block, models
from tests.live import Live
from tests.scenarios_kernels import FLOATS, SIZE, TO_HOST, found, loaded, opened, upload

LIVES = {name: scenario() for name, scenario in scenarios_kernels.ALL.items()}


@pytest.mark.parametrize("name", [*LIVES])
def test_without_models_the_recorded_bytes_are_taken(name: str) -> None:
    replay = LIVES[name].replay()
    assert replay.compared.differences == []
    assert (replay.port.rerun, replay.port.not_rerun, replay.port.unverified) == (0, {}, 0)


@pytest.mark.parametrize("name", [*LIVES])
def test_with_models_they_run_again(name: str) -> None:
    live = LIVES[name]
    replay = live.replay(models=live.host.models)
    assert replay.compared.differences == []
    runs = [effect for record in live.records for effect in getattr(record, "effects", ()) if effect.kind == "kernel"]
    assert replay.port.rerun == len(runs)


@kernel("add", In("float32", "n"), In("float32", "n"), Out("float32", "n"), Scalar("uint32"))
def wrong(launch: Launched, x: Any, y: Any, z: Any, n: int) -> None:
    z[:] = x - y


@kernel("double", Out("int32"))
def failing(launch: Launched, x: Any) -> None:
    raise ValueError("other code")


def test_a_model_that_computes_something_else_is_found_at_its_launch() -> None:
    live = LIVES["launches"]
    replay = live.replay(models=Models([wrong]), keep_going=True)
    first = replay.compared.differences[0]
    assert first.what.startswith("effect")
    assert first.expected == "what the model of add wrote"
    assert "element 0 of z" in first.actual
    assert {difference.actual.split()[0] for difference in replay.compared.differences} == {"element"}
    assert replay.port.not_rerun == {"double": 5}


def test_one_that_fails_now_too() -> None:
    replay = LIVES["launches"].replay(models=Models([failing]))
    assert "it fails: its model" in replay.compared.differences[0].actual


def test_one_that_failed_then_and_does_not_now() -> None:
    @kernel("raises", Out("int32", 4), Scalar("uint32"))
    def quiet(launch: Launched, x: Any, n: int) -> None:
        x[:] = 1

    live = LIVES["kernel_failures"]
    replay = live.replay(models=Models([quiet]), keep_going=True)
    assert {difference.actual for difference in replay.compared.differences} == {"it does not fail"}


def parts(live: Live) -> list[tuple[int, int, Effect]]:
    """Place of record and effect of everything that a kernel wrote."""
    return [
        (place, index, effect)
        for place, record in enumerate(live.records)
        for index, effect in enumerate(getattr(record, "effects", ()))
        if effect.kind == "wrote"
    ]


def altered(live: Live, place: int, index: int, *instead: Effect) -> list[Record]:
    record: Any = live.records[place]
    effects = (*record.effects[:index], *instead, *record.effects[index + 1 :])
    return [*live.records[:place], record._replace(effects=effects), *live.records[place + 1 :]]


def test_altered_bytes_are_seen_when_they_come_back_and_at_once_with_models() -> None:
    live = LIVES["launches"]
    place, index, effect = parts(live)[0]
    assert effect.payload is not None
    content = live.host.content(effect.payload)
    assert content is not None
    payload = effect.payload._replace(digest=None, content=bytes((content[0] ^ 0x40,)) + content[1:])
    records = altered(live, place, index, effect._replace(payload=payload))
    (difference,) = live.replay(records).compared.differences
    assert difference.function == "aclrtMemcpy"
    assert "write of" in difference.expected
    (difference,) = live.replay(records, models=models()).compared.differences
    assert difference.record is records[place]


@pytest.mark.parametrize("change", ["missing", "elsewhere", "beyond"])
def test_a_range_that_cannot_be_what_a_kernel_wrote(change: str) -> None:
    live = LIVES["launches"]
    place, index, effect = parts(live)[0]
    instead = {
        "missing": (),
        "elsewhere": (effect._replace(place=24),),
        "beyond": (effect._replace(offset=1 << 40),),
    }[change]
    replay = live.replay(altered(live, place, index, *instead))
    assert replay.compared.differences[0].record is not None
    assert replay.compared.differences[0].number == live.records[place].number  # type: ignore[union-attr]


def test_a_trace_that_says_there_was_no_model_where_a_kernel_ran() -> None:
    live = LIVES["launches"]
    place, record = next(
        (place, record)
        for place, record in enumerate(live.records)
        if isinstance(record, Call) and record.function == "aclrtBinaryGetFunction" and record.effects[-1].ok
    )
    records = altered(live, place, len(record.effects) - 1, Effect("model", False))
    difference = live.replay(records).compared.differences[0]
    assert difference.what.startswith("effect")
    assert "kernel" in difference.expected


@pytest.mark.parametrize("policy", ["hash", "none"])
@pytest.mark.parametrize("given", [False, True])
def test_a_trace_without_payloads_replays_what_it_can(policy: str, given: bool) -> None:
    live = scenarios_kernels.launches(policy)
    replay = live.replay(models=models() if given else None)
    assert replay.compared.differences == []
    assert replay.port.unverified > 0
    assert replay.port.rerun == 0


def test_a_what_if_runs_kernels_at_other_times() -> None:
    live = LIVES["launches"]
    replay = live.replay(what_if=live.settings._replace(schedule="late"), models=models())
    assert replay.calls == live.calls


def test_strict_is_a_setting_of_the_trace() -> None:
    live = opened(strict=True)
    kernel_of = found(live, loaded(live), b"unknown")
    assert live.call("aclrtLaunchKernelWithHostArgs", kernel_of, 1, 0, None, block(0), 8, None, 0) == 207000
    assert live.replay().compared.differences == []
    loose = live.replay(what_if=live.settings._replace(strict=False))
    assert [difference.what for difference in loose.compared.differences] == ["return value"]


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:4"])
def test_many_streams_and_schedules(schedule: str) -> None:
    live = opened(schedule=schedule)
    binary = loaded(live)
    first, double = found(live, binary, b"add"), found(live, binary, b"double")
    streams = [live.create("aclrtCreateStream") for _ in range(3)]
    memories = [upload(live, bytes(range(start, start + SIZE))) for start in (0, 64, 128)]
    for turn in range(12):
        stream, x, y, z = streams[turn % 3], *(memories[(turn + each) % 3] for each in range(3))
        arguments = block(x, y, z, number=FLOATS)
        if turn % 2:
            live.ok("aclrtLaunchKernelWithHostArgs", double, 1, stream, None, block(x), 8, None, 0)
        else:
            live.ok("aclrtLaunchKernelWithHostArgs", first, 1, stream, None, arguments, len(arguments), None, 0)
        if turn % 5 == 4:
            live.ok("aclrtMemcpy", live.host.put(8192, b""), SIZE, x, SIZE, TO_HOST)
    live.pace(after=200_000_000)
    live.ok("aclrtSynchronizeDevice")
    for memory in memories:
        live.ok("aclrtMemcpy", live.host.put(8192, b""), SIZE, memory, SIZE, TO_HOST)
    assert live.replay().compared.differences == []
    assert live.replay(models=live.host.models).compared.differences == []


@pytest.mark.parametrize("more", [1, 1 << 40])
def test_a_kernel_that_claims_more_than_it_wrote_differs_once(more: int) -> None:
    live = LIVES["launches"]
    place, _, _ = parts(live)[0]
    record: Any = live.records[place]
    index = next(index for index, effect in enumerate(record.effects) if effect.kind == "kernel")
    claims = record.effects[index]._replace(parts=len(record.effects) - index - 1 + more)
    replay = live.replay(altered(live, place, index, claims), keep_going=True)
    differences = [(found.expected, found.actual) for found in replay.compared.differences]
    assert differences == [("what a kernel wrote", "nothing")]
