"""The live exchange: what other processes of the session do, and what this one tells them (``runtime/exchange.py`` says
what each method promises). Each answer becomes an effect of the present step.

The session is joined with the first use of a device. Where that is not possible the process goes on alone, with one
line.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

from xxhash import xxh3_128_digest

from cannery.recorder import format
from cannery.recorder.codec import NameTable
from cannery.recorder.payloads import PayloadStore
from cannery.runtime import exchange
from cannery.shim._engine import ffi, lib
from cannery.shim.host_files import map_file
from cannery.shim.keys import SECRET, make_key, parse_key
from cannery.shim.session_files import GONE, LISTED, SessionFiles

PAGE: Final = 4096

#: Unsettled changes are looked for again after that time, ns.
SOON: Final = 50_000


class SharedStore:
    """The bytes of memory that another process has: a part of its file."""

    def __init__(self, view: memoryview) -> None:
        self.view = view

    def discard(self, offset: int, size: int) -> None:
        """Nothing: the pages are the other process's."""

    def written(self) -> list[tuple[int, int]]:
        return [(0, len(self.view))]


class LiveExchange:
    """``effects`` is the list of the present step's; ``names`` and ``payloads`` are the recording's once it began."""

    def __init__(self, variables: dict[str, str], effects: list[Any], say: Callable[[str], None]) -> None:
        self.names = NameTable()
        self.payloads: PayloadStore | None = None
        self.descriptor: Callable[[int], tuple[int, int]] = lambda device: (
            -1,
            0,
        )  # of a device's memory, and its inode
        self._variables = variables
        self._effects = effects
        self._say = say
        self._files: SessionFiles | None = None
        self._alone = False
        self._listens = False
        self.step: Callable[[], int] = lambda: 0  # the time of the present step
        self._refused: dict[tuple[int, ...], int] = {}  # by question: the step in which it was answered with no
        self._held: dict[tuple[int, int], int] = {}  # what the others held when it was last told
        self._indices: dict[int, int] = {}  # by number of the entry
        self._fixed_keys = variables.get("CANNERY_CLOCK") == "virtual"
        self._made = 0

    def join(self) -> SessionFiles | None:
        """The session's files; None, after one line, where there is nothing to share things in."""
        if self._files is None and not self._alone:
            try:
                self._files = SessionFiles(self._variables, session_of_process())
            except OSError as error:
                self._alone = True
                self._say(f"this process shares nothing with others: {error.strerror or error}")
        return self._files

    def signalled(self) -> int:
        """Whether anything changed that this process waits for: CHANGED, UNCHANGED or UNSETTLED (engine.h)."""
        return 0 if self._files is None else int(lib.cannery_exchange_changed())

    def _note(self, topic: int, *values: int) -> None:
        self._effects.append((format.PEER, topic, *values))

    def _listen(self) -> None:
        if not self._listens:
            self._listens = True
            lib.cannery_listen(lib.cannery_exchange_bell())

    # Processes and budgets.

    def process_id(self) -> int:
        found = os.getpid()
        self._note(format.PROCESS_ID, self.names[found])
        return found

    def hold(self, device: int, budget: int, amount: int, limit: int) -> int:
        files = self._files or self.join()
        if files is None:
            return 0
        others: int = lib.cannery_exchange_hold(device, budget, amount, limit)
        if others < 0 or (others and not amount):  # refused, or somebody asks how much is left: look who lives
            with files.locked():
                buried = files.bury()
            if buried:
                others = lib.cannery_exchange_hold(device, budget, amount, limit)
            others = others if others >= 0 else -1 - others
        if others != self._held.get((device, budget), 0):
            self._held[device, budget] = others
            self._note(format.HELD, device, budget, others)
        return others

    # Entries.

    def share(self, kind: int, device: int, offset: int, size: int, listed: bool) -> tuple[int, Any]:
        number, key = self._share(kind, device, offset, size, listed)
        self._note(format.SHARE, number, self.names[key])
        return number, key

    def _share(self, kind: int, device: int, offset: int, size: int, listed: bool) -> tuple[int, Any]:
        files = self.join()
        if files is None:
            return 0, b""
        stored = min(kind, exchange.PHYSICAL)
        descriptor, identity = self.descriptor(device) if stored >= exchange.MEMORY else (0, 0)
        secret = self._secret()
        try:
            with files.locked():
                index, entry = files.add()
                if stored == exchange.EVENT:
                    files.records(index)
                entry.secret = secret
                entry.flags = LISTED if listed else 0
                entry.device = device
                entry.offset, entry.size = offset, size
                entry.number, entry.identity = max(descriptor, 0), identity
                entry.kind = stored
                number = int(entry.serial)
        except OSError as error:
            self._say(f"a key cannot be made: {error.strerror or error}")
            return 0, b""
        self._indices[number] = index
        return number, make_key(kind, index, secret)

    def _secret(self) -> bytes:
        if not self._fixed_keys:
            return os.urandom(SECRET)
        self._made += 1  # equal runs give equal keys
        seed = f"{self._variables.get('CANNERY_SCHEDULE', '')}/{self._made}".encode()
        return (xxh3_128_digest(seed) + xxh3_128_digest(seed, 1))[:SECRET]

    def _find(self, kind: int, key: Any) -> tuple[int, Any] | None:
        """With the lock: the index and the entry that a key names; None if it names none of that kind."""
        files = self._files
        assert files is not None
        parsed = parse_key(kind, key)
        if parsed is None:
            return None
        index, secret = parsed
        entry = files.entry(index)
        if entry is None or entry.kind != min(kind, exchange.PHYSICAL):
            return None
        return (index, entry) if bytes(ffi.buffer(entry.secret))[: len(secret)] == secret else None

    def allow(self, kind: int, key: Any, processes: Sequence[int]) -> int:
        outcome = self._allow(kind, key, processes)
        self._note(format.ALLOW, outcome)
        return outcome

    def _allow(self, kind: int, key: Any, processes: Sequence[int]) -> int:
        files = self.join()
        if files is None:
            return exchange.UNKNOWN
        try:
            with files.locked():
                found = self._find(kind, key)
                if found is None or found[1].flags & GONE:
                    return exchange.UNKNOWN
                if found[1].owner != files.slot:
                    return exchange.NOT_OWN
                for process in processes:
                    files.put_on_list(found[1], process)
        except OSError:
            return exchange.ALONE
        return exchange.DONE

    def open(self, kind: int, key: Any) -> tuple[int, int, int, int]:
        found = self._open(kind, key)
        self._note(format.OPEN, *found)
        return found

    def _open(self, kind: int, key: Any) -> tuple[int, int, int, int]:
        files = self.join()
        if files is None:
            return exchange.UNKNOWN, 0, 0, 0
        with files.locked():
            found = self._find(kind, key)
            if found is None:
                return exchange.UNKNOWN, 0, 0, 0
            index, entry = found
            if entry.flags & GONE or not files.lives(entry.owner):
                return exchange.GONE, 0, 0, 0
            if entry.owner == files.slot:
                return exchange.OWN, 0, 0, 0
            if entry.flags & LISTED and not files.is_on_list(entry, os.getpid()):
                return exchange.UNLISTED, 0, 0, 0
            files.hold(index)
        number = int(entry.serial)
        self._indices[number] = index
        return exchange.DONE, number, int(entry.device), int(entry.size)

    def close(self, entry: int) -> None:
        files = self._files
        if files is None:
            return
        index = self._indices.pop(entry)
        self._refused = {question: step for question, step in self._refused.items() if question[0] != entry}
        with files.locked():
            if files.entry(index).owner == files.slot:
                files.withdraw(index)
            else:
                files.let_go(index)

    def revoke(self, kind: int, key: Any) -> tuple[int, int]:
        found = self._revoke(kind, key)
        self._note(format.REVOKE, *found)
        return found

    def _revoke(self, kind: int, key: Any) -> tuple[int, int]:
        files = self.join()
        if files is None:
            return exchange.UNKNOWN, 0
        with files.locked():
            found = self._find(kind, key)
            if found is None or found[1].flags & GONE:
                return exchange.UNKNOWN, 0
            index, entry = found
            if entry.owner != files.slot:
                return exchange.NOT_OWN, 0
            number = int(entry.serial)
            files.withdraw(index)
        self._indices.pop(number, None)
        return exchange.DONE, number

    def hasten(self, due: int) -> None:
        if not self._fixed_keys:  # the virtual clock stands still while nobody calls
            lib.cannery_hasten(due)

    # Notifies.

    def _asked(self, *question: int) -> bool:
        """Whether that was asked in this step already, and answered with no: see runtime/exchange.py."""
        return self._refused.get(question) == self.step()

    def _refuse(self, *question: int) -> bool:
        self._refused[question] = self.step()
        self._listen()
        return False

    def signal(self, entry: int) -> None:
        self._refused.pop((entry,), None)
        self._note(format.SIGNALLED, entry, int(lib.cannery_exchange_signal(self._indices[entry], 1)))

    def take(self, entry: int) -> bool:
        count = 0 if self._asked(entry) else int(lib.cannery_exchange_take(self._indices[entry]))
        if not count:
            return self._refuse(entry)
        self._note(format.TAKEN, entry, count)
        return True

    def clear(self, entry: int) -> None:
        self._note(format.CLEARED, entry, int(lib.cannery_exchange_clear(self._indices[entry])))

    # Events.

    def _slots(self, entry: int) -> tuple[int, Any]:
        assert self._files is not None
        index = self._indices[entry]
        return index, self._files.records(index)

    def record(self, entry: int) -> int:
        record = int(lib.cannery_exchange_record(*self._slots(entry)))
        if record:
            self._note(format.RECORD, entry, record)
        else:
            self._listen()
        return record

    def complete(self, entry: int, record: int) -> None:
        lib.cannery_exchange_done(*self._slots(entry), record)
        self._note(format.COMPLETE, entry, record)

    def latest(self, entry: int) -> int:
        index, slots = self._slots(entry)
        assert self._files is not None
        record = int(self._files.entry(index).latest)
        if record and not lib.cannery_exchange_outstanding(index, slots, record):
            record = 0
        elif record:
            self._listen()
        self._note(format.LATEST, entry, record)
        return record

    def completed(self, entry: int, record: int) -> bool:
        if self._asked(entry, record) or lib.cannery_exchange_outstanding(*self._slots(entry), record):
            return self._refuse(entry, record)
        self._note(format.COMPLETED, entry, record)
        return True

    # Memory.

    def store(self, entry: int, size: int) -> SharedStore | None:
        found = self._map(self._indices[entry], size)
        self._note(format.STORE, int(found is not None))
        return found

    def _map(self, index: int, size: int) -> SharedStore | None:
        """The other process's file is reached by its descriptor, which the program may have closed: it is looked at."""
        assert self._files is not None
        entry = self._files.entry(index)
        owner = self._files.member(entry.owner)
        try:
            path = f"/proc/{owner.pid}/fd/{entry.number}"
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:
            return None
        try:
            if os.fstat(descriptor).st_ino != entry.identity:
                return None
            first = entry.offset % PAGE
            view = map_file(descriptor, first + size, entry.offset - first)
        except OSError:
            return None
        finally:
            os.close(descriptor)
        lib.cannery_keep_from_children(ffi.from_buffer(view), first + size)
        return SharedStore(view[first:])

    def snapshot(self, view: memoryview) -> memoryview:
        content = memoryview(bytearray(view))
        if self.payloads is not None:
            self._effects.append((format.SHARED, self.payloads.keep(content, given=True)))
        return content

    def touch(self, entry: int) -> None:
        assert self._files is not None
        index = self._indices.get(entry)
        if index is not None and any(self._files.entry(index).waiting):
            lib.cannery_exchange_signal(index, 0)

    def untouched(self, entry: int) -> None:
        index = self._indices[entry]
        lib.cannery_exchange_watch(index, lib.cannery_exchange_state(index))
        self._listen()

    def abandon(self) -> None:
        """In a forked child: the parent's part in the session is not ours, and its files were not inherited."""
        lib.cannery_exchange_begin(ffi.NULL, 0)
        _ABANDONED.append(self._files)
        self._files = None
        self._alone = True


_ABANDONED: Final[list[SessionFiles | None]] = []


def session_of_process() -> str:
    """The name of the session, which the program hands on to those it starts: the launcher's, or else one of its
    own."""
    for variable in (b"CANNERY_SESSION", b"CANNERY_SHARED"):
        value = lib.cannery_getenv(variable)
        if value != ffi.NULL and ffi.string(value):
            return str(ffi.string(value).decode(errors="surrogateescape"))
    name = os.urandom(8).hex()
    lib.cannery_setenv(b"CANNERY_SHARED", name.encode())
    return name
