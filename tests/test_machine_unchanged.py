"""Whatever is called with whatever arguments: a call that is refused leaves the model as it was, and none raises."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cannery.runtime.api import MODEL
from cannery.runtime.machine import Wait
from tests.fakes import Driver
from tests.snapshots import state
from tests.test_machine_arguments import World

NAMES = sorted(World("default").names)
FUNCTIONS = sorted(Driver().handlers)
PARAMETERS = {function.name: [param.ctype for param in function.params] for function in MODEL.functions}
SIGNED = {"int32_t", "aclrtMemcpyKind", "aclrtMemAttr", "aclrtMemMallocPolicy", "aclrtLastErrLevel"}

values = st.one_of(
    st.sampled_from(NAMES),
    st.integers(-2, 10),
    st.sampled_from([64, 63, 4096, 0xFFFFFFFF, -(1 << 31), (1 << 64) - 1, 0x1F00_0000_0010, 0x2000_0000_0000]),
)
calls = st.sampled_from(FUNCTIONS).flatmap(
    lambda name: st.tuples(st.just(name), st.tuples(*(values for _ in PARAMETERS[name])))
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(calls, st.integers(1, 2)), min_size=1, max_size=25),
    st.sampled_from(["default", "documented", "observed"]),
)
def test_a_refused_call_changes_nothing(program: list[tuple[tuple[str, tuple[Any, ...]], int]], behaviour: str) -> None:
    world = World(behaviour)
    driver = world.driver
    driver.machine.thread(2)
    for (name, arguments), thread in program:
        decoded = [
            world(argument) if ctype in SIGNED else world(argument) % (1 << 64)
            for argument, ctype in zip(arguments, PARAMETERS[name], strict=True)
        ]
        if name == "aclInit":
            decoded = [None if isinstance(arguments[0], int) else str(arguments[0]).encode()]
        driver.pace(10)
        before = state(driver.machine)
        reply = driver.call(name, *decoded, thread=thread)
        if isinstance(reply, Wait) or name in ("aclGetRecentErrMsg", "aclrtGetSocName", "aclrtGetLastError"):
            continue
        if isinstance(reply, tuple):
            assert reply[0] == 0
        elif reply and not name.startswith("aclrtSynchronize") and reply != 100002:  # those take a failure, that counts
            assert state(driver.machine) == before, (name, arguments, reply)
