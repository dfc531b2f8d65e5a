"""Whatever is called with whatever arguments: a call that is refused leaves the model as it was, and none raises."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cannery.runtime.api import MODEL, roles
from cannery.runtime.invoke import Invoke
from cannery.runtime.machine import Wait
from tests.block_values import block, is_block
from tests.fakes import Driver
from tests.snapshots import state
from tests.test_machine_capture_arguments import GraphWorld

NAMES = sorted(GraphWorld("default").names)
FUNCTIONS = sorted(Driver().handlers)
PARAMETERS = {function.name: [param.ctype for param in function.params] for function in MODEL.functions}
SIGNED = {"int32_t", "aclrtMemcpyKind", "aclrtMemAttr", "aclrtMemMallocPolicy", "aclrtLastErrLevel"}
WIDTHS = {"uint8_t": 8, "uint16_t": 16, "uint32_t": 32}
CONSUMING = (  # what they answer is a failure that counts, or the end of something that failed
    "aclrtSynchronize",
    "aclrtSnapShotProcessBackup",
    "aclmdlRIExecute",
    "aclmdlRICaptureEnd",
    "aclmdlRICaptureTaskGrpEnd",
    "aclmdlRICaptureTaskUpdateEnd",
)
NO_ERRORS = ("aclGetRecentErrMsg", "aclrtGetSocName", "aclrtGetLastError", "aclrtCreateBinary")
BREAKING = frozenset({"broken", "interrupted"})  # a refused call can break a capture


def passed(value: int, ctype: str) -> int:
    """What arrives when a C program passes the value as that type."""
    if ctype in SIGNED:
        return (value + (1 << 31)) % (1 << 32) - (1 << 31)
    return value % (1 << WIDTHS.get(ctype, 64))


def gives(role: roles.Role) -> bool:
    """Whether the handler gets what lies behind the pointer."""
    return role.direction != roles.OUT


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
    world = GraphWorld(behaviour)
    driver = world.driver
    driver.machine.thread(2)
    for (name, arguments), thread in program:
        decoded = [
            passed(world(argument), ctype)
            for argument, ctype in zip(arguments, PARAMETERS[name], strict=True)
        ]
        blocks: dict[int, Any] = {}
        for place, param in enumerate(MODEL[name].params):
            if isinstance(param.role, roles.CString) or (isinstance(param.role, roles.Buffer) and gives(param.role)):
                text = None if isinstance(arguments[place], int) else str(arguments[place]).encode()
                decoded[place] = text.ljust(200, b"\0") if text and param.name == "params" else text
            elif is_block(param):
                numbers = dict(zip((one.name for one in MODEL[name].params), decoded, strict=True))
                blocks[place] = block(param, numbers, decoded[place]) if decoded[place] else None
        for place, value in blocks.items():
            decoded[place] = value
        driver.pace(10)
        before = state(driver.machine, BREAKING)
        reply = driver.call(name, *decoded, thread=thread)
        while isinstance(reply, Invoke):
            reply = driver.machine.returned(driver.machine.thread(thread), 0)
        if isinstance(reply, Wait) or MODEL[name].returns != "aclError" or name in NO_ERRORS:
            continue  # what they return is no number that says whether they were refused
        number = reply[0] if isinstance(reply, tuple) else reply
        if number and not name.startswith(CONSUMING) and number != 100002:
            assert state(driver.machine, BREAKING) == before, (name, arguments, number)
