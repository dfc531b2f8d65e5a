"""Initialisation, devices, contexts, threads, and what is remembered of failures (semantics.md 0.2, 0.3, 4, 10a)."""

import json

import pytest

from cannery.runtime.settings import SettingError
from tests.fakes import OUT, Driver, FakeHost


def device_of(driver: Driver, thread: int = 1) -> int:
    """The current device, or the negative number of the refusal."""
    reply = driver.call("aclrtGetDevice", OUT, thread=thread)
    return reply[1] if isinstance(reply, tuple) else -reply


class TestInitialisation:
    def test_references_are_counted_and_repeats_say_so(self) -> None:
        driver = Driver()
        replies = [driver.call(name, *args) for name, args in [
            ("aclFinalize", ()), ("aclFinalize", ()), ("aclInit", (None,)), ("aclInit", (None,)), ("aclFinalize", ()),
            ("aclFinalize", ()), ("aclInit", (b"",)), ("aclInit", (b"/no/such/file",)),
        ]]  # fmt: skip
        assert replies == [0, 100037, 0, 100002, 0, 100037, 0, 100002]
        assert driver.machine.process.references == 2

    @pytest.mark.parametrize(
        ("content", "number"),
        [
            (b"{}", 0),
            (b"", 0),
            (b"[]", 0),
            (b'{"err_msg_mode": "1"}', 0),
            (b'{"err_msg_mode": 1}', 100000),
            (b'{"err_msg_mode": "2"}', 100000),
            (b"{", 100006),
            (b"\xff", 100006),
            (b'{"a":' * 11 + b"1" + b"}" * 11, 100006),
            (b'{"a":' * 10 + b"1" + b"}" * 10, 0),
            (b'{"a":' + b"[" * 11 + b"]" * 11 + b"}", 100006),
            (b" " * (10 << 20) + b"{}", 100003),
            (b'{"defaultDevice": {"default_device": "0"}}', 0),
            (b'{"defaultDevice": {"default_device": "2"}}', 107001),
            (b'{"defaultDevice": {"default_device": 0}}', 500001),
            (b'{"defaultDevice": {"default_device": "01"}}', 500001),
            (b'{"defaultDevice": {}}', 0),
        ],
    )
    def test_the_configuration_file_is_checked(self, content: bytes, number: int) -> None:
        driver = Driver(FakeHost({b"acl.json": content}))
        assert driver.call("aclInit", b"acl.json") == number
        assert driver.call("aclFinalize") == 0

    def test_later_configurations_have_to_repeat_the_first(self) -> None:
        driver = Driver(FakeHost({b"a": b"{}", b"b": b"{}", b"c": b"{ }"}))
        assert driver.call("aclInit", b"a") == 0
        assert driver.call("aclInit", b"c") == 100002  # not even looked at
        driver.ok("aclFinalize")
        assert driver.call("aclInit", b"c") == 100000
        assert driver.call("aclInit", None) == 100000
        assert driver.call("aclInit", b"b") == 0

    def test_a_default_device_is_opened_by_the_first_call_that_needs_a_context(self) -> None:
        content = json.dumps({"defaultDevice": {"default_device": "1"}}).encode()
        driver = Driver(FakeHost({b"acl.json": content}))
        driver.ok("aclInit", b"acl.json")
        assert device_of(driver) == 1
        assert not driver.machine.contexts  # asking for the device does not open it
        driver.ok("aclrtCreateEvent", OUT)
        assert device_of(driver) == 1
        assert driver.machine.devices[1].selected == 1
        driver.ok("aclrtSetDevice", 0)
        assert device_of(driver) == 0
        driver.ok("aclFinalize")
        assert driver.call("aclrtCreateEvent", OUT, thread=2) == 107002


