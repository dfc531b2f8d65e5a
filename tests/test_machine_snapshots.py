"""Lock, backup, restore and unlock (semantics.md 10): states, what waits for whom, and the callbacks of the stages."""

from itertools import product
from typing import Any

import pytest

from cannery.runtime.api import MODEL
from cannery.runtime.invoke import Invoke
from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver, ident
from tests.test_machine_arguments import FUNCTION
from tests.test_machine_snapshot_arguments import BACKUP, FOUR, LOCK, REGISTER, RESTORE, UNLOCK, UNREGISTER

LOCK_PRE, BACKUP_PRE, BACKUP_POST, RESTORE_PRE, RESTORE_POST, UNLOCK_POST = range(6)
STAGES = {LOCK: [LOCK_PRE], BACKUP: [BACKUP_PRE, BACKUP_POST], RESTORE: [RESTORE_PRE, RESTORE_POST]}
STAGES[UNLOCK] = [UNLOCK_POST]
STAGE_NAMES = [constant["name"] for constant in MODEL.types.enums["aclrtSnapShotStage"]["values"]]


# All sequences.

ANSWERS: dict[tuple[str, str], tuple[int, str]] = {
    ("running", LOCK): (0, "locked"), ("locked", LOCK): (507906, "locked"), ("saved", LOCK): (507906, "saved"),
    ("running", UNLOCK): (507907, "running"), ("locked", UNLOCK): (0, "running"), ("saved", UNLOCK): (0, "running"),
    ("running", BACKUP): (507908, "running"), ("locked", BACKUP): (0, "saved"), ("saved", BACKUP): (0, "saved"),
    ("running", RESTORE): (507909, "running"), ("locked", RESTORE): (507909, "locked"),
    ("saved", RESTORE): (0, "locked"),
}  # fmt: skip
"""What each call answers in each state, and the state after it: written down from semantics.md 10.3 and 11."""


def expected(sequence: tuple[str, ...], again: int) -> list[int]:
    """The numbers that a sequence answers. ``again``: what a second backup answers."""
    state, registered, numbers = "running", False, []
    for call in sequence:
        if call == REGISTER:
            numbers.append(507913 if registered else 0)
            registered = True
        elif call == UNREGISTER:
            numbers.append(0 if registered else 107000)
            registered = False
        elif again and (state, call) == ("saved", BACKUP):
            numbers.append(again)
        else:
            number, state = ANSWERS[state, call]
            numbers.append(number)
    return numbers


def answer(driver: Driver, call: str) -> Any:
    if call in FOUR:
        reply = driver.call(call, 4242, 0)
    else:
        reply = driver.call(call, *((LOCK_PRE, FUNCTION, 0)[: 3 if call == REGISTER else 2]))
    while isinstance(reply, Invoke):
        assert (reply.function, call) == (FUNCTION, LOCK)
        reply = driver.returned()
    return reply


@pytest.mark.parametrize(("behaviour", "again"), [("documented", 0), ("observed", 507908)])
def test_every_sequence_of_up_to_five_calls(behaviour: str, again: int) -> None:
    calls = (*FOUR, REGISTER, UNREGISTER)
    driver = Driver(behaviour=behaviour).opened()
    for length in range(1, 6):
        for sequence in product(calls, repeat=length):
            assert [answer(driver, call) for call in sequence] == expected(sequence, again), sequence
            answer(driver, UNLOCK)
            answer(driver, UNREGISTER)


# Callbacks.


def register(driver: Driver, *callbacks: int, stages: Any = range(6)) -> None:
    for stage in stages:
        for callback in callbacks:
            driver.ok(REGISTER, stage, FUNCTION + callback, 0x10 * callback + stage)


def run(driver: Driver, call: str, values: Any = (), thread: int = 1) -> tuple[Any, list[tuple[int, ...]]]:
    """Make a call; its reply, and the callbacks that it ran: number, device, data. They return ``values``, then 0."""
    rest = iter(values)
    reply, seen = driver.call(call, 4242, 0, thread=thread), []
    while isinstance(reply, Invoke):
        assert reply.signature == "u32(i32,ptr)"
        seen.append((reply.function - FUNCTION, *reply.arguments))
        reply = driver.returned(thread, next(rest, 0))
    return reply, seen


def test_callbacks_run_at_their_stages_in_the_order_of_registration_for_each_open_device() -> None:
    driver = Driver(devices=3).opened().opened(2)
    register(driver, 2, 1)
    for call in (LOCK, BACKUP, RESTORE, UNLOCK):
        wanted = [(n, device, 0x10 * n + stage) for stage in STAGES[call] for n in (2, 1) for device in (0, 2)]
        assert run(driver, call) == (0, wanted), call


