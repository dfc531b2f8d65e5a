"""The state of a machine as a value: complete, the same when it is captured again, and harmless when it is altered."""

import gc
from typing import Any

import msgpack
import pytest

from cannery.replayer.replay import Replay
from cannery.runtime import ids, tasks, waits
from cannery.runtime.errors import Message, Refused
from cannery.runtime.host_functions import Job, Runner, new_worker
from cannery.runtime.invoke import SHOWN
from cannery.runtime.lanes import Lane
from cannery.runtime.machine import Machine
from cannery.runtime.pages import PAGE, Page, install_pages, pages
from cannery.runtime.settings import Settings
from cannery.runtime.state import State, StateError, capture, fields_of, known_classes
from cannery.runtime.state_install import install
from tests import scenarios
from tests.live import Live


def through_bytes(state: State) -> State:
    packed = msgpack.packb(state.to_wire())
    return State.from_wire(msgpack.unpackb(packed, use_list=False))


def with_pages(replay: Replay) -> tuple[list[Page], dict[bytes, bytes]]:
    contents: dict[bytes, bytes] = {}
    listed = pages(replay.machine, lambda digest, view: contents.__setitem__(digest, bytes(view)))
    return listed, contents


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:3"])
@pytest.mark.parametrize("scenario", scenarios.ALL)
def test_a_state_that_is_installed_is_captured_again(scenario: str, schedule: str) -> None:
    live = scenarios.ALL[scenario]()
    settings = live.settings._replace(schedule=schedule)
    replay = live.replay([], what_if=settings)
    for record in live.records:
        replay.run([record])
        state = capture(replay.machine)
        listed, contents = with_pages(replay)
        fresh = live.replay([], what_if=settings)
        install(fresh.machine, through_bytes(state))
        install_pages(fresh.machine, listed, contents.__getitem__)
        assert capture(fresh.machine).same(state)
        assert with_pages(fresh) == (listed, contents)


def test_the_classes_of_what_is_queued_or_waits_are_known() -> None:
    known = set(known_classes(Machine).values())
    families = [tasks.Task, waits.Resume, waits.Until, waits.Then, Lane, Runner, Job]
    while families:
        family = families.pop()
        if family.__module__.startswith("cannery."):  # tests have some of their own
            assert family in known, family
            families += family.__subclasses__()


def test_every_slot_is_state() -> None:
    """But for the flag that is the same for all tasks of a class."""
    for cls in (tasks.SharedRecord, tasks.Copy, ids.HardwareId, Message):
        declared = {*getattr(cls, "__mypyc_attrs__", ())}
        declared |= {name for base in cls.__mro__ for name in getattr(base, "__slots__", ())}
        declared -= set() if issubclass(cls, tasks.Record) else {"inert"}
        assert {*fields_of(cls.__new__(cls))} == declared
    assert {*fields_of(Refused(1, ""))} == {"number", "remembered", "report", "text", "values"}


def test_what_is_unknown_is_not_left_out() -> None:
    class Stranger:
        pass

    for value in (Stranger(), lambda: 0, range(3), object()):
        machine: Any = scenarios.selected().machine
        machine.dismissed.append(value)
        with pytest.raises(StateError, match=r"Machine.dismissed"):
            capture(machine)


def test_a_list_that_two_objects_share_would_be_two() -> None:
    live = scenarios.selected()
    context = next(iter(live.machine.contexts.values()))
    live.machine.streams = context.streams
    with pytest.raises(StateError, match="share"):
        capture(live.machine)


def test_a_machine_goes_back_to_a_state_of_its_own() -> None:
    live = scenarios.selected()
    machine = live.machine
    stream = live.create("aclrtCreateStream")
    flag = live.create("aclrtCreateEventWithFlag", 1)
    live.ok("aclrtStreamWaitEvent", stream, flag)
    thread, context = machine.threads[1], next(iter(machine.contexts.values()))
    queued = machine.streams[stream].queue
    before = capture(machine)
    live.ok("aclrtRecordEvent", flag, 0)
    live.ok("aclrtSynchronizeStream", stream)
    live.create("aclrtCreateStream")
    live.ok("aclrtDestroyStream", stream)
    threads, waiting = machine.threads, machine.waits
    install(machine, before)
    assert capture(machine).same(before)
    assert machine.threads is threads and machine.waits is waiting
    assert machine.threads[1] is thread and machine.contexts[context.handle] is context
    assert machine.streams[stream].queue is queued and len(queued) == 1
    live.ok("aclrtRecordEvent", flag, 0)
    live.ok("aclrtSynchronizeStream", stream)


def test_parts_can_be_left_out() -> None:
    live = scenarios.selected()
    state = capture(live.machine, leave=("caller", "threads", "waits"))
    live.call("aclrtSetDevice", 99)
    assert live.machine.threads[1].last_error
    install(live.machine, state)
    assert live.machine.threads[1].last_error
    with pytest.raises(StateError, match="other attributes"):
        install(Live(live.settings).machine, through_bytes(state))


