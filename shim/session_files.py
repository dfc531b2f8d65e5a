"""The files of this process's session, mapped (docs/sessions.md): its members and what they share, as exchange.c and
the other processes see them. What is done in more than one step is done with :meth:`SessionFiles.locked`, in such an
order that a kill in the middle leaves nothing that counts, or something that whoever looks next can finish.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from cannery.recorder.window import check_file_size
from cannery.shim import commons, members
from cannery.shim._engine import ffi, lib
from cannery.shim.host_files import map_file, no_file_size_limit

EVENT_KIND: Final = 2  # runtime/exchange.py
ENTRY_SIZE: Final = 256
SEGMENT: Final = 1024
SEGMENTS: Final = 64
LISTED_HERE: Final = 22  # processes that an entry has room for
RECORDS_SIZE: Final = 8192 * 8
LIST: Final = 255  # kind of an entry that has more of another one's list

# Flags of entries.
LISTED: Final = 1  # only for processes on its list
GONE: Final = 2  # not to be opened any more


class SessionFull(commons.NoCommons):
    """The session has no room for more processes."""


class SessionFiles:
    """``slot`` is which member this process is."""

    def __init__(self, place: dict[str, str], session: str) -> None:
        """Join the session. Raises OSError."""
        self._place = place
        self._session = session
        self._name = commons.session_name(session)
        self._segments: list[Any] = []
        self._records: dict[int, Any] = {}  # by entry
        self._pid = os.getpid()
        self._hint = 0
        self.slot = -1
        runtime = commons.open_runtime(place)
        try:
            with commons.locked_session(runtime, self._name) as folder:
                self._map_control(folder)
                self._take_part(folder)
            if self._control.members_used == 1:  # a new session: a good time to look after old ones
                for found in members.left_over(runtime):
                    members.remove_dead(runtime, found.folder)
        finally:
            os.close(runtime)

    @contextmanager
    def _folder(self) -> Iterator[int]:
        """The session's folder. It is opened when needed: the program may close descriptors that it does not know."""
        runtime = commons.open_runtime(self._place, make=False)
        try:
            folder = os.open(self._name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=runtime)
        finally:
            os.close(runtime)
        try:
            yield folder
        finally:
            os.close(folder)

    def _open(self, folder: int, name: str, size: int, fill: Callable[[int], None] | None = None) -> Any:
        """The view of a file, which is made if there is none. Raises OSError."""
        with no_file_size_limit():
            check_file_size(size)  # a hard limit: an error, not the signal that ends the program
            descriptor = commons.open_file(folder, name, size, fill)
        try:
            view = map_file(descriptor, size)
        finally:
            os.close(descriptor)
        lib.cannery_keep_from_children(ffi.from_buffer(view), size)  # a child is another member
        return view

    def _map_control(self, folder: int) -> None:
        space = os.stat("/proc/self/ns/pid").st_ino
        named = self._session.encode(errors="surrogateescape")[:63]
        head = members.HEAD.pack(members.MAGIC, members.VERSION, 0, 0, 0, 0, 0, space, named)
        self._view = self._open(folder, commons.CONTROL, members.CONTROL_SIZE, lambda file: _write(file, head))
        self._control = ffi.cast("struct cannery_control *", ffi.from_buffer(self._view))
        if bytes(self._view[:8]) != members.MAGIC or self._control.version != members.VERSION:
            raise commons.NoCommons("the session was begun by another version of Cannery")
        if self._control.process_space != space:
            raise commons.NoCommons("the session's processes are in another process id namespace")

    def _take_part(self, folder: int) -> None:
        lib.cannery_exchange_begin(self._control, self._pid)
        with self.locked():
            self.map_segments(folder)
            self.bury()
            slots = range(members.MEMBERS)
            slot = next((slot for slot in slots if not self._control.members[slot].pid), None)
            if slot is None:
                raise SessionFull(f"it has {members.MEMBERS} processes already")
            member = self._control.members[slot]
            member.signalling = 0
            member.born = lib.cannery_born(self._pid)
            member.pid = self._pid
            self._control.members_used = max(self._control.members_used, slot + 1)
        self.slot = slot
        lib.cannery_exchange_be(slot)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The session's lock, for the time of a few stores."""
        lib.cannery_exchange_lock()
        try:
            yield
        finally:
            lib.cannery_exchange_unlock()

    # Members.

    def member(self, slot: int) -> Any:
        return self._control.members[slot]

    def lives(self, slot: int) -> bool:
        """Whether a member's process lives."""
        member = self._control.members[slot]
        return bool(member.pid) and lib.cannery_born(member.pid) == member.born

    def bury(self) -> bool:
        """With the lock: take back what members hold that died. Whether there was one."""
        dead = [
            slot
            for slot in range(min(self._control.members_used, members.MEMBERS))
            if slot != self.slot and self._control.members[slot].pid and not self.lives(slot)
        ]
        for slot in dead:
            self._bury(slot)
        return bool(dead)

    def _bury(self, slot: int) -> None:
        member = self._control.members[slot]
        member.signalling = 0
        for index in range(self._control.segments * SEGMENT):
            entry = self.entry(index)
            if entry is None or not entry.kind or entry.kind == LIST:
                continue
            entry.waiting[slot // 64] &= ~(1 << slot % 64)
            if entry.kind == EVENT_KIND:
                self._drop_records(index, slot)
            if entry.owner == slot:
                entry.flags |= GONE
            self._let_go(index, slot)
        held = ffi.buffer(member.held)
        held[:] = bytes(len(held))
        member.pid = 0

    def _drop_records(self, index: int, slot: int) -> None:
        try:
            slots = self.records(index)
        except OSError:
            return
        lib.cannery_exchange_abandon_records(index, slots, slot)

    # Entries.

    def map_segments(self, folder: int | None = None) -> None:
        """Map the segments that exist."""
        while len(self._segments) < min(self._control.segments, SEGMENTS):
            self._map_segment(len(self._segments), folder)

    def _map_segment(self, number: int, folder: int | None) -> None:
        if folder is None:
            with self._folder() as opened:
                self._map_segment(number, opened)
            return
        size = SEGMENT * ENTRY_SIZE
        view = self._open(folder, f"entries-{number:02d}", size)
        self._segments.append(view)
        lib.cannery_exchange_segment(number, ffi.cast("struct cannery_entry *", ffi.from_buffer(view)))

    def entry(self, index: int) -> Any:
        """An entry, or None if there is none of that number."""
        found = lib.cannery_exchange_entry(index)
        if found == ffi.NULL and index < self._control.segments * SEGMENT:
            self.map_segments()
            found = lib.cannery_exchange_entry(index)
        return None if found == ffi.NULL else found

    def add(self) -> tuple[int, Any]:
        """With the lock: a free entry, zero but for its serial number; its ``kind`` is to be written last.

        Raises:
            OSError: there is no room.
        """
        total = self._control.segments * SEGMENT
        for step in range(total):
            index = (self._hint + step) % total
            entry = self.entry(index)
            if not entry.kind:
                break
        else:
            if self._control.segments == SEGMENTS:
                raise SessionFull(f"{total} things are shared already")
            index = total
            self._map_segment(self._control.segments, None)
            self._control.segments += 1
            entry = self.entry(index)
        self._hint = index + 1
        content = ffi.buffer(entry)
        content[:] = bytes(len(content))
        self._control.serial += 1
        entry.serial = self._control.serial
        entry.owner = self.slot
        return index, entry

    def put_on_list(self, entry: Any, process: int) -> None:
        """With the lock: one more process that may open an entry. Raises OSError, there is no room."""
        while entry.listed == LISTED_HERE:
            if not entry.next:
                index, more = self.add()
                more.kind = LIST
                entry.next = index + 1
            entry = self.entry(entry.next - 1)
        entry.processes[entry.listed] = process
        entry.listed += 1

    def is_on_list(self, entry: Any, process: int) -> bool:
        """Whether a process may open an entry."""
        while True:
            if process in entry.processes[0 : entry.listed]:
                return True
            if not entry.next:
                return False
            entry = self.entry(entry.next - 1)

    def hold(self, index: int) -> None:
        """With the lock: this process has opened an entry."""
        entry = self.entry(index)
        entry.holders[self.slot // 64] |= 1 << self.slot % 64

    def withdraw(self, index: int) -> None:
        """With the lock: nobody can open this entry any more."""
        entry = self.entry(index)
        entry.flags |= GONE
        self._let_go(index, self.slot)

    def let_go(self, index: int) -> None:
        """With the lock: this process does not use an entry any more."""
        self._let_go(index, self.slot)

    def _let_go(self, index: int, slot: int) -> None:
        entry = self.entry(index)
        entry.holders[slot // 64] &= ~(1 << slot % 64)
        if entry.flags & GONE and not any(entry.holders):
            more = entry.next
            is_event = entry.kind == EVENT_KIND
            entry.kind = 0
            while more:
                following = self.entry(more - 1)
                more, following.kind = following.next, 0
            if is_event:
                self._records.pop(index, None)
                self._remove(f"records-{index}")

    def _remove(self, name: str) -> None:
        try:
            with self._folder() as folder:
                os.unlink(name, dir_fd=folder)
        except OSError:
            pass  # it is in nobody's way

    def records(self, index: int) -> Any:
        """The outstanding records of a shared event. Raises OSError."""
        view = self._records.get(index)
        if view is None:
            with self._folder() as folder:
                view = self._open(folder, f"records-{index}", RECORDS_SIZE)
            self._records[index] = view
        return ffi.cast("uint64_t *", ffi.from_buffer(view))


def _write(descriptor: int, content: bytes) -> None:
    os.pwrite(descriptor, content, 0)
