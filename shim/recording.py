"""The recording of one process: from the session's steps to the bundle, or to nothing.

What goes wrong here ends the recording with one line; the program never notices. Imported in every process that makes
a call.
"""

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cannery.recorder import format
from cannery.recorder.addresses import AddressBook
from cannery.recorder.claim import ProcessFolder, join_bundle, let_go
from cannery.recorder.codec import FunctionCodec, Wire
from cannery.recorder.create import create_bundle
from cannery.recorder.encoders import Encoder
from cannery.recorder.format import BundleExists, TraceError
from cannery.recorder.forms import schema_of
from cannery.recorder.payloads import PayloadStore
from cannery.recorder.policy import parse_policy
from cannery.recorder.sizes import SizeError, parse_size
from cannery.recorder.tail import COMPLETE, Keep, between_windows, is_complete
from cannery.recorder.writer import StreamWriter
from cannery.runtime.api import MODEL
from cannery.runtime.invoke import Invoke
from cannery.runtime.machine import Machine
from cannery.runtime.settings import SettingError, Settings
from cannery.runtime.variables import check_session, switched
from cannery.runtime.version import VERSION
from cannery.shim._engine import ffi, lib
from cannery.shim.host import LiveHost
from cannery.shim.host_files import map_file
from cannery.shim.journal import JournalWriter
from cannery.shim.messages import say

if TYPE_CHECKING:
    from cannery.recorder.selection import SelectiveWriter