class TestDevices:
    def test_selections_are_counted_per_process(self) -> None:
        driver = Driver()
        assert driver.call("aclrtResetDevice", 0) == 507007
        driver.ok("aclrtSetDevice", 0)
        driver.ok("aclrtSetDevice", 0, thread=2)
        driver.ok("aclrtResetDevice", 0)
        assert (device_of(driver), device_of(driver, 2)) == (0, 0)
        driver.ok("aclrtResetDevice", 0)
        assert (device_of(driver), device_of(driver, 2)) == (-107002, -107002)
        assert driver.call("aclrtResetDevice", 0) == 507007

    def test_a_real_release_takes_the_context_of_the_calling_thread_even_on_another_device(self) -> None:
        driver = Driver().opened(0)
        zero = driver.ok("aclrtGetCurrentContext", OUT)
        driver.ok("aclrtSetDevice", 1)
        driver.ok("aclrtResetDevice", 0)
        assert device_of(driver) == -107002
        assert driver.call("aclrtSetCurrentContext", zero) == 107000
        driver.ok("aclrtSetDevice", 1)
        driver.ok("aclrtResetDevice", 1)
        assert device_of(driver) == 1  # not released: selected twice

    def test_a_failed_reset_takes_nothing(self) -> None:
        driver = Driver().opened(1)
        assert driver.call("aclrtResetDevice", 0) == 507007
        assert device_of(driver) == 1

    def test_explicit_contexts_outlive_a_reset_and_stay_current(self) -> None:
        driver = Driver().opened()
        context = driver.ok("aclrtCreateContext", OUT, 0)
        stream, event = driver.stream(), driver.event()
        driver.ok("aclrtResetDevice", 0)
        assert driver.ok("aclrtGetCurrentContext", OUT) == context
        driver.ok("aclrtRecordEvent", event, stream)
        driver.ok("aclrtDestroyContext", context)
        assert driver.call("aclrtDestroyEvent", event) == 107017

    def test_a_reset_takes_streams_events_and_memory_of_the_device(self) -> None:
        driver = Driver().opened()
        stream, event = driver.stream(), driver.event()
        memory, pinned = driver.device_memory(100), driver.pinned(b"x")
        driver.ok("aclrtResetDevice", 0)
        driver.ok("aclrtSetDevice", 0)
        assert driver.call("aclrtSynchronizeStream", stream) == 107017
        assert driver.call("aclrtRecordEvent", event, 0) == 107017
        assert driver.call("aclrtFree", memory) == 507899
        driver.ok("aclrtFreeHost", pinned)

    def test_threads_that_selected_a_device_have_its_new_primary_context_too(self) -> None:
        driver = Driver().opened()
        driver.ok("aclrtSetDevice", 0, thread=2)
        driver.ok("aclrtResetDevice", 0, thread=2)
        driver.ok("aclrtResetDevice", 0, thread=2)
        assert device_of(driver) == -107002
        driver.ok("aclrtSetDevice", 0, thread=3)
        assert device_of(driver) == 0
        assert device_of(driver, 2) == -107002  # it made the last reset

    def test_the_primary_context_is_the_same_in_every_thread(self) -> None:
        driver = Driver().opened()
        driver.ok("aclrtSetDevice", 0, thread=2)
        assert driver.ok("aclrtGetCurrentContext", OUT) == driver.ok("aclrtGetCurrentContext", OUT, thread=2)

    @pytest.mark.parametrize(
        ("visible", "count", "physical"),
        [
            (None, 4, 0), ("2", 1, 2), ("1,3", 2, 1), ("1, 2", 1, 1), ("1,3,8", 2, 1), ("3,x", 1, 3),
            ("0,1,2,3,", 4, 0), ("", 0, None), ("x", 0, None), ("4", 0, None), ("2,1", 0, None),
            ("1,1", 0, None), ("-1", 0, None), ("9" * 5000, 0, None), (" 1", 0, None),
        ],
    )  # fmt: skip
    def test_visible_devices_are_numbered_from_0(self, visible: str | None, count: int, physical: int | None) -> None:
        driver = Driver(devices=4, visible=visible)
        reply = driver.call("aclrtGetDeviceCount", OUT)
        assert reply == ((0, count) if count else 207004)
        assert driver.call("aclrtSetDevice", count) == 107001
        if count:
            driver.ok("aclrtSetDevice", 0)
            assert device_of(driver) == 0
            driver.device_memory(1)
            assert list(driver.host.stores) == [physical]
        else:
            assert visible is not None and ("ASCEND_RT_VISIBLE_DEVICES" in driver.message(thread=1))

    def test_a_machine_without_devices(self) -> None:
        driver = Driver(devices=0)
        assert driver.host.spans == []
        assert driver.call("aclrtGetDeviceCount", OUT) == 207004
        assert driver.call("aclrtSetDevice", 0) == 107001
        assert driver.call("aclrtGetRunMode", OUT) == (0, 1)

    def test_names(self) -> None:
        assert Driver().call("aclrtGetSocName") == b"Ascend910B1"
        assert Driver(product="310P").call("aclrtGetSocName") == b"Ascend310P3"


