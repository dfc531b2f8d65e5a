"""Kernels in a comparison: functions and binaries are objects, and pointers among arguments lead to memory."""

from typing import Any

import pytest

from tests.diff_tools import assert_same, first_cause
from tests.kernel_tools import block
from tests.live import OUT, Live
from tests.scenarios_kernels import FLOATS, SIZE, TO_HOST, found, loaded, opened, upload


def program(
    name: bytes = b"add", number: int = FLOATS, first: int = 0, extra: bool = False, way: str = "block"
) -> Live:
    """Add two arrays, and look at the sum. ``extra``: something else is made before, so that all numbers and addresses
    are other ones."""
    live = opened()
    if extra:
        live.create("aclrtMalloc", 100, 0)
        live.create("aclrtCreateStream")
        found(live, loaded(live), b"unknown")
    stream, binary = live.create("aclrtCreateStream"), loaded(live)
    chosen = found(live, binary, name)
    memories = [upload(live, bytes(range(start, start + SIZE))) for start in (0, 64)]
    result = live.create("aclrtMalloc", SIZE, 0)
    pointers = (memories[first], memories[1], result)
    if way == "block":
        arguments = block(*pointers, number=number)
        live.ok("aclrtLaunchKernelWithHostArgs", chosen, 8, stream, None, arguments, len(arguments), None, 0)
    else:
        held = live.call("aclrtKernelArgsInit", chosen, OUT)[1]
        for content in (*map(block, pointers), number.to_bytes(4, "little")):
            live.ok("aclrtKernelArgsAppend", held, content, len(content), OUT)
        live.ok("aclrtKernelArgsFinalize", held)
        live.ok("aclrtLaunchKernelWithConfig", chosen, 8, stream, None, held, 0)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpy", live.host.put(8192, b""), SIZE, result, SIZE, TO_HOST)
    return live


def without_extra(live: Live) -> list[Any]:
    """Its records without the calls that only make everything else have other numbers."""
    return [record for record in live.records if getattr(record, "number", 99) not in (1, 2, 3, 4)]


@pytest.mark.parametrize("way", ["block", "list"])
def test_where_objects_and_memory_lie_does_not_count(way: str) -> None:
    assert_same(program(way=way), without_extra(program(extra=True, way=way)))


@pytest.mark.parametrize(
    ("way", "change", "function", "facet"),
    [
        ("block", {"name": b"double"}, "aclrtBinaryGetFunction", "argument kernelName"),
        ("block", {"number": 8}, "aclrtLaunchKernelWithHostArgs", "argument hostArgs"),
        ("block", {"first": 1}, "aclrtLaunchKernelWithHostArgs", "argument hostArgs"),
        ("list", {"number": 8}, "aclrtKernelArgsAppend", "argument param"),
        ("list", {"first": 1}, "aclrtKernelArgsAppend", "argument param"),
    ],
)
def test_another_kernel_pointer_or_number_is_the_cause(
    way: str, change: dict[str, Any], function: str, facet: str
) -> None:
    cause = first_cause(program(way=way), without_extra(program(extra=True, way=way, **change)))
    assert cause.calls[0][0].function == function
    assert [each.what for each in cause.facets] == [facet]
    if "hostArgs" in facet:
        assert cause.facets[0].a.startswith("[d+0x")
        assert cause.facets[0].a.endswith("0x00000010]")