def test_devices_go_by_the_id_that_the_program_has_for_them() -> None:
    driver = Driver(devices=3, visible="1,2").opened(1).opened(0)
    register(driver, 1, stages=[LOCK_PRE])
    assert run(driver, LOCK) == (0, [(1, 0, 0x10), (1, 1, 0x10)])


def test_a_device_counts_that_only_an_explicit_context_keeps_open() -> None:
    driver = Driver(devices=3)
    context = driver.ok("aclrtCreateContext", OUT, 1)
    register(driver, 1, stages=[LOCK_PRE, UNLOCK_POST])
    assert run(driver, LOCK) == (0, [(1, 1, 0x10)])
    driver.ok(UNREGISTER, UNLOCK_POST, FUNCTION + 1)
    driver.ok(UNLOCK, 0, 0)
    driver.ok("aclrtDestroyContext", context)
    assert run(driver, LOCK) == (0, [])


def test_without_an_open_device_no_callback_runs() -> None:
    driver = Driver()
    register(driver, 1)
    assert run(driver, LOCK) == (0, []) and run(driver, UNLOCK) == (0, [])


def test_a_lock_that_will_be_refused_runs_its_callbacks_and_other_calls_do_not() -> None:
    driver = Driver().opened()
    register(driver, 1)
    assert run(driver, UNLOCK) == (507907, [])
    assert run(driver, BACKUP) == (507908, [])
    assert run(driver, RESTORE) == (507909, [])
    driver.ok(UNREGISTER, LOCK_PRE, FUNCTION + 1)
    driver.ok(LOCK, 0, 0)
    driver.ok(REGISTER, LOCK_PRE, FUNCTION + 1, 0)
    assert run(driver, LOCK) == (507906, [(1, 0, 0)])


AFTER_REFUSAL = {  # the stage, the calls before, what then answers 0, and what does not any more
    LOCK_PRE: ([], LOCK, UNLOCK, 507907),
    BACKUP_PRE: ([LOCK], BACKUP, RESTORE, 507909),
    BACKUP_POST: ([LOCK], BACKUP, RESTORE, 507909),
    RESTORE_PRE: ([LOCK, BACKUP], RESTORE, LOCK, 507906),
    RESTORE_POST: ([LOCK, BACKUP], RESTORE, LOCK, 507906),
    UNLOCK_POST: ([LOCK], LOCK, BACKUP, 507908),
}


@pytest.mark.parametrize("stage", range(6))
def test_a_callback_that_refuses_ends_the_call_and_leaves_this_state(stage: int) -> None:
    driver = Driver(devices=2).opened().opened(1)
    before, again, other, number = AFTER_REFUSAL[stage]
    for call in before:
        driver.ok(call, 0, 0)
    register(driver, 1, 2, stages=[stage])
    refused = next(call for call, stages in STAGES.items() if stage in stages)
    data = 0x10 + stage
    assert run(driver, refused, [0, 7]) == (507912, [(1, 0, data), (1, 1, data)])
    assert f"callback 1 of the stage {STAGE_NAMES[stage]} returned 0x7 for device 1" in driver.message()
    assert driver.call("aclrtGetLastError", 0) == 507912
    for callback in (1, 2):
        driver.ok(UNREGISTER, stage, FUNCTION + callback)
    assert run(driver, other)[0] == number
    assert run(driver, again) == (0, [])


def test_the_same_function_may_be_registered_for_several_stages_but_once_for_each() -> None:
    driver = Driver().opened()
    register(driver, 1)
    assert {driver.call(REGISTER, stage, FUNCTION + 1, 9) for stage in range(6)} == {507913}
    assert run(driver, LOCK) == (0, [(1, 0, 0x10)])  # with the data of the first
    driver.ok(UNREGISTER, BACKUP_PRE, FUNCTION + 1)
    assert driver.call(UNREGISTER, BACKUP_PRE, FUNCTION + 1) == 107000
    assert run(driver, BACKUP) == (0, [(1, 0, 0x10 + BACKUP_POST)])


# Who waits for whom.


def test_calls_of_other_threads_go_on_before_the_callbacks_of_the_unlock() -> None:
    driver = Driver().opened()
    register(driver, 1, stages=[UNLOCK_POST])
    driver.ok(LOCK, 0, 0)
    wait = driver.call("aclrtSetDevice", 0, thread=2)
    assert isinstance(driver.call(UNLOCK, 0, 0), Invoke)
    assert wait.reply == 0
    assert driver.returned() == 0


