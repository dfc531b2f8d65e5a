"""Which calls wait while the process is not RUNNING, and where: between their acl and their runtime checks
(semantics.md 10.6).

The rule is ``waits_while_locked`` in the API model. Every row of the tables of refused calls is made while the process
is locked: what the acl layer refuses is answered at once, what the runtime layer refuses after the unlock.
"""

from importlib import import_module
from typing import Any

import pytest

from cannery.runtime.api import MODEL
from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver
from tests.test_machine_arguments import FUNCTION

WORLDS = (
    ("test_machine_arguments", "World"),
    ("test_machine_capture_arguments", "GraphWorld"),
    ("test_machine_counting_arguments", "CountingWorld"),
    ("test_machine_device_arguments", "World"),
    ("test_machine_event_arguments", "EventWorld"),
    ("test_machine_flow_arguments", "FlowWorld"),
    ("test_machine_graph_tasks_arguments", "TaskWorld"),
    ("test_machine_kernel_arguments", "KernelWorld"),
    ("test_machine_mapped_memory_arguments", "MemoryWorld"),
    ("test_machine_memory_arguments", "MemoryWorld"),
    ("test_machine_notify_arguments", "NotifyWorld"),
    ("test_machine_parameter_arguments", "World"),
    ("test_machine_profiling_arguments", "ProfilingWorld"),
    ("test_machine_queue_arguments", "QueueWorld"),
    ("test_machine_sharing_arguments", "SharingWorld"),
    ("test_machine_small_arguments", "RandomWorld"),
    ("test_machine_state_callback_arguments", "World"),
    ("test_machine_stream_arguments", "StreamWorld"),
    ("test_machine_task_updates_arguments", "UpdateWorld"),
)

EARLY: dict[str, tuple[Any, ...] | None] = {
    "aclmdlRIBuildBegin": ("out", 1),
    "aclrtCmoAsyncWithDesc": None,
    "aclrtMemcpyAsyncWithOffset": None,
    "aclrtRandomNumAsync": ("nowhere",),
    "aclrtMemsetD32": ("freed",),
    "aclrtMemsetD32Async": ("freed",),
}
"""Checks of the runtime layer that come before the wait in the reference implementation: those whose first arguments
are these, or, for None, any that are not held."""

OTHER_PRODUCTS = {
    "aclrtCmoAsyncWithBarrier": ("310B", (0x2000_0000_0000, 64, 2, 1, 0)),
    "aclrtCmoWaitBarrier": ("310B", ((1, ((2, 1),)), 0, 0)),
    "aclrtReserveMemAddressNoUCMemory": ("A3", (OUT, 1 << 30, 0, 1 << 45, 0)),
}
"""Functions that product A2 does not have, with arguments that pass the checks of the acl layer."""


def number(reply: Any) -> Any:
    return reply[0] if isinstance(reply, tuple) else reply


def may_be_early(function: str, arguments: tuple[Any, ...]) -> bool:
    if function not in EARLY:
        return function in OTHER_PRODUCTS
    first = EARLY[function]
    return first is None or arguments[: len(first)] == first


def lock(driver: Driver) -> None:
    driver.ok("aclrtSnapShotProcessLock", 0, 0, thread=99)


def unlock(driver: Driver) -> None:
    driver.ok("aclrtSnapShotProcessUnlock", 0, 0, thread=99)


def held_in(module: str, world_name: str) -> set[str]:
    """Make the calls of a table while the process is locked; the functions that were held."""
    tables = import_module(f"tests.{module}")
    world = getattr(tables, world_name)("default")
    driver = world.driver
    for function in getattr(tables, "REGISTERING", ()):
        driver.ok(function, b"used", FUNCTION, 0)
    held = set()
    for _, function, arguments, expected, layer, thread in tables.ROWS:
        row = f"{function}{arguments} on thread {thread}"
        lock(driver)
        reply = driver.call(function, *map(world, arguments), thread=thread)
        waits = isinstance(reply, Wait)
        if waits:
            assert reply.unlocking and reply.deadline is None, row
            held.add(function)
        unlock(driver)
        assert number(reply.reply if waits else reply) == expected, row
        if not (MODEL[function].waits_while_locked and layer):
            assert not waits, row
        elif not waits:
            assert may_be_early(function, arguments), row
    return held


def test_calls_are_held_between_their_acl_and_their_runtime_checks() -> None:
    held = set.union(*(held_in(module, world) for module, world in WORLDS))
    for function, (product, arguments) in OTHER_PRODUCTS.items():
        driver = Driver(product=product).opened()
        driver.machine.locked = True  # 310B has no snapshots: no program gets there
        reply = driver.call(function, *arguments)
        assert isinstance(reply, Wait) and reply.unlocking, function
        driver.machine.locked = False
        driver.pace()
        assert reply.reply is not None, function
        held.add(function)
    assert held == {name for name in Driver().handlers if MODEL[name].waits_while_locked}


def test_the_model_has_149_functions_that_wait() -> None:
    assert sum(function.waits_while_locked for function in MODEL.functions) == 149


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("aclrtSynchronizeDevice", ()), ("aclrtSynchronizeStream", (0,)), ("aclrtStreamQuery", (0, OUT)),
        ("aclrtGetMemInfo", (1, OUT, OUT)), ("aclrtGetDevice", (OUT,)), ("aclrtGetCurrentContext", (OUT,)),
        ("aclrtGetDeviceCount", (OUT,)), ("aclrtDeviceEnablePeerAccess", (1, 0)), ("aclrtSetOpWaitTimeout", (5,)),
        ("aclrtLaunchHostFunc", (0, 0x5000, 0)), ("aclInit", (None,)), ("aclFinalize", ()),
        ("aclmdlRICaptureThreadExchangeMode", (0,)), ("aclrtDeviceCanAccessPeer", (OUT, 0, 1)),
        ("aclrtMemcpy", (0, 0, 0, 0, 0)),  # nothing to copy
    ],
)  # fmt: skip
def test_calls_that_do_not_wait_succeed_while_locked(function: str, arguments: tuple[Any, ...]) -> None:
    driver = Driver().opened()
    if function == "aclFinalize":
        driver.ok("aclInit", None)
    lock(driver)
    assert number(driver.call(function, *arguments)) == 0


def test_what_was_queued_before_the_lock_goes_on() -> None:
    driver = Driver().opened()
    memory, source = driver.device_memory(64), driver.pinned(b"x" * 64)
    driver.ok("aclrtMemcpyAsync", memory, 64, source, 64, 1, 0)
    lock(driver)
    driver.ok("aclrtSynchronizeStream", 0)
    unlock(driver)
    target = driver.pinned(bytes(64))
    driver.ok("aclrtMemcpy", target, 64, memory, 64, 2)
    assert driver.host.peek(target, 64) == b"x" * 64


def test_held_calls_go_on_in_the_order_in_which_they_were_made() -> None:
    driver = Driver().opened()
    context = driver.ok("aclrtGetCurrentContext", OUT)
    for thread in range(1, 65):
        driver.ok("aclrtSetCurrentContext", context, thread=thread)
    lock(driver)
    order = [thread * 37 % 64 + 1 for thread in range(64)]
    waits = [driver.call("aclrtMalloc", OUT, 512, 0, thread=thread) for thread in order]
    assert not driver.ended
    unlock(driver)
    assert driver.ended == waits and [wait.thread for wait in waits] == order
    addresses = [wait.reply[1] for wait in waits]
    assert all(wait.reply[0] == 0 for wait in waits) and addresses == sorted(addresses)
