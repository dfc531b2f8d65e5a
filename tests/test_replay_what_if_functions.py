"""Replay under other settings may run functions of the program earlier or later than they were, or not at all."""

from typing import Any

import pytest

from cannery.runtime.settings import Settings
from tests.fakes import ident
from tests.live import OUT, Live
from tests.scenarios import BLOCK, FUNCTION, functions, selected


def differences(live: Live, **changes: Any) -> list[tuple[str, str, str]]:
    found = live.replay(what_if=live.settings._replace(**changes)).compared.differences
    return [(difference.what, difference.expected, difference.actual) for difference in found]


def hosted(schedule: str) -> Live:
    """A host function that has run before anybody waits for its stream."""
    live = selected(Settings(devices=2, schedule=schedule))
    stream = live.create("aclrtCreateStream")
    live.ok("aclrtLaunchHostFunc", stream, FUNCTION, 0)
    live.pace(after=200_000_000)
    live.errand_done(1)
    live.ok("aclrtLaunchHostFunc", stream, FUNCTION, 0)
    live.pace(after=1_000_000)
    live.call("aclrtSynchronizeStream", stream)
    live.errand_done(1)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtStreamQuery", stream, OUT)
    return live


@pytest.mark.parametrize("schedule", ["late", "seed:3"])
def test_a_host_function_that_is_asked_for_later_returns_what_it_returned(schedule: str) -> None:
    assert differences(hosted("asap"), schedule=schedule) == []


def test_a_host_function_may_be_asked_for_earlier() -> None:
    assert differences(hosted("late"), schedule="asap") == []


def test_one_that_is_not_asked_for_at_all_is_reported() -> None:
    live = hosted("asap")
    live.ok("aclrtLaunchHostFunc", 0, FUNCTION, 0)
    live.pace(after=1_000_000)
    live.errand_done(1)
    live.ok("aclrtResetDevice", 0)  # under the other schedule the work is lost
    assert differences(live, schedule="late") == [("function of the program", "worker 1 runs one", "it runs none")]


def test_a_thread_that_runs_what_it_did_not_run_goes_on() -> None:
    """A function of a stream that had failed in the trace, say: here it is run, and returns nothing."""
    live = selected()
    stream = live.create("aclrtCreateStream")
    live.ok("aclrtSubscribeReport", ident(1), stream)
    live.ok("aclrtLaunchCallback", FUNCTION, 0, BLOCK, stream)
    place = len(live.records)
    live.call("aclrtProcessReport", 10)
    live.returned(1, 0)
    live.ok("aclrtStreamQuery", stream, OUT)
    enter, _, _, end, query = live.records[place:]
    live.records[place:] = [call_of(enter, end), query]
    assert [what for what, _, _ in differences(live)] == ["wait"]


def call_of(enter: Any, end: Any) -> Any:
    from cannery.recorder.records import Call

    number, thread, time, function, ins, effects = enter
    return Call(number, thread, time, function, end.ret, ins, end.outs, effects)


@pytest.mark.parametrize("schedule", ["late", "seed:1", "seed:2", "seed:3"])
def test_whatever_changes_the_replay_comes_to_its_end(schedule: str) -> None:
    live = functions()
    replay = live.replay(what_if=live.settings._replace(schedule=schedule))
    assert replay.calls == live.calls


def test_a_query_after_a_sleep_depends_on_the_schedule_and_nothing_else_does() -> None:
    """docs/commands.md, replay: work that nothing forces may stay undone for 100 ms."""
    live = selected()
    stream, event = live.create("aclrtCreateStream"), live.create("aclrtCreateEventWithFlag", 1)
    live.ok("aclrtSubscribeReport", ident(2), stream)
    live.ok("aclrtRecordEvent", event, stream)
    live.pace(after=40_000_000)
    live.ok("aclrtStreamQuery", stream, OUT)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtStreamQuery", stream, OUT)
    live.ok("aclrtRecordEvent", event, stream)
    live.pace(after=100_000_000)
    live.ok("aclrtStreamQuery", stream, OUT)
    found = [differences(live, schedule=f"seed:{seed}") for seed in range(8)]
    changed = ("output status", "ACL_STREAM_STATUS_COMPLETE", "ACL_STREAM_STATUS_NOT_READY")
    assert [changed] in found and [] in found
    assert all(one in ([], [changed]) for one in found)