class TestContexts:
    def test_a_new_context_becomes_current_and_opens_its_device(self) -> None:
        driver = Driver()
        context = driver.ok("aclrtCreateContext", OUT, 1)
        assert driver.ok("aclrtGetCurrentContext", OUT) == context
        assert device_of(driver) == 1
        driver.stream()
        driver.ok("aclrtDestroyContext", context)
        assert device_of(driver) == -107002

    def test_a_destroyed_context_is_current_in_no_thread(self) -> None:
        driver = Driver().opened()
        context = driver.ok("aclrtCreateContext", OUT, 0)
        driver.ok("aclrtSetCurrentContext", context, thread=2)
        driver.ok("aclrtDestroyContext", context, thread=2)
        assert (device_of(driver), device_of(driver, 2)) == (-107002, -107002)
        assert driver.call("aclrtDestroyContext", context) == 107002
        assert driver.call("aclrtSetCurrentContext", context) == 107000

    def test_its_streams_die_with_it(self) -> None:
        driver = Driver().opened()
        primary = driver.ok("aclrtGetCurrentContext", OUT)
        context = driver.ok("aclrtCreateContext", OUT, 0)
        stream = driver.stream()
        driver.gate(stream)
        driver.ok("aclrtDestroyContext", context)
        driver.ok("aclrtSetCurrentContext", primary)
        assert driver.call("aclrtSynchronizeStream", stream) == 107017
        driver.ok("aclrtSynchronizeDevice")

    def test_selecting_a_device_drops_an_explicit_context(self) -> None:
        driver = Driver().opened()
        primary = driver.ok("aclrtGetCurrentContext", OUT)
        driver.ok("aclrtCreateContext", OUT, 0)
        driver.ok("aclrtSetDevice", 0)
        assert driver.ok("aclrtGetCurrentContext", OUT) == primary

    def test_handles_are_never_reused(self) -> None:
        driver = Driver().opened()
        first = driver.event()
        driver.ok("aclrtDestroyEvent", first)
        assert driver.event() > first


class TestErrors:
    def test_success_leaves_the_last_error_and_reading_takes_it(self) -> None:
        driver = Driver().opened()
        driver.call("aclrtSynchronizeStream", 1)
        driver.ok("aclrtSynchronizeStream", 0)
        assert [driver.call("aclrtPeekAtLastError", 0) for _ in range(2)] == [107017, 107017]
        assert [driver.call("aclrtGetLastError", 0) for _ in range(2)] == [107017, 0]

    def test_the_last_error_belongs_to_the_thread(self) -> None:
        driver = Driver().opened()
        driver.call("aclrtSynchronizeStream", 1)
        assert driver.call("aclrtGetLastError", 0, thread=2) == 0
        assert driver.call("aclrtGetLastError", 0) == 107017

    def test_messages_come_newest_first_and_once(self) -> None:
        driver = Driver().opened()
        assert driver.call("aclGetRecentErrMsg") is None
        driver.call("aclrtCreateEvent", 0)
        driver.call("aclrtSetDevice", 7)
        lines = driver.message().splitlines()
        assert [line.split(":")[0] for line in lines] == ["aclrtSetDevice", "aclrtCreateEvent"]
        assert lines[0].endswith("[107001 ACL_ERROR_RT_INVALID_DEVICEID]")
        assert driver.call("aclGetRecentErrMsg") is None

    def test_messages_belong_to_the_thread(self) -> None:
        driver = Driver().opened()
        driver.ok("aclrtSetDevice", 0, thread=2)
        driver.call("aclrtCreateEvent", 0, thread=2)
        assert driver.message() == ""
        assert "aclrtCreateEvent" in driver.message(thread=2)

    def test_messages_of_all_threads_with_err_msg_mode_1(self) -> None:
        driver = Driver(FakeHost({b"acl.json": b'{"err_msg_mode": "1"}'})).opened()
        driver.ok("aclInit", b"acl.json")
        driver.call("aclrtCreateEvent", 0, thread=2)
        assert "aclrtCreateEvent" in driver.message()

    def test_without_a_context_there_is_always_a_message_and_texts_repeat(self) -> None:
        driver = Driver()
        assert "no current context" in driver.message()
        driver.call("aclrtSetDevice", 7)
        assert "deviceId is 7" in driver.message()
        assert "deviceId is 7" in driver.message()
        driver.ok("aclrtSetDevice", 0)
        assert driver.call("aclGetRecentErrMsg") is None

    def test_what_was_not_told_before_the_context_was_set_is_told_after(self) -> None:
        driver = Driver()
        driver.call("aclrtSetDevice", 7)
        driver.ok("aclrtSetDevice", 0)
        assert "deviceId is 7" in driver.message()

    def test_messages_that_nobody_reads_do_not_pile_up(self) -> None:
        driver = Driver().opened()
        for _ in range(1000):
            driver.call("aclrtCreateEvent", 0)
        assert len(driver.message().splitlines()) == 64

    def test_an_ended_thread_is_forgotten(self) -> None:
        driver = Driver().opened()
        driver.machine.end_thread(1)
        assert device_of(driver) == -107002


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"product": "B200"}, "accepted: 950PR"),
        ({"product": "a2"}, "did you mean A2?"),
        ({"product": "950DR"}, "did you mean 950"),
        ({"behaviour": "observe"}, "did you mean observed?"),
        ({"behaviour": "default,memcpy-kinds=hint"}, "did you mean memcpy-kind?"),
        ({"behaviour": "default,memcpy-kind=hnt"}, "did you mean hint?"),
        ({"behaviour": "default,memcpy-kind"}, "expected switch=value"),
        ({"schedule": "soon"}, "asap, late or seed:N"),
    ],
)
def test_unknown_settings_are_refused_with_a_hint(settings: dict[str, str], hint: str) -> None:
    with pytest.raises(SettingError, match=hint.replace("?", r"\?")):
        Driver(**settings)
