"""Tasks of model instances: what they are, changing them, leaving them out (reference documents and implementation)."""

from struct import unpack_from
from typing import Any

import pytest

from tests.fakes import OUT
from tests.graph_tools import EXTERNAL, SYNC, GraphDriver, opened
from tests.test_machine_graph_tasks_arguments import VALUE_WAIT, VALUE_WRITE, params

OTHER, EVENT_RECORD, EVENT_WAIT, EVENT_RESET = 0, 2, 3, 4
NOT_READY = 507011
UNION = 72


def tasks_of(driver: GraphDriver, model: int, stream: int = -1) -> Any:
    """The tasks of one of the instance's streams, by default of that where the capture began."""
    inner = driver.ok("aclmdlRIGetStreams", model, OUT, 9)[0][stream]
    count = driver.ok("aclmdlRIGetTasksByStream", inner, 0, 0)[1]
    tasks, found = driver.ok("aclmdlRIGetTasksByStream", inner, OUT, count)
    assert len(tasks) == found == count
    return tasks


def kinds(driver: GraphDriver, tasks: Any) -> list[int]:
    return [driver.ok("aclmdlRITaskGetType", task, OUT) for task in tasks]


def written(driver: GraphDriver, count: int = 2) -> tuple[int, int, Any]:
    """An instance that writes 1, 2, .. to the values in memory; that memory; its tasks."""
    memory, stream = driver.device_memory(8 * count), driver.stream()
    driver.put(memory, b"\0" * 8 * count)
    driver.begin(stream)
    for number in range(count):
        driver.ok("aclrtValueWrite", memory + 8 * number, number + 1, 0, stream)
    model = driver.end(stream)
    return model, memory, tasks_of(driver, model)


def values(driver: GraphDriver, memory: int, count: int = 2) -> list[int]:
    return [int.from_bytes(driver.get(memory + 8 * number, 8), "little") for number in range(count)]


class TestWhatTheyAre:
    def test_in_the_order_of_capture_with_the_end_of_the_instance_last(self) -> None:
        driver = opened()
        memory, stream, side = driver.device_memory(16), driver.stream(), driver.stream()
        driver.begin(stream)
        driver.ok("aclrtValueWrite", memory, 1, 0, stream)
        driver.ok("aclrtValueWait", memory, 1, 1, stream)
        driver.crossing(stream, side)
        driver.copy(memory, memory + 8, 8, side)
        driver.crossing(side, stream)
        model = driver.end(stream)
        tasks = tasks_of(driver, model)
        assert kinds(driver, tasks) == [VALUE_WRITE, VALUE_WAIT, EVENT_RECORD, EVENT_WAIT, OTHER]
        other = tasks_of(driver, model, 0)
        assert kinds(driver, other) == [EVENT_WAIT, OTHER, EVENT_RECORD]
        order = {driver.ok("aclmdlRITaskGetSeqId", task, OUT): task for task in (*tasks, *other)}
        assert [order[number] for number in sorted(order)] == [*tasks[:3], *other, *tasks[3:]]

    def test_a_task_keeps_its_handle(self) -> None:
        driver = opened()
        model, _, tasks = written(driver)
        assert tasks_of(driver, model) == tasks

    @pytest.mark.parametrize("external", [False, True])
    def test_parameters_of_events(self, external: bool) -> None:
        """Those with the flag EXTERNAL have no type, but parameters."""
        driver, event = opened(), 0
        stream = driver.stream()
        driver.begin(stream)
        if external:
            event = driver.ex()
            assert driver.record_external(event, stream) == 0
        else:
            event = driver.crossing(stream, stream)
        tasks = tasks_of(driver, driver.end(stream))
        content = driver.ok("aclmdlRITaskGetParams", tasks[0], OUT)
        assert len(content) == 200
        assert unpack_from("<i", content) == (EVENT_RECORD,)
        assert unpack_from("<QII", content, UNION) == (event, SYNC, int(external))
        assert kinds(driver, tasks)[0] == (OTHER if external else EVENT_RECORD)
        if not external:
            content = driver.ok("aclmdlRITaskGetParams", tasks[1], OUT)
            assert unpack_from("<i", content) == (EVENT_WAIT,)
            assert unpack_from("<QII", content, UNION) == (event, SYNC, 0)

    def test_a_reset(self) -> None:
        driver = opened()
        stream, event = driver.stream(), driver.event(EXTERNAL)
        driver.begin(stream)
        driver.ok("aclrtResetEvent", event, stream)
        tasks = tasks_of(driver, driver.end(stream))
        assert kinds(driver, tasks) == [EVENT_RESET, OTHER]
        content = driver.ok("aclmdlRITaskGetParams", tasks[0], OUT)
        assert unpack_from("<QII", content, UNION) == (event, EXTERNAL, 0)

    def test_parameters_of_values(self) -> None:
        driver = opened()
        _, memory, tasks = written(driver)
        content = driver.ok("aclmdlRITaskGetParams", tasks[1], OUT)
        assert content == params(VALUE_WRITE, memory + 8, 2)

    def test_of_an_instance_that_is_built_by_hand(self) -> None:
        driver = opened()
        memory, stream = driver.device_memory(8), driver.persistent()
        model = driver.by_hand(stream)
        driver.ok("aclrtValueWrite", memory, 1, 0, stream)
        driver.ok("aclrtRecordEvent", driver.event(SYNC), stream)
        tasks, count = driver.ok("aclmdlRIGetTasksByStream", stream, OUT, 9)
        assert (kinds(driver, tasks), count) == ([VALUE_WRITE, EVENT_RECORD], 2)
        driver.ok("aclmdlRIUnbindStream", model, stream)
        assert driver.call("aclmdlRITaskGetType", tasks[0], OUT) == 107017