@pytest.mark.parametrize("call", [LOCK, BACKUP, RESTORE, UNLOCK])
def test_a_snapshot_call_waits_for_a_backup_of_another_thread(call: str) -> None:
    driver = Driver().opened()
    register(driver, 1, stages=[BACKUP_POST])
    driver.ok(LOCK, 0, 0)
    assert isinstance(driver.call(BACKUP, 0, 0), Invoke)
    wait = driver.call(call, 0, 0, thread=2)
    assert isinstance(wait, Wait) and wait.deadline is None
    assert driver.returned() == 0
    if call == BACKUP:  # documented: another backup
        assert isinstance(wait.reply, Invoke)
    else:
        assert wait.reply == (507906 if call == LOCK else 0)


@pytest.mark.parametrize("call", [REGISTER, UNREGISTER])
def test_registrations_of_other_threads_wait_for_the_callbacks(call: str) -> None:
    driver = Driver().opened()
    register(driver, 1, stages=[LOCK_PRE, UNLOCK_POST])
    assert isinstance(driver.call(LOCK, 0, 0), Invoke)
    arguments = (UNLOCK_POST, FUNCTION + 1, 0)[: 3 if call == REGISTER else 2]
    wait = driver.call(call, *arguments, thread=2)
    assert isinstance(wait, Wait)
    assert driver.returned() == 0
    assert wait.reply == (507913 if call == REGISTER else 0)


def test_a_backup_waits_for_the_work_of_every_context() -> None:
    driver = Driver().opened()
    held, opener = driver.stream(), driver.stream()
    gate = driver.gate(held)
    second = driver.ok("aclrtCreateContext", OUT, 1)
    driver.ok("aclrtSetDevice", 0)
    driver.ok("aclrtLaunchHostFunc", opener, FUNCTION, 0)
    driver.ok("aclrtRecordEvent", gate, opener)
    driver.ok(LOCK, 0, 0)
    wait = driver.call(BACKUP, 0, 0)
    assert isinstance(wait, Wait) and wait.deadline is None
    driver.errand_done(1)
    assert wait.reply == 0 and second


def test_a_failure_that_a_backup_meets_is_its_answer_once() -> None:
    driver = Driver().opened()
    stream = driver.stream()
    driver.ok("aclrtStreamWaitEventWithTimeout", stream, driver.event(1), 1)
    driver.ok(LOCK, 0, 0)
    wait = driver.call(BACKUP, 0, 0)
    assert isinstance(wait, Wait)
    driver.pace(1000)
    assert wait.reply == 107020
    assert driver.call(RESTORE, 0, 0) == 507909  # still LOCKED
    driver.ok("aclrtSynchronizeStream", stream)
    driver.ok(BACKUP, 0, 0)


# Deadlocks.


def blocked(driver: Driver, outer: str, stage: int) -> None:
    """Begin a call, up to where its only callback runs."""
    register(driver, 1, stages=[stage])
    assert isinstance(driver.call(outer, 0, 0), Invoke)


@pytest.mark.parametrize(
    ("outer", "stage"), [(BACKUP, BACKUP_PRE), (BACKUP, BACKUP_POST), (RESTORE, RESTORE_PRE), (RESTORE, RESTORE_POST)]
)
def test_a_callback_of_backup_or_restore_that_makes_a_call_that_is_held_is_told_so_at_once(
    outer: str, stage: int
) -> None:
    driver = Driver().opened()
    driver.ok(LOCK, 0, 0)
    if outer == RESTORE:
        driver.ok(BACKUP, 0, 0)
    blocked(driver, outer, stage)
    assert driver.call("aclrtMalloc", 1, 64, 0) == 507000
    message = driver.message()
    assert "deadlock" in message and outer in message and "aclrtMalloc" in message
    for inner in FOUR:
        assert driver.call(inner, 0, 0) == 507000
        assert f"of {outer} calls {inner}, which waits until {outer} is over" in driver.message()
    driver.ok("aclrtSynchronizeDevice")
    assert driver.returned() == 0
    driver.ok(UNLOCK, 0, 0)
    driver.device_memory(64)


@pytest.mark.parametrize("stage", [LOCK_PRE, BACKUP_PRE, BACKUP_POST, RESTORE_PRE, RESTORE_POST, UNLOCK_POST])
def test_a_callback_cannot_register_nor_unregister(stage: int) -> None:
    driver = Driver().opened()
    outer = next(call for call, stages in STAGES.items() if stage in stages)
    for call in {BACKUP: [LOCK], RESTORE: [LOCK, BACKUP], UNLOCK: [LOCK]}.get(outer, []):
        driver.ok(call, 0, 0)
    blocked(driver, outer, stage)
    assert driver.call(REGISTER, 0, FUNCTION, 0) == driver.call(UNREGISTER, stage, FUNCTION + 1) == 507000
    assert f"of {outer} calls {UNREGISTER}" in driver.message()
    assert driver.call(REGISTER, 6, FUNCTION, 0) == driver.call(UNREGISTER, stage, 0) == 107000  # arguments come first
    assert driver.returned() == 0
    driver.ok(UNREGISTER, stage, FUNCTION + 1)


