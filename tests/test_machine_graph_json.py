"""aclmdlRIDebugJsonPrint: what stands in the file, and when it cannot be written."""

import json
from typing import Any

import pytest

from cannery.recorder.records import Call
from tests.fakes import OUT
from tests.graph_tools import GraphDriver
from tests.kernel_tools import block, elf, models
from tests.live import Live

PATH = b"/model.json"
SUMMARY, VERBOSE = 0, 1


class Printing(GraphDriver):
    """A device, a stream, and a kernel with a model."""

    def __init__(self) -> None:
        super().__init__()
        self.host.files[b"/k.o"] = elf("double")
        self.host.models = models()
        self.opened()
        self.s = self.stream()
        self.memory = self.device_memory(64)

    def kernel(self, stream: int) -> None:
        binary = self.ok("aclrtBinaryLoadFromFile", b"/k.o", None, OUT)
        function = self.ok("aclrtBinaryGetFunction", binary, b"double", OUT)
        arguments = block(self.memory)
        self.ok("aclrtLaunchKernelWithHostArgs", function, 4, stream, None, arguments, len(arguments), None, 0)

    def printed(self, model: int, flags: int = SUMMARY) -> list[dict[str, Any]]:
        self.ok("aclmdlRIDebugJsonPrint", model, PATH, flags)
        events: list[dict[str, Any]] = json.loads(self.host.files[PATH])
        return events


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["args"]["Task Type"] for event in events]


def test_each_task_is_an_event_of_its_stream() -> None:
    driver = Printing()
    driver.begin(driver.s)
    driver.copy(driver.memory, driver.memory + 32, 16, driver.s)
    driver.kernel(driver.s)
    model = driver.end(driver.s)
    first, second, end = driver.printed(model)
    assert types([first, second]) == ["MEMORY_COPY", "KERNEL_LAUNCH"]
    assert [event["name"] for event in (first, second)] == ["memory copy", "double"]
    assert {event["tid"] for event in (first, second, end)} == {f"stream{first['args']['Stream Id']}"}
    assert [event["args"]["Task Id"] for event in (first, second, end)] == [0, 1, 2]
    assert first["args"]["Model Id"] == driver.ok("aclmdlRIGetId", model, OUT)
    assert second["args"]["Numblocks"] == 4 and "Kernel Args" not in second["args"]
    assert second["ts"] == first["ts"] + first["dur"] > 0


@pytest.mark.parametrize("others", [0, 0x2, 0xFFFF_FFFE])
def test_arguments_of_kernels_are_told_if_asked_for_whatever_other_flags_say(others: int) -> None:
    driver = Printing()
    driver.begin(driver.s)
    driver.kernel(driver.s)
    model = driver.end(driver.s)
    launch, _ = driver.printed(model, VERBOSE | others)
    assert launch["args"]["Kernel Args"] == f"0x{driver.memory:016x}"
    assert launch["args"]["Kernel Args Size"] == 8
    launch, _ = driver.printed(model, SUMMARY | others)
    assert "Kernel Args" not in launch["args"]


def test_streams_of_an_instance_built_by_hand() -> None:
    driver = Printing()
    one, two = driver.persistent(), driver.persistent()
    model = driver.by_hand(one, two)
    driver.copy(driver.memory, driver.memory + 32, 16, two)
    driver.built(model, one)
    events = driver.printed(model)
    assert len({event["tid"] for event in events}) == 2 and "MEMORY_COPY" in types(events)


def test_text_that_a_task_was_given_stands_with_it() -> None:
    """Of more than 4096 bytes the first ones (reference page of aclrtCacheLastTaskExtendInfo)."""
    driver = Printing()
    driver.begin(driver.s)
    for text in (b'{"a": "\xc3\xa9"}', b"x" * 5000):
        driver.copy(driver.memory, driver.memory + 32, 16, driver.s)
        driver.ok("aclrtCacheLastTaskExtendInfo", text, len(text))
    first, second, end = driver.printed(driver.end(driver.s))
    assert first["args"]["ExtendInfo"] == '{"a": "é"}'
    assert second["args"]["ExtendInfo"] == "x" * 4096
    assert "ExtendInfo" not in end["args"]


def test_a_task_that_was_cleaned_away_is_given_no_text() -> None:
    driver = Printing()
    bound = driver.persistent()
    model = driver.by_hand(bound)
    driver.copy(driver.memory, driver.memory + 32, 16, bound)
    driver.ok("aclrtCacheLastTaskExtendInfo", b"{}", 2)
    driver.built(model, bound)
    driver.ok("aclrtPersistentTaskClean", bound)
    assert driver.printed(model) == []
    assert driver.call("aclrtCacheLastTaskExtendInfo", b"{}", 2) == 507000


def test_a_file_that_cannot_be_written_is_refused() -> None:
    driver = Printing()
    model = driver.by_hand()
    assert driver.call("aclmdlRIDebugJsonPrint", model, b"/nowhere/model.json", SUMMARY) == 107000
    assert "the file /nowhere/model.json" in driver.message()


@pytest.mark.parametrize("content", [b"[\n\n]\n", b"[]"], ids=["same", "other"])
def test_a_replay_writes_nothing_and_compares_what_was_written(content: bytes) -> None:
    live = Live()
    live.ok("aclrtSetDevice", 0)
    model = live.create("aclmdlRIBuildBegin", 0)
    live.ok("aclmdlRIDebugJsonPrint", model, PATH, SUMMARY)
    assert live.host.files.pop(PATH) == b"[\n\n]\n"
    last = live.records[-1]
    assert isinstance(last, Call)
    (effect,) = last.effects
    assert effect.kind == "file" and effect.payload is not None
    payload = effect.payload._replace(size=len(content), content=content)
    differences = live.replay([*live.records[:-1], last._replace(effects=(effect._replace(payload=payload),))])
    assert bool(differences.compared.differences) == (content == b"[]")
    assert live.host.files == {}