def test_what_a_machine_had_before_is_no_cycle() -> None:
    live = scenarios.ALL["captures"]()
    install(live.machine, capture(live.machine))
    state = capture(live.machine)
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            stream = live.create("aclrtCreateStream")
            flag = live.create("aclrtCreateEventWithFlag", 1)
            live.ok("aclrtStreamWaitEvent", stream, flag)
            live.create("aclrtCreateContext", 0)
            install(live.machine, state)
            live.records.clear()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_an_altered_state_is_refused_or_installed_but_never_more() -> None:
    """Every value of a state in turn becomes another one."""
    live = scenarios.ALL["waits"]()
    replay = live.replay([])
    replay.run(live.records[: len(live.records) // 2])
    wire = capture(replay.machine).to_wire()
    others = (
        None,
        -1,
        1 << 62,
        "aclrt",
        b"",
        (),
        (0, 9999),
        (0, -1),
        (0, "x"),
        (3, -5),
        (4, 1),
        (99,),
        (7, "x"),
        (2, ((),)),
    )
    for place in range(0, len(wire["objects"]), 3):
        row = wire["objects"][place]
        for column in range(len(row)):
            other = others[(place + column) % len(others)]
            objects = [*wire["objects"]]
            objects[place] = (*row[:column], other, *row[column + 1 :])
            machine = Live(live.settings).machine
            try:
                install(machine, State.from_wire({"classes": wire["classes"], "objects": objects}))
            except StateError:
                continue


@pytest.mark.parametrize("text", ["{0.__class__}", "{:>999999999}", "{!a}", "{", "{} {}", "{number}", "{:#x}"], ids=str)
def test_a_text_cannot_do_anything(text: str) -> None:
    live = scenarios.selected()
    live.call("aclrtSynchronizeStream", 5)
    live.machine.threads[1].messages[-1].refused.text = text
    live.machine.threads[1].messages[-1].refused.values = ("value",)
    with pytest.raises(StateError):
        install(Live(live.settings).machine, through_bytes(capture(live.machine)))


@pytest.mark.parametrize("wire", [None, {}, {"classes": [], "objects": []}, {"classes": [1], "objects": [()]}])
def test_what_is_no_state_is_refused(wire: Any) -> None:
    with pytest.raises(StateError):
        install(Live(Settings(devices=1)).machine, State.from_wire(wire))


def test_only_classes_of_the_model_are_made() -> None:
    wire = capture(Live(Settings(devices=1)).machine).to_wire()
    for name in ("os.system", "waits.Nothing", "machine.Machine", "errors.Again", "settings.Settings"):
        classes = [
            (name, *fields) if kind == "objects.Process" else (kind, *fields) for kind, *fields in wire["classes"]
        ]
        with pytest.raises(StateError, match="does not know"):
            install(Live(Settings(devices=1)).machine, State.from_wire({**wire, "classes": classes}))


def test_pages_are_those_that_are_not_zero() -> None:
    live = scenarios.selected()
    address = live.create("aclrtMalloc", 8 << 20, 0)
    small = live.create("aclrtMalloc", 512, 0)
    live.ok("aclrtMemset", address + 3 * PAGE + 5, 10, 7, 10)
    live.ok("aclrtMemset", address + 5 * PAGE, PAGE, 0, PAGE)
    live.ok("aclrtMemset", small, 512, 1, 512)
    kept: list[bytes] = []
    listed = pages(live.machine, lambda digest, view: kept.append(bytes(view)))
    offset = (address - live.machine.memory.base) // PAGE
    assert [(device, number) for device, number, _ in listed] == [(0, 0), (0, offset + 3)]
    assert kept[1][5:15] == b"\7" * 10 and sum(kept[1]) == 70
    install_pages(live.machine, listed[:1], lambda digest: kept[0])
    assert [number for _, number, _ in pages(live.machine, lambda digest, view: None)] == [0]
    for page in ((1, 0, b""), (0, -1, b""), (9, 0, b"")):
        with pytest.raises(ValueError, match=r"no page|no memory"):
            install_pages(live.machine, [page], lambda digest: kept[0])
    with pytest.raises(ValueError, match="a page of"):
        install_pages(live.machine, listed, lambda digest: b"x")


def test_functions_of_the_program_are_state() -> None:
    live = scenarios.selected()
    job = Job()
    job.invoke = SHOWN
    new_worker(live.machine).add(live.machine, job)
    machine = Live(live.settings).machine
    install(machine, through_bytes(capture(live.machine)))
    assert machine.errands[0].invoke.signature == SHOWN.signature
    assert machine.busy(machine.errands[0].worker)