@pytest.mark.parametrize(("inner", "number"), [(LOCK, 507000), (UNLOCK, 507907), (BACKUP, 507908), (RESTORE, 507909)])
def test_callbacks_of_lock_and_unlock_run_without_the_mutex_of_the_state(inner: str, number: int) -> None:
    driver = Driver().opened()
    blocked(driver, LOCK, LOCK_PRE)
    driver.device_memory(64)  # the process is RUNNING
    assert driver.call(inner, 0, 0) == number
    assert driver.returned() == 0
    driver.ok(UNREGISTER, LOCK_PRE, FUNCTION + 1)
    blocked(driver, UNLOCK, UNLOCK_POST)
    driver.device_memory(64)
    assert driver.call(inner, 0, 0) == number
    assert driver.returned() == 0
    driver.device_memory(64)


def test_an_unlock_in_a_callback_of_a_second_lock_unlocks_and_never_returns_on_a_card() -> None:
    driver = Driver().opened()
    driver.ok(LOCK, 0, 0)
    blocked(driver, LOCK, LOCK_PRE)
    wait = driver.call("aclrtSetDevice", 0, thread=2)
    assert driver.call(UNLOCK, 0, 0) == 507000 and wait.reply == 0
    assert driver.returned() == 0  # the second lock finds the process RUNNING


def test_a_callback_of_a_second_lock_waits_ten_seconds_for_the_unlock_of_another_thread() -> None:
    driver = Driver().opened()
    driver.ok(LOCK, 0, 0)
    blocked(driver, LOCK, LOCK_PRE)
    wait = driver.call("aclrtMalloc", 1, 64, 0)
    assert wait.deadline == driver.now + 10_000_000_000
    driver.expire(wait)
    assert wait.reply == 507000
    assert f"of {LOCK} calls aclrtMalloc, which waits for {UNLOCK}" in driver.message()
    wait = driver.call("aclrtMalloc", 1, 64, 0)
    other = driver.call(UNLOCK, 0, 0, thread=2)
    assert wait.reply[0] == 0
    assert isinstance(other, Wait)  # for the callbacks of the lock, before its own can run
    assert driver.returned() == 507906 - 507906 and other.reply == 0


def test_a_function_that_a_backup_waits_for_cannot_make_a_call_that_is_held() -> None:
    driver = Driver().opened()
    driver.host.worker_threads[5] = 1
    driver.ok("aclrtLaunchHostFunc", driver.stream(), FUNCTION, 0)
    driver.pace(1)
    driver.ok(LOCK, 0, 0)
    wait = driver.call("aclrtMalloc", OUT, 64, 0, thread=5)
    assert isinstance(wait, Wait) and wait.deadline is None  # an unlock can still come
    backup = driver.call(BACKUP, 0, 0)
    assert isinstance(backup, Wait) and wait.reply == 507000
    message = driver.message(thread=5)
    assert "deadlock" in message and "calls aclrtMalloc" in message and f"while {BACKUP} waits" in message
    wait = driver.call("aclrtFree", OUT, thread=5)  # the backup is there first
    assert wait.reply == 507000
    held = driver.call("aclrtMalloc", OUT, 64, 0, thread=6)
    assert held.reply is None  # of no function
    driver.errand_done(1)
    assert backup.reply == 0


def test_a_function_that_a_thread_processes_is_known_too() -> None:
    driver = Driver().opened()
    stream = driver.stream()
    driver.ok("aclrtSubscribeReport", ident(5), stream)
    driver.ok("aclrtLaunchCallback", FUNCTION, 0, 1, stream)
    assert isinstance(driver.call("aclrtProcessReport", 100, thread=5), Invoke)
    driver.ok(LOCK, 0, 0)
    backup = driver.call(BACKUP, 0, 0)
    assert driver.call("aclrtMalloc", OUT, 64, 0, thread=5).reply == 507000
    assert driver.returned(5) == 0 and backup.reply == 0


def test_a_thread_that_ends_in_a_callback_lets_go_of_what_its_call_held() -> None:
    driver = Driver().opened()
    driver.ok(LOCK, 0, 0)
    register(driver, 1, stages=[BACKUP_PRE])
    assert isinstance(driver.call(BACKUP, 0, 0, thread=2), Invoke)
    wait = driver.call(UNLOCK, 0, 0)
    driver.machine.end_thread(2)
    driver.pace()
    assert wait.reply == 0
