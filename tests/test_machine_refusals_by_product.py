"""The tables of refused calls on every product line: the numbers are those of product A2, but where a table here says
otherwise. Left out are functions that a product does not have, and arguments that need one to be made. That a refused
call changes nothing is shown with A2, by the same tables."""

from collections.abc import Iterator
from typing import Any

import pytest

from cannery.runtime.api import MODEL, PRODUCTS
from tests import (
    test_machine_arguments,
    test_machine_capture_arguments,
    test_machine_conditions_arguments,
    test_machine_event_arguments,
    test_machine_flow_arguments,
    test_machine_graph_tasks_arguments,
    test_machine_stream_arguments,
    test_machine_task_updates_arguments,
)
from tests.fakes import OUT, Driver
from tests.test_machine_arguments import World

TABLES: dict[type[World], Any] = {
    World: test_machine_arguments,
    test_machine_stream_arguments.StreamWorld: test_machine_stream_arguments,
    test_machine_event_arguments.EventWorld: test_machine_event_arguments,
    test_machine_capture_arguments.GraphWorld: test_machine_capture_arguments,
    test_machine_graph_tasks_arguments.TaskWorld: test_machine_graph_tasks_arguments,
    test_machine_conditions_arguments.ConditionWorld: test_machine_conditions_arguments,
    test_machine_flow_arguments.FlowWorld: test_machine_flow_arguments,
    test_machine_task_updates_arguments.UpdateWorld: test_machine_task_updates_arguments,
}
OTHERS = [product for product in PRODUCTS if product != "A2"]


class Absent(int):
    """What a call would have made that the product does not have."""

    def __getitem__(self, place: int) -> "Absent":
        return self

    def __iter__(self) -> Iterator["Absent"]:
        return iter((self, self))


ABSENT = Absent(0xDEAD_0000)


def number(reply: Any) -> Any:
    return reply[0] if isinstance(reply, tuple) else reply


def lenient(kind: type[Driver]) -> type[Driver]:
    """Drivers that go on where the product lacks a function. ``unfit``: streams and events that it was to take."""

    class Lenient(kind):  # type: ignore[valid-type, misc]
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.unfit: set[int] = set()

        def call(self, function: str, *arguments: Any, thread: int = 1) -> Any:
            product = self.machine.profile.name
            if function == "aclrtCreateStream" and product == "IPV350":
                function, arguments = "aclrtCreateStreamV2", (*arguments, 0)
            if product not in MODEL[function].products or ABSENT in arguments:
                known = self.machine.streams.keys() | self.machine.events.keys()
                self.unfit |= {each for each in arguments if isinstance(each, int)} & known
            return super().call(function, *arguments, thread=thread)

        def ok(self, function: str, *arguments: Any, thread: int = 1) -> Any:
            if ABSENT in arguments:
                return ABSENT
            reply = self.call(function, *arguments, thread=thread)
            if number(reply) in (207000, None):
                return ABSENT
            assert number(reply) == 0, (function, arguments, reply)
            outputs = reply[1:] if isinstance(reply, tuple) else (None,)
            return outputs[0] if len(outputs) == 1 else outputs

        def pinned(self, content: bytes) -> int:
            made = self.ok("aclrtMallocHost", OUT, len(content))
            if made is not ABSENT:
                self.host.poke(made, content)
            return int(made)

    return Lenient


EARLIER = ("310B", "310P", "910")
NEEDS = {
    test_machine_capture_arguments.GraphWorld: "aclmdlRICaptureBegin",
    test_machine_conditions_arguments.ConditionWorld: "aclmdlRICondHandleCreate",
}
"""What a product has to have for the world of a table, and of those that build on it."""

_ON, _TWO = test_machine_stream_arguments.attribute(1), test_machine_stream_arguments.attribute(2)
_OVERFLOW, _TAG = test_machine_stream_arguments.OVERFLOW, test_machine_stream_arguments.TAG
_GOOD = test_machine_task_updates_arguments.GOOD

DIFFERENT: dict[tuple[str, str, tuple[Any, ...], int], int] = {
    # semantics.md 1.12: unsigned there, and not checked
    **{
        (product, "aclrtEventElapsedTime", ("out", *pair), 1): 0
        for product in ("950PR", "950DT")
        for pair in (("pending", "plain bound"), ("plain bound", "pending"))
    },
    # reference page of aclrtCreateStreamWithConfig
    ("310P", "aclrtCreateStreamWithConfig", ("out", 0, 0x3F), 1): 207000,
    # semantics.md 0.3: streams have these attributes where there is the newer control queue, and nobody looks elsewhere
    **{
        (product, function, arguments, thread): 0
        for product in EARLIER
        for function, arguments, thread in (
            ("aclrtSetStreamAttribute", ("foreign", _OVERFLOW, _ON), 1),
            ("aclrtSetStreamAttribute", ("stream", _OVERFLOW, _TWO), 1),
            ("aclrtSetStreamAttribute", ("foreign", _TAG, _ON), 1),
            ("aclrtSetStreamAttribute", ("stream", _TAG, _ON), 2),
            ("aclrtSetStreamAttribute", ("null", _TAG, _ON), 2),
            ("aclrtSetStreamAttribute", ("stream", _OVERFLOW, _ON), 2),
            ("aclrtGetStreamAttribute", ("foreign", _TAG, "out"), 1),
            ("aclrtGetStreamAttribute", ("null", _TAG, "out"), 2),
        )
    },
    # reference page of aclrtTaskUpdateAsync
    **{
        (product, "aclrtTaskUpdateAsync", (stream, 1, _GOOD, where), 1): 207000
        for product in ("950PR", "950DT", "310P")
        for stream, where in (("stream", "foreign"), ("stream", "stream"), ("unbound", "stream"))
    },
}
"""By product, function, arguments and thread: what is answered instead; 0 for what is not refused."""


def refused(product: str, world: type[World]) -> tuple[set[str], set[str]]:
    """Make the calls of a table; the functions whose calls were made, and those that had some left out."""

    class There(world):  # type: ignore[valid-type, misc]
        def make(self, kind: type[Driver], behaviour: str) -> Driver:
            return lenient(kind)(behaviour=behaviour, product=product)

    there = There("observed")
    driver = there.driver
    made, left = set(), set()
    for row in TABLES[world].ROWS:
        _, function, arguments, refusal, _, thread = row
        values = [there(argument) for argument in arguments]
        if product not in MODEL[function].products:
            continue
        if any(isinstance(value, int) and (value == ABSENT or value in driver.unfit) for value in values):
            left.add(function)
            continue
        made.add(function)
        answer = number(driver.call(function, *values, thread=thread))
        assert answer == DIFFERENT.get((product, function, arguments, thread), refusal), row
    return made, left


@pytest.mark.parametrize("product", OTHERS)
def test_refused_calls(product: str) -> None:
    made, left = set(), set()
    for world in TABLES:
        if all(product in MODEL[name].products for base, name in NEEDS.items() if issubclass(world, base)):
            once, not_all = refused(product, world)
            made |= once
            left |= not_all
    assert left <= made, "the product has functions all of whose rows were left out"
