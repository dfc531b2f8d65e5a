"""Whatever a program calls, with whatever arguments, from whatever threads: its trace replays to the same results."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cannery.recorder.codec import limits_of
from cannery.recorder.records import Record
from cannery.runtime.api import MODEL, roles
from cannery.runtime.settings import Settings
from tests import kernel_tools
from tests.block_values import block, is_block
from tests.fakes import ident
from tests.live import HOST_BASE, OUT, SCHEMA, Live

KERNELS = (b"add", b"double", b"unknown")
HANDLERS = Live().machine.handlers
FORMS = [SCHEMA[f.name] for f in MODEL.functions if HANDLERS[f.index] is not None]

# Positions are resolved against what the program has by then, so that most arguments are good and some are not.
places = st.integers(0, 30)
sizes = st.sampled_from([0, 1, 16, 100, 4096, 70_000, 3 << 20, 1 << 45])
small = st.integers(-1, 6)
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(FORMS), st.integers(1, 3), st.lists(places, min_size=6, max_size=6), small, sizes),
        st.sampled_from(["pace", "expire", "end", "return", "return", "errand"]),
    ),
    max_size=60,
)


def passed(ctype: str, number: int) -> int:
    """A number as a function with a parameter of that type gets it."""
    least, most = limits_of(ctype) or (-1 << 63, 0)
    return number & most if number < least else number


class Program:
    """Makes calls with arguments of the right kind, from what earlier calls gave."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.handles: list[int] = [0, 0x1234]
        self.addresses: list[int] = [0, HOST_BASE + 100, HOST_BASE + (2 << 20)]
        self.waiting: set[int] = set()

    def step(self, step: Any) -> None:
        if step == "pace":
            self.live.pace(after=40_000)
        elif step == "expire":
            for thread in sorted(self.waiting):
                if self.live.limited(thread):
                    self.live.expire(thread)
                    break
        elif step == "end":
            if 3 not in self.waiting and 3 not in self.live.runners():
                self.live.end_thread(3)
        elif step in ("return", "errand"):
            for runner in self.live.runners():
                if runner < 0 and step == "errand":
                    self.live.errand_done(-runner)
                    break
                if runner > 0 and step == "return" and runner not in self.waiting:
                    self.live.returned(runner, 0)
                    break
        else:
            self._call(*step)
        self.waiting = self.live.waiting_threads()

    def _call(self, form: Any, thread: int, picks: list[int], number: int, size: int) -> None:
        if thread in self.waiting:  # a thread that waits cannot call
            return
        args: list[Any] = []
        for param, pick in zip(form.params, picks * 2, strict=False):
            if param.into == "handle":
                args.append(self.handles[pick % len(self.handles)])
            elif param.into == "address":
                args.append(self.addresses[pick % len(self.addresses)] + (8 if pick == 7 else 0))
            elif param.into == "flag":
                args.append(0 if pick == 13 else OUT)
            elif param.into == "bytes":
                args.append(self._bytes(param.name, picks))
            elif param.into == "token":
                args.append(ident(pick % 4) if param.role == "thread_id" else pick % 5)
            else:
                args.append(size if param.ctype in ("size_t", "uint64_t") else passed(param.ctype, number))
        self._fill_blocks(form, picks, number, args)
        reply = self.live.call(form.name, *args, thread=thread, after=1 + picks[0] * 500)
        if isinstance(reply, tuple) and reply[0] == 0:
            for param, value in zip(form.outputs, reply[1:], strict=True):
                if param.out == "handle" and value:
                    self.handles.append(value)
                elif param.out == "address" and value:
                    self.addresses.append(value)

    def _bytes(self, name: str, picks: list[int]) -> bytes | None:
        """A text, a value, or a block of arguments: two pointers and a number."""
        if name == "kernelName":
            return (b"add", b"double", b"unknown", b"missing")[picks[0] % 4]
        if name not in ("hostArgs", "param"):
            return None
        pointers = [self.addresses[pick % len(self.addresses)] for pick in picks[:3]]
        return kernel_tools.block(*pointers, number=picks[3] % 5)

    def _fill_blocks(self, form: Any, picks: list[int], number: int, args: list[Any]) -> None:
        """Replace arguments whose content the handler gets."""
        params = MODEL[form.name].params
        numbers = {param.name: arg for param, arg in zip(params, args, strict=True) if isinstance(arg, int)}
        for place, param in enumerate(params):
            if is_block(param) and not isinstance(param.role, roles.Buffer):
                pick = picks[place % len(picks)]
                into = form.params[place].into
                content = passed(form.params[place].ctype, number)
                if into == "list:handle":
                    content = self.handles[pick % len(self.handles)]
                elif into == "list:address":
                    content = self.addresses[pick % len(self.addresses)]
                args[place] = None if pick == 13 else block(param, numbers, content)


def record(chosen: Settings, program: list[Any], policy: str = "input") -> Live:
    live = Live(chosen, policy)
    live.ok("aclrtSetDevice", 0)
    live.ok("aclrtSetDevice", 0, thread=2)
    running = Program(live)
    running.handles.append(live.create("aclrtCreateStream"))
    running.handles.append(live.create("aclrtCreateEventWithFlag", 1))
    live.host.models = kernel_tools.models()
    code = kernel_tools.elf("add", "double", "unknown")
    running.addresses.append(live.host.put(3 << 20, code))
    ret, binary = live.call("aclrtBinaryLoadFromData", running.addresses[-1], len(code), None, OUT)
    assert ret == 0
    running.handles += [binary, *(live.call("aclrtBinaryGetFunction", binary, name, OUT)[1] for name in KERNELS)]
    running.addresses.append(live.create("aclrtMalloc", 100, 0))
    for step in program:
        running.step(step)
    return live


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:5"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=steps)
def test_any_program_replays_the_same(schedule: str, program: list[Any]) -> None:
    live = record(Settings(devices=2, schedule=schedule), program)
    replay = live.replay()
    assert replay.compared.differences == []
    assert replay.calls == live.calls


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=steps, product=st.sampled_from(["A2", "310P", "950PR"]), schedule=st.sampled_from(["late", "seed:9"]))
def test_any_what_if_comes_to_an_end(program: list[Any], product: str, schedule: str) -> None:
    """Another product or schedule may change any result, but never what the replay can cope with."""
    live = record(Settings(devices=2), program)
    live.replay(what_if=live.settings._replace(product=product, schedule=schedule))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=steps)
def test_a_what_if_that_changes_nothing_finds_nothing(program: list[Any]) -> None:
    live = record(Settings(devices=2), program)
    assert live.replay(what_if=live.settings).compared.differences == []


def test_a_what_if_compares_objects_by_identity() -> None:
    """A machine that numbers its objects otherwise gives the same results for the same objects."""
    live = record(Settings(devices=2), [])
    stream = live.create("aclrtCreateStream")
    event = live.create("aclrtCreateEvent")
    live.ok("aclrtRecordEvent", event, stream)
    context = live.call("aclrtGetCurrentContext", OUT)[1]
    live.ok("aclrtSetCurrentContext", context)
    for size in (100, 5000):
        address = live.create("aclrtMalloc", size, 0)
        live.ok("aclrtMemset", address + 10, size - 10, 7, 20)
        live.ok("aclrtMemcpy", HOST_BASE, 64, address + 16, 10, 2)
    renumbered: list[Record] = list(live.records)
    replay = live.replay(renumbered, what_if=live.settings, first_ordinal=100)
    assert replay.compared.differences == []
    exact = live.replay(renumbered, first_ordinal=100)
    assert exact.compared.differences[0].what == "output stream"
