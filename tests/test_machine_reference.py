"""The machine against a small model of contexts, streams and events that shares nothing with it.

The model has no time: after every action it lets everything happen that can. The machine gets a second for that, under
every schedule, and then both have to agree on every answer.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from cannery.runtime.machine import Wait
from tests.fakes import OUT, Driver

EXAMPLES, STEPS, LEAST = 700, 50, 20_000
EVENT_KINDS = {"default": (None, False), "sync": (1, False), "ex": (1, True), "progress": (2, True)}


class RefStream:
    def __init__(self, context: "RefContext | None") -> None:
        self.context = context
        self.tasks: list[tuple[str, Any]] = []


class RefContext:
    def __init__(self) -> None:
        self.default = RefStream(self)
        self.streams = [self.default]


class RefEvent:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.record: list[Any] | None = None  # [done, stream]
        self.bit = False


class Reference:
    """Contexts, streams and events by handle."""

    def __init__(self) -> None:
        self.contexts: dict[int, RefContext] = {}
        self.streams: dict[int, RefStream] = {}
        self.events: dict[int, RefEvent] = {}
        self.current: RefContext | None = None
        self.all_streams: list[RefStream] = []

    def settle(self) -> None:
        moved = True
        while moved:
            moved = False
            for stream in self.all_streams:
                while stream.tasks:
                    what, item = stream.tasks[0]
                    if what == "wait record" and not item[0]:
                        break
                    if what == "wait bit" and not item.bit:
                        break
                    if what == "reset":
                        item.bit = False
                    elif what == "record":
                        event, record = item
                        record[0] = True
                        if event.kind == "sync":
                            event.bit = True
                    stream.tasks.pop(0)
                    moved = True

    def drop(self, stream: RefStream) -> None:
        """A stream goes: its records count as done for who waits for them, but set no bit."""
        for what, item in stream.tasks:
            if what == "record":
                item[1][0] = True
        stream.tasks.clear()

    def target(self, handle: int) -> RefStream | int:
        if self.current is None:
            return 107002
        if not handle:
            return self.current.default
        return self.streams[handle] if self.streams[handle].context is self.current else 107003

    def record(self, event_handle: int, handle: int) -> int:
        if event_handle not in self.events or (handle and handle not in self.streams):
            return 107017
        stream = self.target(handle)
        if isinstance(stream, int):
            return stream
        event = self.events[event_handle]
        event.record = [False, stream]
        stream.tasks.append(("record", (event, event.record)))
        return 0

    def reset(self, event_handle: int, handle: int) -> int:
        if event_handle not in self.events or (handle and handle not in self.streams):
            return 107017
        event = self.events[event_handle]
        if event.kind != "sync":
            return 207000
        stream = self.target(handle)
        if isinstance(stream, int):
            return stream
        stream.tasks.append(("reset", event))
        return 0

    def wait(self, handle: int, event_handle: int) -> int:
        if (handle and handle not in self.streams) or event_handle not in self.events:
            return 107017
        event = self.events[event_handle]
        if event.kind == "progress":
            return 207000
        stream = self.target(handle)
        if isinstance(stream, int):
            return stream
        if event.kind == "sync":
            stream.tasks.append(("wait bit", event))
        elif event.record is None:
            return 107000 if event.kind == "default" else 0
        elif not event.record[0] and event.record[1] is not stream:
            stream.tasks.append(("wait record", event.record))
        return 0


class Comparison(RuleBasedStateMachine):
    """``steps`` counts those of all programs."""

    steps = 0

    contexts = Bundle("contexts")
    streams = Bundle("streams")
    events = Bundle("events")

    @initialize(schedule=st.sampled_from(["asap", "late", "seed:1", "seed:99"]))
    def begin(self, schedule: str) -> None:
        self.driver = Driver(schedule=schedule)
        self.reference = Reference()
        self.waits: list[tuple[Wait, RefStream, Any]] = []
        self.event_waits: list[tuple[Wait, list[Any]]] = []
        self.threads = 10

    def done(self) -> None:
        self.reference.settle()
        self.driver.pace(1000)

    def same(self, reply: Any, expected: Any) -> None:
        assert reply == expected
        self.done()

    @rule(target=contexts)
    def create_context(self) -> int:
        handle = int(self.driver.ok("aclrtCreateContext", OUT, 0))
        context = RefContext()
        self.reference.contexts[handle] = self.reference.current = context
        self.reference.all_streams.append(context.default)
        return handle

    @rule(handle=contexts)
    def set_context(self, handle: int) -> None:
        context = self.reference.contexts.get(handle)
        self.same(self.driver.call("aclrtSetCurrentContext", handle), 107000 if context is None else 0)
        self.reference.current = context or self.reference.current

    @rule(handle=consumes(contexts))
    def destroy_context(self, handle: int) -> None:
        context = self.reference.contexts.pop(handle, None)
        reply = self.driver.call("aclrtDestroyContext", handle)
        if context is not None:
            for stream in context.streams:
                self.reference.drop(stream)
                self.reference.all_streams.remove(stream)
            gone = [handle for handle, stream in self.reference.streams.items() if stream in context.streams]
            for stream_handle in gone:
                del self.reference.streams[stream_handle]
            if self.reference.current is context:
                self.reference.current = None
            if not self.reference.contexts:
                self.reference.events.clear()  # the device is closed
        self.same(reply, 107002 if context is None else 0)

    @rule(target=streams)
    def create_stream(self) -> Any:
        reply = self.driver.call("aclrtCreateStream", OUT)
        if self.reference.current is None:
            assert reply == 107002
            return multiple()
        stream = RefStream(self.reference.current)
        self.reference.current.streams.append(stream)
        self.reference.all_streams.append(stream)
        self.reference.streams[reply[1]] = stream
        return reply[1]

    @rule(handle=streams, force=st.booleans())
    def destroy_stream(self, handle: int, force: bool) -> None:
        stream = self.reference.streams.get(handle)
        if stream is not None and stream.tasks and not force:
            return  # it would wait; test_machine_streams.py looks at that
        expected = 0
        if stream is None:
            expected = 107017
        elif self.reference.current is None:
            expected = 107002
        elif stream.context is not self.reference.current:
            expected = 107003
        else:
            del self.reference.streams[handle]
            self.reference.drop(stream)
            self.reference.all_streams.remove(stream)
            self.reference.current.streams.remove(stream)
        self.same(self.driver.call("aclrtDestroyStreamForce" if force else "aclrtDestroyStream", handle), expected)

    @rule(target=events, kind=st.sampled_from(sorted(EVENT_KINDS)))
    def create_event(self, kind: str) -> Any:
        flag, ex = EVENT_KINDS[kind]
        if self.reference.current is None:
            assert self.driver.call("aclrtCreateEvent", OUT) == 107002
            return multiple()
        handle = self.driver.event(flag, ex)
        self.reference.events[handle] = RefEvent(kind)
        return handle

    @rule(handle=consumes(events))
    def destroy_event(self, handle: int) -> None:
        known = self.reference.events.pop(handle, None)
        self.same(self.driver.call("aclrtDestroyEvent", handle), 0 if known else 107017)

    @rule(event=events, stream=st.one_of(streams, st.just(0)))
    def record(self, event: int, stream: int) -> None:
        reply = self.driver.call("aclrtRecordEvent", event, stream)
        self.same(reply, self.reference.record(event, stream))

    @rule(event=events, stream=st.one_of(streams, st.just(0)))
    def wait(self, event: int, stream: int) -> None:
        reply = self.driver.call("aclrtStreamWaitEvent", stream, event)
        self.same(reply, self.reference.wait(stream, event))

    @rule(handle=streams)
    def synchronise(self, handle: int) -> None:
        """On a thread of its own, since it may wait."""
        self.threads += 1
        if not self.reference.contexts:
            return
        self.driver.ok("aclrtSetCurrentContext", next(iter(self.reference.contexts)), thread=self.threads)
        reply = self.driver.call("aclrtSynchronizeStream", handle, thread=self.threads)
        stream = self.reference.streams.get(handle)
        if stream is None:
            assert reply == 107017
        elif not stream.tasks:
            assert reply == 0
        else:
            assert isinstance(reply, Wait)
            self.waits.append((reply, stream, stream.tasks[-1]))

    @rule(handle=events)
    def synchronise_event(self, handle: int) -> None:
        """Needs no context."""
        self.threads += 1
        reply = self.driver.call("aclrtSynchronizeEvent", handle, thread=self.threads)
        event = self.reference.events.get(handle)
        if event is None:
            assert reply == 107017
        elif event.record is None or event.record[0]:
            assert reply == 0
        else:
            assert isinstance(reply, Wait)
            self.event_waits.append((reply, event.record))

    @rule(event=events, stream=st.one_of(streams, st.just(0)))
    def reset(self, event: int, stream: int) -> None:
        """Of an event made by aclrtCreateEvent: test_machine_event_resets.py."""
        known = self.reference.events.get(event)
        if known is None or known.kind != "default":
            reply = self.driver.call("aclrtResetEvent", event, stream)
            self.same(reply, self.reference.reset(event, stream))

    @invariant()
    def queries_agree(self) -> None:
        if not hasattr(self, "driver"):
            return
        Comparison.steps += 1
        driver, reference = self.driver, self.reference
        for handle, stream in reference.streams.items():
            reply = driver.call("aclrtStreamQuery", handle, OUT)
            assert reply == (107002 if reference.current is None else (0, int(bool(stream.tasks))))
        for handle, event in reference.events.items():
            never = int(event.kind in ("ex", "progress"))
            assert driver.call("aclrtQueryEventStatus", handle, OUT) == (
                0,
                never if event.record is None else int(event.record[0]),
            )
        for wait, stream, last in self.waits:
            assert (wait.reply is None) == any(task is last for task in stream.tasks)
            assert wait.reply in (None, 0)
        for wait, record in self.event_waits:
            assert wait.reply == (0 if record[0] else None)
        every = [wait for wait, *_ in (*self.waits, *self.event_waits)]
        assert len(driver.machine.waits) == sum(wait.reply is None for wait in every)


def test_they_agree() -> None:
    """Every step is a call, and everything that can be asked is compared after it."""
    Comparison.steps = 0
    chosen = settings(max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None)
    run_state_machine_as_test(Comparison, settings=chosen)  # type: ignore[no-untyped-call]
    assert Comparison.steps >= LEAST, "too few programs, or too short ones"
