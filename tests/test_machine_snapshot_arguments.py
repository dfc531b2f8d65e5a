"""Snapshot calls with arguments that they refuse, in every state (semantics.md 10.2, 10.3): numbers and layers."""

from typing import Any

import pytest

from tests.fake_session import PROCESS
from tests.fakes import Driver
from tests.test_machine_arguments import FUNCTION, A, R, Row, World, check_refused

FOUR = tuple(f"aclrtSnapShotProcess{name}" for name in ("Lock", "Backup", "Restore", "Unlock"))
LOCK, BACKUP, RESTORE, UNLOCK = FOUR
REGISTER, UNREGISTER = "aclrtSnapShotCallbackRegister", "aclrtSnapShotCallbackUnregister"

ROWS: list[Row] = []


def rows(function: str, *cases: tuple[Any, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append(("10", function, tuple(arguments), number, layer, thread))


for call in FOUR:
    rows(call, (PROCESS + 1, "null", 100000, A), (0, "out", 100000, A), (PROCESS, "out", 100000, A))
    rows(call, (PROCESS + 1, "null", 100000, A), thread=2)
rows(UNLOCK, (PROCESS, 0, 507907, R), thread=2)
rows(BACKUP, (PROCESS, 0, 507908, R))
rows(RESTORE, (PROCESS, 0, 507909, R))
for stage in (-1, 6, 1 << 30):
    rows(REGISTER, (stage, "function", "null", 107000, R), (stage, "null", "null", 107000, R))
    rows(UNREGISTER, (stage, "function", 107000, R))
for stage in range(6):
    rows(REGISTER, (stage, "null", "out", 107000, R))
    rows(UNREGISTER, (stage, "null", 107000, R), (stage, "function", 107000, R))


@pytest.mark.parametrize("behaviour", ["default,snapshot-signature=pid", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(World(behaviour), ROWS)


@pytest.mark.parametrize("function", FOUR)
@pytest.mark.parametrize("settings", [{"acl_api": "1.17"}, {"behaviour": "observed"}])
@pytest.mark.parametrize("product", ["A2", "910"])
def test_process_and_reserved_pointer_are_checked_before_all_else(
    function: str, settings: dict[str, str], product: str
) -> None:
    driver = Driver(product=product, **settings)
    for arguments in ((PROCESS + 1, 0), (0, 0), (PROCESS, 8), (PROCESS + 1, 8)):
        driver.call("aclrtGetLastError", 0)
        assert driver.call(function, *arguments) == 100000
        assert driver.call("aclrtGetLastError", 0) == 0  # the acl layer refuses
    assert driver.call(function, PROCESS, 0) != 100000


@pytest.mark.parametrize("function", FOUR)
def test_without_parameters_whatever_stands_in_their_place_is_ignored(function: str) -> None:
    for arguments in ((PROCESS + 1, 0), (-1, 1 << 60)):
        assert Driver().call(function, *arguments) in (0, 507907, 507908, 507909)


SUPPORTED = {"950PR": (True, True), "950DT": (True, False), "A3": (True, True), "A2": (True, True)}
"""As documented, and as observed (semantics.md 11, snapshot-950dt)."""


@pytest.mark.parametrize("product", ["950PR", "950DT", "A3", "A2", "310B", "310P", "910", "IPV350"])
def test_products(product: str) -> None:
    for behaviour, supported in zip(("documented", "observed"), SUPPORTED.get(product, (False, False)), strict=True):
        driver = Driver(product=product, behaviour=behaviour)
        calls = [(function, (PROCESS, 0)) for function in (LOCK, UNLOCK)]
        calls += [(REGISTER, (0, FUNCTION, 0)), (UNREGISTER, (0, FUNCTION))]
        assert [driver.call(name, *arguments) for name, arguments in calls] == [0 if supported else 207000] * 4
        if not supported:
            assert driver.call(BACKUP, PROCESS, 0) == driver.call(RESTORE, PROCESS, 0) == 207000
            assert driver.call(REGISTER, 9, 0, 0) == driver.call(UNREGISTER, 9, 0) == 207000  # before the arguments
            assert driver.call("aclrtGetLastError", 0) == 207000


def test_a_lock_is_refused_in_every_state_but_running() -> None:
    driver = Driver().opened()
    driver.ok(LOCK, 0, 0)
    assert driver.call(LOCK, 0, 0) == 507906 and "is LOCKED" in driver.message()
    driver.ok(BACKUP, 0, 0)
    assert driver.call(LOCK, 0, 0) == 507906 and "is BACKED_UP" in driver.message()


def test_a_backup_needs_a_context() -> None:
    driver = Driver()
    driver.ok(LOCK, 0, 0)
    assert driver.call(BACKUP, 0, 0) == 107002
    assert driver.call(RESTORE, 0, 0) == 507909  # the state stays LOCKED
    driver.ok(UNLOCK, 0, 0)


def test_of_another_thread_the_context_counts_too() -> None:
    driver = Driver().opened()
    driver.ok(LOCK, 0, 0, thread=2)
    driver.ok(BACKUP, 0, 0, thread=2)


def test_instances_that_are_not_complete_cannot_be_saved() -> None:
    driver = Driver().opened()
    driver.ok("aclmdlRIBuildBegin", 1, 0)
    driver.ok(LOCK, 0, 0)
    assert driver.call(BACKUP, 0, 0) == 507908 and "not complete" in driver.message()


def test_a_stream_in_capture_cannot_be_waited_for() -> None:
    driver = Driver().opened()
    driver.ok("aclmdlRICaptureBegin", driver.stream(), 1)
    driver.ok(LOCK, 0, 0)
    assert driver.call(BACKUP, 0, 0) == 107027
