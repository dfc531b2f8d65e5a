"""A trace replays to the same results: under every schedule and payload policy, finished or not."""

import gc

import pytest

from cannery.recorder.records import Call, Enter, Exit
from cannery.replayer.replay import ReplayError
from cannery.replayer.stores import Budget, ReplayStore
from cannery.runtime.api import MODEL
from cannery.runtime.memory import DEVICE_SPAN
from cannery.runtime.settings import Settings
from tests import scenarios
from tests.fake_session import PROCESS
from tests.live import Live


@pytest.mark.parametrize("scenario", scenarios.ALL.values(), ids=scenarios.ALL)
def test_a_replay_is_the_same(scenario: "type[Live]") -> None:
    live = scenario()
    replay = live.replay()
    assert replay.compared.differences == []
    assert replay.calls == live.calls


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:1", "seed:2", "seed:3"])
@pytest.mark.parametrize("scenario", [scenarios.objects, scenarios.memory], ids=["objects", "memory"])
def test_a_replay_is_the_same_under_every_schedule(scenario: "type[Live]", schedule: str) -> None:
    live = scenario(Settings(devices=2, schedule=schedule))  # type: ignore[call-arg]
    assert live.replay().compared.differences == []


@pytest.mark.parametrize("policy", ["input", "full", "hash", "none"])
def test_a_trace_without_payloads_replays_what_it_can(policy: str) -> None:
    replay = scenarios.memory(policy=policy).replay()
    assert replay.compared.differences == []
    assert (replay.port.unverified > 0) == (policy in ("hash", "none"))


def test_a_trace_that_ends_anywhere_replays_to_there() -> None:
    live = scenarios.waits()
    for length in range(len(live.records)):
        replay = live.replay(live.records[:length])
        assert [d for d in replay.compared.differences if d.what != "end of the wait"] == []


def test_calls_that_still_wait_at_the_end_are_in_flight() -> None:
    live = scenarios.waits()
    end = next(place for place, record in enumerate(live.records) if isinstance(record, Exit))
    replay = live.replay(live.records[: end - 1])
    assert [(enter.thread, enter.function) for enter in replay.in_flight] == [(1, "aclrtSynchronizeStreamWithTimeout")]


def test_the_scenarios_use_every_implemented_function() -> None:
    used = {
        record.function
        for scenario in scenarios.ALL.values()
        for record in scenario().records
        if isinstance(record, Call | Enter) and getattr(record, "supported", True)
    }
    handlers = Live().machine.handlers
    assert [f.name for f in MODEL.functions if handlers[f.index] is not None and f.name not in used] == []


def test_work_that_is_due_runs_at_an_unsupported_call_as_at_any_other() -> None:
    live = scenarios.selected()
    pinned, device = live.create("aclrtMallocHost", 64), live.create("aclrtMalloc", 64, 0)
    live.ok("aclrtMemcpyAsync", device, 64, pinned, 64, scenarios.HOST_TO_DEVICE, 0)
    live.call("aclplatformGetDeviceInfo", 0, 0, 0, after=50_000_000)
    last = live.records[-1]
    assert isinstance(last, Call)
    assert [effect.kind for effect in last.effects] == ["read"]
    live.ok("aclrtGetDevice", 1)
    assert live.replay().compared.differences == []


def test_a_call_that_is_implemented_now_is_reported_and_not_executed() -> None:
    live = scenarios.selected()
    live.ok("aclrtGetDevice", 1)
    last = live.records[-1]
    assert isinstance(last, Call)
    records = [*live.records[:-1], last._replace(ret=207000, outs=(None,), supported=False)]
    replay = live.replay(records)
    assert replay.compared.differences == []
    assert replay.supported_now == {"aclrtGetDevice": 1}


def test_a_call_that_is_not_implemented_here_cannot_be_replayed() -> None:
    live = scenarios.unsupported()
    place, call = next((p, r) for p, r in enumerate(live.records) if isinstance(r, Call) and not r.supported)
    with pytest.raises(ReplayError, match="call #2: this version has no aclplatformGetDeviceInfo"):
        live.replay([*live.records[:place], call._replace(supported=True)])


def test_an_unknown_function_cannot_be_replayed() -> None:
    live = scenarios.selected()
    last = live.records[-1]
    assert isinstance(last, Call)
    with pytest.raises(ReplayError, match="aclrtFromTheFuture is no function that this version knows"):
        live.replay([*live.records, last._replace(function="aclrtFromTheFuture")])


def test_a_trace_has_one_name_for_a_process_wherever_it_occurs() -> None:
    live = Live(Settings(acl_api="1.17"))
    live.call("aclrtSnapShotProcessLock", PROCESS + 1, 0)
    live.ok("aclrtSetDevice", 0)
    own = live.create("aclrtDeviceGetBareTgid")
    live.ok("aclrtSnapShotProcessLock", own, 0)
    foreign, _, told, lock = (record for record in live.records if isinstance(record, Call))
    assert [foreign.ins[0], told.outs[0], lock.ins[0]] == [2, 1, 1]
    assert live.replay().compared.differences == []


def test_one_process_can_replay_any_number_of_processes() -> None:
    """The addresses that it has are enough for 256 devices; what a replay leaves is a cycle."""
    budget = Budget(1 << 40)
    gc.disable()
    try:
        for _ in range(300):
            left: list[object] = [ReplayStore(DEVICE_SPAN, budget)]
            left.append(left)
    finally:
        gc.enable()
