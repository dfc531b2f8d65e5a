"""A live session in the test's own process: the machine, a host memory of a few megabytes, and a list of records.

It does what the real session does, by the same contract (docs/architecture.md), without threads, clock or files: time
advances when the test says so, and records stay Python values, so that a test can alter any of them.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xxhash

from cannery.recorder import records
from cannery.recorder.addresses import AddressBook
from cannery.recorder.claim import join_bundle
from cannery.recorder.codec import Wire
from cannery.recorder.create import create_bundle
from cannery.recorder.forms import schema_of
from cannery.recorder.packing import pack
from cannery.recorder.payloads import PayloadStore
from cannery.recorder.records import (
    Call,
    Effect,
    Enter,
    Exit,
    Expire,
    Note,
    Pace,
    Payload,
    Record,
    Signal,
    ThreadEnd,
)
from cannery.recorder.rows import RowMaker
from cannery.recorder.writer import StreamWriter
from cannery.replayer.replay import Replay, Stop
from cannery.replayer.stores import Budget, ReplayStore
from cannery.runtime.api import MODEL
from cannery.runtime.invoke import Invoke
from cannery.runtime.kernels import KernelRun
from cannery.runtime.machine import Machine, Wait
from cannery.runtime.models.load import Models
from cannery.runtime.models.run import Failure
from cannery.runtime.models.run import run as run_model
from cannery.runtime.settings import Settings
from tests.fake_session import Member, Session
from tests.fakes import check_holds, ident
from tests.live_exchange import LiveExchange

DEVICE_BASE = 0x2000_0000_0000
HOST_BASE = 0x5000_0000_0000
HOST_SIZE = 8 << 20
PINNED = 4 << 20  # pinned memory begins here in the host's memory
START = 1_000_000_000
SCHEMA = schema_of(MODEL)
OUT = 0x1000  # the address of an output, of which the machine looks only at "is it null"


class Host:
    """A HostPort over one bytearray. ``policy`` as in the trace format, section 7."""

    def __init__(self, policy: str, member: Member) -> None:
        self.exchange = LiveExchange(member, lambda effect: self.effects.append(effect), self._shared)
        self.memory = bytearray(HOST_SIZE)
        self.effects: list[Effect] = []
        self.contents: dict[bytes, bytes] = {}
        self.files: dict[bytes, bytes] = {}
        self.span = 0
        self.pinned: Callable[[int, int], int] = lambda address, size: 0
        self.unpinned: Callable[[int], None] = lambda address: None
        self.token: Callable[[int], int] = lambda value: 0
        self.worker_threads: dict[int, int] = {}  # by ordinal: which worker a thread is
        self.exhausted = False
        self.models = Models()
        self.policy = policy
        self._next = PINNED

    def put(self, offset: int, data: bytes) -> int:
        """Write into pageable host memory; its address."""
        self.memory[offset : offset + len(data)] = data
        return HOST_BASE + offset

    def _payload(self, data: bytes, given: bool) -> Payload:
        if self.policy == "none":
            return Payload(len(data), None, None)
        if len(data) <= 32 and self.policy != "hash":
            return Payload(len(data), None, data)
        digest = xxhash.xxh3_128_digest(data)
        if self.policy == "full" or (self.policy == "input" and given):
            self.contents[digest] = data
        return Payload(len(data), digest, None)

    def content(self, payload: Payload) -> bytes | None:
        return payload.content if payload.digest is None else self.contents.get(payload.digest)

    def _shared(self, data: bytes) -> None:
        self._note("shared", data, True)

    def _inside(self, address: int, size: int) -> slice | None:
        start = address - HOST_BASE
        return slice(start, start + size) if start >= 0 and start + size <= HOST_SIZE else None

    def _note(self, kind: str, data: bytes | None, given: bool = False) -> bool:
        payload = None if data is None else self._payload(data, given)
        self.effects.append(Effect(kind, data is not None, payload))
        return data is not None

    def device_base(self, span: int) -> int:
        self.span = span
        return DEVICE_BASE

    def device_store(self, device: int, span: int) -> ReplayStore:
        store = self.exchange.member.stores[device] = ReplayStore(span, Budget(1 << 62))
        return store

    def read(self, address: int, into: memoryview) -> bool:
        where = self._inside(address, len(into))
        if where is not None:
            into[:] = self.memory[where]
        return self._note("read", None if where is None else bytes(into), True)

    def write(self, address: int, data: memoryview) -> bool:
        where = self._inside(address, len(data))
        if where is not None:
            self.memory[where] = data
        return self._note("write", None if where is None else bytes(data))

    def move(self, destination: int, source: int, size: int) -> bool:
        to, of = self._inside(destination, size), self._inside(source, size)
        if to is None or of is None:
            return self._note("move", None)
        data = bytes(self.memory[of])
        self.memory[to] = data
        return self._note("move", data)

    def fill(self, address: int, value: int, size: int) -> bool:
        where = self._inside(address, size)
        if where is not None:
            self.memory[where] = bytes((value,)) * size
        self.effects.append(Effect("fill", where is not None))
        return where is not None

    def pinned_alloc(self, size: int) -> int:
        end = self._next + -(-size // 4096) * 4096
        if self.exhausted or end > HOST_SIZE:
            self.effects.append(Effect("alloc", False))
            return 0
        address, self._next = HOST_BASE + self._next, end
        self.effects.append(Effect("alloc", True, region=self.pinned(address, size)))
        return address

    def pinned_free(self, address: int) -> None:
        self.unpinned(address)

    def thread(self, ordinal: int) -> tuple[int, int]:
        worker = self.worker_threads.get(ordinal, 0)
        self.effects.append(Effect("thread", True, None, 0, self.token(ident(ordinal)), worker))
        return ident(ordinal), worker

    def tid(self, ordinal: int) -> int:
        self.effects.append(Effect("tid", True, None, 0, self.exchange.name(4000 + ordinal)))
        return 4000 + ordinal

    def data(self, address: int, size: int) -> bytes | None:
        content = self.copied(address, size)
        return None if content is None else bytes(content)

    def copied(self, address: int, size: int) -> memoryview | None:
        if self._inside(address, size) is None:
            self._note("read", None, True)
            return None
        into = memoryview(bytearray(size))
        return into if self.read(address, into) else None

    def model(self, name: bytes) -> bool:
        model = self.models.find(name)
        if model is None:
            self.effects.append(Effect("model", False))
            return False
        digest = self.models.digest(model)
        self.effects.append(Effect("model", True, Payload(len(digest), None, digest), text=model.name))
        return True

    def unmodelled(self, name: bytes) -> None:
        pass

    def log(self, level: int, file: bytes, line: int, text: bytes) -> None:
        pass

    def kernel(self, run: KernelRun) -> str | None:
        model = self.models.find(run.name)
        assert model is not None
        try:
            wrote, saw = run_model(model, run, self._peek, self._poke)
        except Failure as failure:
            self.effects.append(Effect("kernel", False, text=str(failure)))
            return str(failure)
        self.effects.append(Effect("kernel", True, parts=len(saw) + len(wrote)))
        for kind, ranges in (("saw", saw), ("wrote", wrote)):
            for place, offset, data in ranges:
                payload = self._payload(bytes(data), True)
                self.effects.append(Effect(kind, True, payload, place=place, offset=offset))
        return None

    def _peek(self, address: int, into: memoryview) -> bool:
        where = self._inside(address, len(into))
        if where is not None:
            into[:] = self.memory[where]
        return where is not None

    def _poke(self, address: int, data: memoryview) -> bool:
        where = self._inside(address, len(data))
        if where is not None:
            self.memory[where] = data
        return where is not None

    def file(self, path: bytes) -> bytes | None:
        data = self.files.get(path)
        self._note("file", data, True)
        return data

    def write_file(self, path: bytes, content: bytes) -> bool:
        if path.startswith(b"/nowhere/"):
            return self._note("file", None)
        self.files[path] = content
        return self._note("file", content, True)


class Live:
    """Drives a machine and keeps ``records``, as a bundle would give them back."""

    def __init__(self, settings: Settings | None = None, policy: str = "input", session: Session | None = None) -> None:
        self.settings = settings or Settings(devices=2)
        self.host = Host(policy, (session or Session()).join())
        self.machine = Machine(self.settings, self.host)
        self.now = START
        self.records: list[Record] = []
        self.calls = 0
        self._book = AddressBook(DEVICE_BASE, self.host.span)
        self.wire = Wire(self._book)
        self.host.pinned = self._book.add
        self.host.token = self.wire.tokens.__getitem__
        self.host.exchange.name = self.wire.names.__getitem__
        self.host.exchange.now = lambda: self.machine.now
        self.host.unpinned = self._book.remove
        self._waiting: dict[int, Wait] = {}
        self._open: dict[int, list[tuple[int, str]]] = {}  # numbers and names of calls that have not ended, by thread
        self._running: dict[int, list[str]] = {}  # signatures of functions that run, by thread, or by -worker

    # Steps

    def call(self, name: str, *args: Any, thread: int = 1, after: int = 1000) -> Any:
        """One call, ``after`` nanoseconds after the step before. The reply as the machine gives it."""
        function = MODEL[name]
        codec = self.wire.function(SCHEMA[name])
        handler = self.machine.handlers[function.index]
        number, self.calls = self.calls, self.calls + 1
        time = self.now + after - START
        self._begin(after)
        if handler is None:
            ins = _frozen(codec.encode_ins(args))
            answer = function.result.unsupported
            self._end(lambda effects: Call(number, thread, time, name, answer, ins, codec.blank, effects, False))
            return answer
        reply = handler(self.machine.thread(thread), *args)
        if isinstance(reply, Wait | Invoke):
            ins = _frozen(codec.encode_ins(args))
            self._open.setdefault(thread, []).append((number, name))
            self._end(lambda effects: Enter(number, thread, time, name, ins, effects), thread, reply)
            return reply
        ret, *outs = codec.encode_reply(reply)
        ins = _frozen(codec.encode_ins(args))
        self._end(lambda effects: Call(number, thread, time, name, ret, ins, _frozen(outs), effects))
        return reply

    def create(self, name: str, *args: Any, thread: int = 1) -> int:
        """A call that has to succeed and has one output: the output."""
        ret, value = self.call(name, OUT, *args, thread=thread)
        assert ret == 0, (name, ret)
        return int(value)

    def create_last(self, name: str, *args: Any) -> int:
        """Like :meth:`create`, for a function whose output is its last parameter."""
        ret, value = self.call(name, *args, OUT)
        assert ret == 0, (name, ret)
        return int(value)

    def ok(self, name: str, *args: Any, thread: int = 1, after: int = 1000) -> None:
        """A call that has to succeed."""
        reply = self.call(name, *args, thread=thread, after=after)
        assert (reply[0] if isinstance(reply, tuple) else reply) == 0, (name, reply)

    def pace(self, after: int) -> None:
        self._begin(after)
        self.machine.pace()
        self._end(lambda effects: Pace(self.now - START, effects))

    def signal(self, after: int = 1000) -> None:
        """Another process did something."""
        self._begin(after)
        self.machine.signalled()
        self._end(lambda effects: Signal(self.now - START, effects))

    def expire(self, thread: int) -> None:
        """Let the limit of a thread's wait pass."""
        wait = self._waiting[thread]
        assert wait.deadline is not None
        self._begin(max(wait.deadline - self.now, 0))
        self.machine.expire(wait)
        self._end(lambda effects: Expire(thread, self.now - START, effects))

    def returned(self, thread: int, value: int, after: int = 1000) -> Any:
        """The function of the program that a thread runs for its innermost open call returns."""
        self._begin(after)
        reply = self.machine.returned(self.machine.thread(thread), value)
        number, time, wire = self._open[thread][-1][0], self.now - START, self._value(thread, value)
        self._end(lambda effects: records.Returned(number, thread, time, wire, effects), thread, reply)
        return reply

    def errand_done(self, worker: int, value: int = 0, after: int = 1000) -> None:
        """The function of the program that a worker runs returns."""
        self._begin(after)
        self.machine.errand_done(worker, value)
        time, wire = self.now - START, self._value(-worker, value)
        self._end(lambda effects: records.Errand(worker, time, wire, effects))

    def _value(self, runner: int, value: int) -> Any:
        return self.wire.returned(self._running[runner].pop())[0](value)

    def end_thread(self, thread: int) -> None:
        self.now += 1000
        self.machine.end_thread(thread)
        self._add(ThreadEnd(thread, self.now - START))

    def waiting_threads(self) -> set[int]:
        return set(self._waiting)

    def runners(self) -> list[int]:
        """The threads, and workers as numbers below 0, that run functions of the program."""
        return [runner for runner, signatures in self._running.items() if signatures]

    def limited(self, thread: int) -> bool:
        """Whether a thread's wait has a limit."""
        return self._waiting[thread].deadline is not None

    # Replay

    def replay(
        self,
        given: list[Record] | None = None,
        *,
        keep_going: bool = False,
        what_if: Settings | None = None,
        first_ordinal: int = 0,
        models: Models | None = None,
    ) -> Replay:
        """Replay ``given``, or what was recorded."""
        replay = Replay(
            what_if or self.settings,
            SCHEMA,
            DEVICE_BASE,
            self.host.span,
            START,
            self.host.content,
            first_ordinal=first_ordinal,
            what_if=what_if is not None,
            keep_going=keep_going,
            models=models,
        )
        try:
            replay.run(self.records if given is None else given)
            replay.finish(True)
        except Stop:
            pass
        return replay

    # Bundle

    def save(self, path: Path, given: list[Record] | None = None, **more: Any) -> Path:
        """Write ``given``, or what was recorded, as a process that is gone, into a new bundle or one of ours. ``more``
        goes into its sheet."""
        session, schema = "a test", SCHEMA.pack()
        if not path.exists():
            os.close(create_bundle(str(path), session, schema, tool="test"))
        folder = join_bundle(
            str(path),
            session,
            schema,
            settings=self.settings.to_map(),
            start=START,
            device_base=DEVICE_BASE,
            device_span=self.host.span,
            payload=self.host.policy,
            host={"pid": 0, "arguments": ["./app", "argument"]},
            **more,
        )
        stops: list[str] = []
        writer = StreamWriter(folder.path, SCHEMA.functions, self.wire, stops.append)
        rows = RowMaker(SCHEMA)
        for record in self.records if given is None else given:
            for row in rows.rows(record):
                writer.append(pack(row))
        store = PayloadStore(folder.pack, "full", None, stops.append)
        for content in self.host.contents.values():
            store.keep(content, True)
        store.close()
        writer.close()
        os.close(folder.lock)
        assert stops == []
        return path

    def _begin(self, after: int) -> None:
        self.now += after
        self.machine.begin(self.now)

    def _add(self, record: Record) -> None:
        for region in self._book.fresh:
            self.records.append(Note("region", region))
        self._book.fresh.clear()
        self._book.settle()
        self.records.append(record)

    def _end(self, record: Callable[[tuple[Effect, ...]], Record], thread: int = 0, reply: Any = None) -> None:
        """The end of a step, and of what it brought about: ``reply`` to the open call of ``thread``, ends of waits,
        errands. What ending waits moved belongs to the effects of the step."""
        check_holds(self.machine)
        ended = self.machine.take_ended() if self.machine.waits else []
        effects, self.host.effects = tuple(self.host.effects), []
        self._add(record(effects))
        if thread:
            self._outcome(thread, reply)
        for wait in ended:
            del self._waiting[wait.thread]
            self._outcome(wait.thread, wait.reply)
        for errand in self.machine.take_errands():
            self._invoke(None, None, errand.worker, errand.invoke)
        self.machine.take_dismissed()
        self.machine.discarded.clear()

    def _outcome(self, thread: int, reply: Any) -> None:
        """What a call that did not end at once does next."""
        number, name = self._open[thread][-1]
        if isinstance(reply, Wait):
            if reply.reply is None:
                self._waiting[thread] = reply
        elif isinstance(reply, Invoke):
            self._invoke(number, thread, 0, reply)
        else:
            self._open[thread].pop()
            ret, *outs = self.wire.function(SCHEMA[name]).encode_reply(reply)
            self._add(Exit(number, thread, name, ret, _frozen(outs)))

    def _invoke(self, number: int | None, thread: int | None, worker: int, invoke: Invoke) -> None:
        self._running.setdefault(-worker or thread or 0, []).append(invoke.signature)
        token, signature, *args = self.wire.invoked(invoke.function, invoke.signature, invoke.arguments)
        self._add(records.Invoke(number, thread, worker, token, signature, tuple(args)))


def _frozen(values: list[Any]) -> tuple[Any, ...]:
    """Wire values as the reader gives them: arrays are tuples."""
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)