class TestChanging:
    def test_a_write_becomes_another_one(self) -> None:
        driver = opened()
        model, memory, tasks = written(driver)
        driver.ok("aclmdlRITaskSetParams", tasks[0], params(VALUE_WRITE, memory, 77))
        assert driver.ok("aclmdlRITaskGetParams", tasks[0], OUT) == params(VALUE_WRITE, memory, 77)
        assert driver.call("aclmdlRIExecuteAsync", model, 0) == NOT_READY
        for _ in range(2):
            driver.ok("aclmdlRIUpdate", model)
        driver.run(model)
        assert values(driver, memory) == [77, 2]

    def test_a_write_becomes_a_wait(self) -> None:
        driver = opened()
        model, memory, tasks = written(driver)
        driver.ok("aclmdlRITaskSetParams", tasks[0], params(VALUE_WAIT, memory, 5, 1))
        assert kinds(driver, tasks[:1]) == [VALUE_WAIT]
        driver.ok("aclmdlRIUpdate", model)
        stream = driver.stream()
        driver.ok("aclmdlRIExecuteAsync", model, stream)
        driver.pace(5)
        assert values(driver, memory) == [0, 0]
        driver.ok("aclrtValueWrite", memory, 5, 0, 0)
        driver.ok("aclrtSynchronizeStream", stream)
        assert values(driver, memory) == [5, 2]

    def test_one_is_left_out_until_its_parameters_are_set(self) -> None:
        driver = opened()
        model, memory, tasks = written(driver)
        driver.ok("aclmdlRITaskDisable", tasks[0])
        assert driver.call("aclmdlRIExecuteAsync", model, 0) == NOT_READY
        driver.ok("aclmdlRIUpdate", model)
        driver.run(model)
        assert values(driver, memory) == [0, 2]
        assert kinds(driver, tasks[:1]) == [VALUE_WRITE]
        driver.ok("aclmdlRITaskSetParams", tasks[0], params(VALUE_WRITE, memory, 3))
        driver.ok("aclmdlRIUpdate", model)
        driver.run(model)
        assert values(driver, memory) == [3, 2]

    @pytest.mark.parametrize("left_out", [2, 3])
    def test_who_waits_for_a_record_that_is_left_out_waits_for_ever(self, left_out: int) -> None:
        """Place 2 is the record, place 3 the wait for it."""
        driver = opened()
        memory, stream, side = driver.device_memory(8), driver.stream(), driver.stream()
        driver.put(memory, bytes(8))
        driver.begin(stream)
        driver.crossing(stream, side)
        event = driver.ex()
        driver.ok("aclrtRecordEvent", event, side)
        driver.ok("aclrtStreamWaitEvent", stream, event)
        driver.ok("aclrtValueWrite", memory, 1, 0, stream)
        model = driver.end(stream)
        tasks = [*tasks_of(driver, model, 0), *tasks_of(driver, model, 1)]
        place = [driver.ok("aclmdlRITaskGetSeqId", task, OUT) for task in tasks].index(left_out)
        driver.ok("aclmdlRITaskDisable", tasks[place])
        driver.ok("aclmdlRIUpdate", model)
        driver.ok("aclmdlRIExecuteAsync", model, stream)
        driver.pace(1000)
        assert driver.ok("aclrtStreamQuery", stream, OUT) == (1 if left_out == 2 else 0)
        assert values(driver, memory, 1) == [0 if left_out == 2 else 1]

    def test_nothing_to_update(self) -> None:
        driver = opened()
        model, memory, _ = written(driver)
        driver.ok("aclmdlRIUpdate", model)
        driver.ok("aclmdlRIDebugPrint", model)
        driver.run(model)
        assert values(driver, memory) == [1, 2]


def test_handles_end_with_their_instance() -> None:
    driver = opened()
    model, _, tasks = written(driver)
    driver.ok("aclmdlRIDestroy", model)
    for function, *arguments in (("GetType", OUT), ("GetSeqId", OUT), ("GetParams", OUT), ("Disable",)):
        assert driver.call(f"aclmdlRITask{function}", tasks[0], *arguments) == 107017
