"""Functions that are told of streams and devices, and the end of a device's work (reference documents, then reference
implementation)."""

from typing import Any

import pytest

from cannery.runtime.invoke import Invoke
from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver

CREATED, ENDS = 1, 2
SET_PRE, SET_POST, RESET_PRE, RESET_POST = 0, 1, 2, 3
ABORT_PRE, ABORT_POST = 0, 1
STREAMS, DEVICES, ABORTS = 0x1000, 0x2000, 0x3000
NAME = b"us"


class ToldDriver(Driver):
    """Runs the functions that calls ask for; ``told``: what they were given, without their last argument."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.told: list[tuple[int, ...]] = []
        self.answers: dict[int, int] = {}

    def call(self, function: str, *arguments: Any, thread: int = 1) -> Any:
        reply = super().call(function, *arguments, thread=thread)
        while isinstance(reply, Invoke):
            self.told.append((reply.function, *reply.arguments[:-1]))
            reply = self.returned(thread, self.answers.get(reply.function, 0))
        return reply

    def take(self) -> list[tuple[int, ...]]:
        told, self.told = self.told, []
        return told


@pytest.fixture
def driver() -> ToldDriver:
    driver = ToldDriver()
    driver.ok("aclrtRegStreamStateCallback", NAME, STREAMS, 7)
    driver.ok("aclrtRegDeviceStateCallback", NAME, DEVICES, 8)
    driver.ok("aclrtSetDeviceTaskAbortCallback", NAME, ABORTS, 9)
    return driver


def default_stream(driver: Driver) -> int:
    return int(driver.ok("aclrtCtxGetCurrentDefaultStream", OUT))


class TestDevicesAndStreams:
    def test_selecting_and_releasing_a_device(self, driver: ToldDriver) -> None:
        driver.opened(1)
        default = default_stream(driver)
        assert driver.take() == [(DEVICES, 1, SET_PRE), (STREAMS, default, CREATED), (DEVICES, 1, SET_POST)]
        driver.opened(1)
        assert driver.take() == [(DEVICES, 1, SET_POST)]
        stream = driver.stream()
        driver.ok("aclrtResetDevice", 1)
        assert driver.take() == [(STREAMS, stream, CREATED)], "it is still selected"
        driver.ok("aclrtResetDevice", 1)
        assert driver.take() == [
            (STREAMS, default, ENDS), (DEVICES, 1, RESET_PRE), (STREAMS, stream, ENDS), (DEVICES, 1, RESET_POST),
        ]  # fmt: skip
        driver.opened(1)
        driver.take()
        driver.ok("aclrtResetDeviceForce", 1)
        assert [told[2] for told in driver.take()] == [ENDS, RESET_PRE, RESET_POST]

    @pytest.mark.parametrize("function", ["aclrtDestroyStream", "aclrtDestroyStreamForce"])
    def test_streams(self, driver: ToldDriver, function: str) -> None:
        driver.opened()
        driver.take()
        plain, configured = driver.stream(), driver.ok("aclrtCreateStreamWithConfig", OUT, 0, 1)
        for stream in (plain, configured):
            driver.ok(function, stream)
            assert driver.call(function, stream) == 107017
        every = [(STREAMS, stream, state) for state in (CREATED, ENDS) for stream in (plain, configured)]
        assert driver.take() == every

    def test_contexts(self, driver: ToldDriver) -> None:
        driver.opened()
        driver.take()
        context = driver.ok("aclrtCreateContext", OUT, 0)
        default, stream = default_stream(driver), driver.stream()
        driver.ok("aclrtDestroyContext", context)
        every = [(STREAMS, handle, state) for state in (CREATED, ENDS) for handle in (default, stream)]
        assert driver.take() == every

    def test_what_is_registered_under_several_names(self, driver: ToldDriver) -> None:
        driver.ok("aclrtRegStreamStateCallback", b"them", STREAMS + 8, 0)
        driver.ok("aclrtRegDeviceStateCallback", b"them", DEVICES + 8, 0)
        driver.opened()
        told = [told[0] for told in driver.take()]
        assert told == [DEVICES, DEVICES + 8, STREAMS + 8, STREAMS, DEVICES, DEVICES + 8], "streams by name"

    def test_a_name_is_free_again_once_its_callback_is_ended(self, driver: ToldDriver) -> None:
        driver.opened()
        driver.take()
        for function in (0, 0, STREAMS + 8):
            driver.ok("aclrtRegStreamStateCallback", NAME, function, 0)
        assert driver.take() == []
        stream = driver.stream()
        assert driver.take() == [(STREAMS + 8, stream, CREATED)]

    def test_they_get_what_they_were_registered_with(self) -> None:
        driver = Driver().opened()
        driver.ok("aclrtRegStreamStateCallback", NAME, STREAMS, 0x7777)
        invoke = driver.call("aclrtCreateStream", OUT)
        assert (invoke.signature, invoke.arguments[1:]) == ("void(ptr,i32,ptr)", (CREATED, 0x7777))
        assert driver.returned() == (0, invoke.arguments[0])

    def test_the_end_of_a_stream_waits_for_its_work_after_that(self) -> None:
        driver = Driver().opened()
        stream = driver.stream()
        gate = driver.gate(stream)
        driver.ok("aclrtRegStreamStateCallback", NAME, STREAMS, 0)
        assert isinstance(driver.call("aclrtDestroyStream", stream), Invoke)
        driver.ok("aclrtStreamQuery", stream, OUT)
        wait = driver.returned()
        assert isinstance(wait, Wait)
        driver.ok("aclrtSetDevice", 0, thread=2)
        driver.ok("aclrtRecordEvent", gate, 0, thread=2)
        driver.pace(1)
        assert wait.reply == 0

    @pytest.mark.parametrize("function", ["aclrtDestroyStream", "aclrtDestroyStreamForce"])
    def test_one_that_destroys_the_stream_itself(self, function: str) -> None:
        driver = Driver().opened()
        stream = driver.stream()
        driver.ok("aclrtRegStreamStateCallback", NAME, STREAMS, 0)
        assert isinstance(driver.call(function, stream), Invoke)
        assert isinstance(driver.call(function, stream), Invoke)
        assert [driver.returned(), driver.returned()] == [0, 107017]

    def test_one_that_releases_the_device_itself(self) -> None:
        driver = Driver().opened()
        driver.ok("aclrtRegDeviceStateCallback", NAME, DEVICES, 0)
        for _ in range(2):
            assert driver.call("aclrtResetDevice", 0).arguments[1] == RESET_PRE
        assert [driver.returned().arguments[1], driver.returned()] == [RESET_POST, 0]
        assert [driver.returned().arguments[1], driver.returned()] == [RESET_POST, 0]
        assert driver.call("aclrtResetDevice", 0) == 507007

    def test_one_that_destroys_the_context_itself(self) -> None:
        driver = Driver().opened()
        context = driver.ok("aclrtCreateContext", OUT, 0)
        driver.ok("aclrtRegStreamStateCallback", NAME, STREAMS, 0)
        for _ in range(2):
            assert isinstance(driver.call("aclrtDestroyContext", context), Invoke)
        assert [driver.returned(), driver.returned()] == [0, 0]
        assert driver.call("aclrtDestroyContext", context) == 107002

    def test_none_left_is_told_of_a_stream_that_could_not_be_made(self, driver: ToldDriver) -> None:
        driver.opened()
        limit = driver.machine.profile.streams
        for _ in range(limit - 1):
            driver.stream()
        driver.take()
        assert driver.call("aclrtCreateStream", OUT) == 207008
        assert driver.take() == []


class TestAbort:
    def held(self, driver: Driver) -> int:
        stream = driver.stream()
        driver.gate(stream)
        return stream

    @pytest.mark.parametrize("schedule", ["asap", "late", "seed:1"])
    def test_queued_work_is_lost_and_then_all_is_well(self, schedule: str) -> None:
        driver = ToldDriver(schedule=schedule)
        driver.ok("aclrtSetDeviceTaskAbortCallback", NAME, ABORTS, 9)
        driver.opened()
        memory = driver.device_memory(64)
        driver.ok("aclrtMemset", memory, 64, 1, 64)
        held = self.held(driver)
        driver.ok("aclrtMemsetAsync", memory, 64, 2, 64, held)
        driver.ok("aclrtDeviceTaskAbort", 0, 0)
        assert driver.take() == [(ABORTS, 0, ABORT_PRE, 0), (ABORTS, 0, ABORT_POST, 0)]
        driver.ok("aclrtSynchronizeStream", held)
        pinned = driver.pinned(b"x")
        driver.ok("aclrtMemcpyAsync", pinned, 1, memory, 1, 2, held)
        driver.ok("aclrtSynchronizeDevice")
        assert driver.host.peek(pinned, 1) == b"\1"

    def test_who_waits_is_told(self) -> None:
        driver = Driver().opened()
        held = self.held(driver)
        driver.ok("aclrtSetDevice", 0, thread=2)
        wait = driver.call("aclrtSynchronizeStream", held, thread=2)
        driver.ok("aclrtDeviceTaskAbort", 0, 0)
        assert driver.ended == [wait]
        assert wait.reply == 107022
        driver.ok("aclrtSynchronizeStream", held, thread=2)

    def test_every_context_of_the_device_and_no_other_device(self) -> None:
        driver = Driver().opened()
        first = self.held(driver)
        primary = driver.ok("aclrtGetCurrentContext", OUT)
        driver.ok("aclrtCreateContext", OUT, 0)
        second = self.held(driver)
        driver.opened(1)
        other = self.held(driver)
        driver.ok("aclrtDeviceTaskAbort", 0, 1000)
        assert driver.ok("aclrtStreamQuery", other, OUT) == 1
        driver.ok("aclrtSetCurrentContext", primary)
        assert [driver.ok("aclrtStreamQuery", stream, OUT) for stream in (first, second)] == [0, 0]

    def test_until_it_has_succeeded_the_device_answers_that(self) -> None:
        driver = Driver().opened()
        driver.ok("aclrtSetDeviceTaskAbortCallback", NAME, ABORTS, 9)
        held = self.held(driver)
        invoke = driver.call("aclrtDeviceTaskAbort", 0, 500)
        assert invoke.arguments == (0, ABORT_PRE, 500, 9)
        assert driver.call("aclrtRecordEvent", driver.event(), held) == 107022
        driver.now += 100_000_000
        assert driver.returned().arguments == (0, ABORT_POST, 400, 9)
        assert driver.returned() == 0
        driver.ok("aclrtRecordEvent", driver.event(), held)

    @pytest.mark.parametrize("stages", [0, 1])
    def test_one_that_returns_an_error_leaves_it_undone(self, stages: int) -> None:
        driver = Driver().opened()
        driver.ok("aclrtSetDeviceTaskAbortCallback", NAME, ABORTS, 0)
        driver.call("aclrtDeviceTaskAbort", 0, 0)
        for _ in range(stages):
            assert isinstance(driver.returned(), Invoke)
        assert driver.returned(value=3) == 507000
        assert driver.call("aclrtSynchronizeDevice") == 107022
        driver.ok("aclrtSetDeviceTaskAbortCallback", NAME, 0, 0)
        driver.ok("aclrtDeviceTaskAbort", 0, 0)
        driver.ok("aclrtSynchronizeDevice")

    @pytest.mark.parametrize("stages", [0, 1])
    def test_one_that_takes_too_long(self, stages: int) -> None:
        driver = Driver().opened()
        driver.ok("aclrtSetDeviceTaskAbortCallback", NAME, ABORTS, 0)
        driver.call("aclrtDeviceTaskAbort", 0, 10)
        for _ in range(stages):
            assert isinstance(driver.returned(), Invoke)
        driver.now += 11_000_000
        assert driver.returned() == 107019

    def test_a_context_that_stopped_goes_on(self) -> None:
        driver = Driver().opened()
        stream = driver.stream()
        driver.ok("aclrtSetStreamFailureMode", stream, 1)
        driver.ok("aclrtStreamWaitEventWithTimeout", stream, driver.event(1), 1)
        driver.pace(2000)
        assert driver.call("aclrtSynchronizeStream", stream) == 107020
        assert driver.call("aclrtSynchronizeStream", stream) == 107020
        driver.ok("aclrtDeviceTaskAbort", 0, 0)
        driver.ok("aclrtSynchronizeStream", stream)