class Recording:
    """Records into a process folder while there is one; without, every method does nothing."""

    def __init__(self) -> None:
        self.path: str | None = None
        self.session = ""
        self.folder: ProcessFolder | None = None
        self.writer: StreamWriter | SelectiveWriter | None = None
        self.payloads: PayloadStore | None = None
        self._codecs: dict[int, FunctionCodec] = {}

    @classmethod
    def begin(
        cls,
        variables: Mapping[str, str],
        settings: Settings,
        host: LiveHost,
        machine: Machine,
        parent: "Recording | None",
    ) -> "Recording":
        """The recording that the environment asks for (``CANNERY_TRACE`` and its companions)."""
        recording = cls()
        path = parent.path if parent is not None else variables.get("CANNERY_TRACE")
        try:
            wanted = switched(variables, "CANNERY_RECORD", True)
        except SettingError as error:
            say(f"{error}; recording")
            wanted = True
        if not path or not wanted:
            return recording
        try:
            recording._join(os.path.abspath(path), variables, settings, host, machine, parent)
        except (TraceError, SizeError, SettingError) as error:
            say(f"{error}; running without a trace")
        except OSError as error:
            say(f"cannot record to {path}: {error.strerror or error}; running without a trace")
        return recording

    def _join(
        self,
        path: str,
        variables: Mapping[str, str],
        settings: Settings,
        host: LiveHost,
        machine: Machine,
        parent: "Recording | None",
    ) -> None:
        policy = parse_policy(variables.get("CANNERY_PAYLOAD") or "input")
        keep = _tail(variables, path)
        if keep is not None and is_complete(path):
            return
        selection = None
        if variables.get("CANNERY_CALLS"):
            from cannery.recorder.selection import parse_selection

            selection = parse_selection(variables["CANNERY_CALLS"])
        limit = parse_size(variables["CANNERY_PAYLOAD_LIMIT"]) if variables.get("CANNERY_PAYLOAD_LIMIT") else None
        schema = schema_of(MODEL)
        packed = schema.pack()
        session = parent.session if parent is not None else variables.get("CANNERY_SESSION", "")
        if session:
            check_session(session, "CANNERY_SESSION")
        else:
            session = os.urandom(8).hex()
            force = switched(variables, "CANNERY_FORCE", False)
            try:
                os.close(create_bundle(path, session, packed, force=force, tool=VERSION))
            except BundleExists as error:
                raise BundleExists(str(error).replace("--force", "CANNERY_FORCE=1")) from None
            lib.cannery_setenv(b"CANNERY_SESSION", session.encode())  # for the programs that this one starts
        start = time.monotonic_ns() if settings.clock == "real" else 0
        book = AddressBook(host.base, host.span)
        self.folder = join_bundle(
            path,
            session,
            packed,
            settings=settings.to_map(),
            start=start,
            device_base=host.base,
            device_span=host.span,
            payload=str(policy),
            payload_limit=limit,
            calls=variables.get("CANNERY_CALLS") or None,
            tail=None if keep is None else str(keep),
            parent=parent.folder.ordinal if parent is not None and parent.folder is not None else None,
            first_ordinal=machine.ordinal,
            host={"arguments": _command_line()},
            mapper=map_file,
        )
        self.path = path
        self.session = session
        wire = Wire(book)
        by_engine = variables.get("CANNERY_ENCODER") != "python" and selection is None
        make_writer = JournalWriter if by_engine else StreamWriter
        size = format.WINDOW_SIZE if keep is None else format.TAIL_WINDOW
        writer = make_writer(
            self.folder.path, schema.functions, wire, self._stopped, start=start, mapper=map_file, window_size=size
        )
        self.writer = writer
        self.payloads = PayloadStore(self.folder.pack, str(policy), limit, writer.stop)
        if keep is not None:
            writer.before_window = between_windows(path, self.folder.path, self.payloads)
            writer.before_window(1)
            self.payloads.split(format.TAIL_PACK, writer.end_window)
        if policy.names_functions or selection is not None:
            machine.tell_functions()
            host.moving = machine.moving
        if selection is not None:
            from cannery.recorder.selection import SelectiveWriter

            selective = SelectiveWriter(writer, selection, [form.name for form in schema.functions])
            host.moving = lambda: machine.moving() if selective.wants(machine.calling) else None
            self.writer = selective
        elif isinstance(writer, JournalWriter):
            writer.share(schema.functions, machine.handlers, host.base, host.span)
        host.book = book
        host.tokens = wire.tokens
        host.exchange.names = wire.names
        host.exchange.payloads = self.payloads
        host.payloads = self.payloads
        if self.folder.inflight is not None and writer.stopped is None:
            lib.cannery_set_inflight(ffi.from_buffer(self.folder.inflight), format.SLOTS)

    def _stopped(self, reason: str) -> None:
        lib.cannery_set_inflight(ffi.NULL, 0)
        if reason == COMPLETE:
            return  # the launcher has said so
        say(f"recording to {self.path} ended: {reason}; the program goes on")

    # Steps

    def encoder(self, index: int) -> Encoder | None:
        """What records a completed call of that function; None when nothing is recorded."""
        return None if self.writer is None else self.writer.encoder(index)

    def _codec(self, index: int) -> FunctionCodec:
        assert self.writer is not None
        codec = self._codecs.get(index)
        if codec is None:
            codec = self._codecs[index] = self.writer.codec(index)
        return codec

    def enter(self, index: int, thread: int, now: int, args: Sequence[Any], effects: Sequence[Any]) -> int:
        """A call begins to wait; the number to give to :meth:`exit`."""
        if self.writer is None:
            return 0
        return self.writer.enter(self._codec(index), thread, now, args, effects)

    def exit(self, index: int, number: int, thread: int, reply: Any) -> None:
        """That wait ended."""
        if self.writer is not None:
            self.writer.exit(self._codec(index), number, thread, reply)

    def unsupported(self, index: int) -> Encoder | None:
        """What records a call of that function, which is not implemented; None when nothing is recorded."""
        if self.writer is None:
            return None
        writer = self.writer

        def record(thread: int, now: int, args: Sequence[Any], ret: Any, effects: Sequence[Any]) -> None:
            writer.unsupported(self._codec(index), thread, now, args, ret, effects)

        return record

    def pace(self, now: int, effects: Sequence[Any]) -> None:
        """A step of the pacer."""
        if self.writer is not None:
            self.writer.pace(now, effects)

    def signal(self, now: int, effects: Sequence[Any]) -> None:
        """Another process did what this one waits for."""
        if self.writer is not None:
            self.writer.signal(now, effects)

    def expire(self, thread: int, now: int, effects: Sequence[Any]) -> None:
        """The limit of a wait ran out."""
        if self.writer is not None:
            self.writer.expire(thread, now, effects)

    def invoke(self, thread: int, worker: int, invoke: Invoke) -> None:
        """The step before asked for a function of the program: by a thread, or by a worker."""
        if self.writer is not None:
            self.writer.invoke(thread, worker, invoke)

    def returned(self, thread: int, now: int, value: int, effects: Sequence[Any]) -> None:
        """The function that a thread's call asked for returned."""
        if self.writer is not None:
            self.writer.returned(thread, now, value, effects)

    def errand(self, worker: int, now: int, value: int, effects: Sequence[Any]) -> None:
        """The function that a worker ran returned."""
        if self.writer is not None:
            self.writer.errand(worker, now, value, effects)

    def thread_end(self, thread: int, now: int) -> None:
        """A thread ended."""
        if self.writer is not None:
            self.writer.thread_end(thread, now)

    def abandon(self) -> None:
        """In a forked child: the parent's files stay as they are, and do not say that it lives as long as the child."""
        if self.folder is not None:
            let_go(self.folder)
        if self.writer is not None:
            self.writer.close()
        if self.payloads is not None:
            self.payloads.close()


def _tail(variables: Mapping[str, str], path: str) -> Keep | None:
    """How much of the stream is to be kept; None: all. Raises KeepError."""
    text = variables.get("CANNERY_KEEP")
    if not text:
        return None
    if variables.get("CANNERY_LAUNCH", "").partition(":")[2] != path:
        say("CANNERY_KEEP needs 'cannery run', which drops what is not to be kept; everything is recorded")
        return None
    return Keep.parse(text)


def _command_line() -> list[str]:
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read(1 << 16).split(b"\0")
    except OSError:
        return []
    return [word.decode(errors="replace") for word in words[:-1]]
