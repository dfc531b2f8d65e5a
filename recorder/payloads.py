"""Keeps the bytes that pass between host and device while the program runs: once each, hashed on the way.

A payload's wire value (section 7 of the format) is what :meth:`PayloadStore.keep` and :meth:`PayloadStore.pass_through`
return; it goes into an effect as it is.

Large content is copied, hashed and written chunk by chunk, while the chunk is in the cache: a copy of 64 MB takes a few
per cent longer than without recording when it is known already, and the writing into the page cache when it is new.
Whether it is new cannot be known before the end, so the first chunk decides: content whose first chunk and size were
seen before is only hashed, and written afterwards in the rare case that it differs further on.
"""

import os
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from xxhash import xxh3_128, xxh3_128_digest

from cannery.recorder.format import PAGE, SHORT
from cannery.recorder.pack import HEADER_SIZE, frame_header
from cannery.recorder.policy import GIVEN, NOTHING, RESULT, SIZE_ONLY, STORED, PayloadPolicy, parse_policy
from cannery.recorder.window import check_file_size, raise_descriptor, reason

WirePayload: TypeAlias = bytes | tuple[int, bytes | None]
CopyChunk: TypeAlias = Callable[[int, int], bool]
"""Copy ``size`` bytes at ``offset`` of the payload: ``(offset, size) -> False: the host range is not accessible``."""

CHUNK: Final = 256 << 10  # of a 1 MiB second-level cache: what was just copied is still there to be hashed and written
# Results are copied in larger chunks: from here up memcpy writes past the caches, and a result is hashed where it comes
# from, not where it went. (Copy and hash of 64 MB: 4.7 ms, with CHUNK 5.7; what is given: 4.6 and 4.1.)
_RESULT_CHUNK: Final = 1 << 20
_ALLOCATED: Final = 1 << 20  # content from here up is allocated before it is written, which makes that a third cheaper
_REMEMBERED: Final = 1 << 20  # digests kept to find duplicates; beyond that all are forgotten


class PayloadStore:
    """The pack of one process.

    ``policy`` is what :mod:`cannery.recorder.policy` reads; longer content than ``limit`` bytes is hashed, not stored.
    What crosses from the program to the device or is read from a file is *given*; what reaches the host is a result.
    Where it matters, :meth:`serve` says for which function bytes pass.
    ``on_stop`` is called once, with a reason, when the pack cannot be written; content is only hashed from then on.
    Not to be entered by two threads at a time.
    """

    __slots__ = (
        "_by_size",
        "_descriptor",
        "_end",
        "_full",
        "_given",
        "_hasher",
        "_heads",
        "_identity",
        "_known",
        "_limit",
        "_most",
        "_on_stop",
        "_path",
        "_present",
        "_result",
        "_served",
        "_short_content",
        "policy",
        "stopped",
    )

    def __init__(self, path: str, policy: str, limit: int | None, on_stop: Callable[[str], None]) -> None:
        """Raises PolicyError."""
        self._path = path
        self.policy = parse_policy(policy)
        self._present = self.policy.of(None)
        self._served: dict[str | None, PayloadPolicy] = {}
        self._by_size = bool(self._present.rules)
        self._use(self._present.word)
        self._limit = limit
        self._on_stop = on_stop
        self._descriptor = -1
        self._identity = (0, 0)
        self._end = 0
        self._known: set[bytes] = set()
        self._heads: set[tuple[int, bytes]] = set()
        self._hasher = xxh3_128()
        self._most = 1 << 62
        self._full: Callable[[], None] = _nothing
        self.stopped = False

    def serve(self, function: str | None) -> None:
        """From now on bytes pass for that function; empty: for none; None: for a call that is not recorded."""
        present = self._served.get(function)
        if present is None:
            present = self._served[function] = NOTHING if function is None else self.policy.of(function)
        self._present = present
        self._by_size = bool(present.rules)
        self._use(present.word)

    def keep(self, view: "memoryview | bytes", given: bool) -> WirePayload:
        """Content that is already in memory."""
        size = len(view)
        if self._by_size:
            self._use(self._present.word_for(size))
        treatment = self._given if given else self._result
        if treatment == SIZE_ONLY:
            return size, None
        if size <= SHORT and self._short_content:
            return bytes(view)
        digest = xxh3_128_digest(view)
        if treatment == STORED and digest not in self._known and self._may_store(size):
            self._store(view, digest)
        return size, digest

    def pass_through(self, view: memoryview, copy: CopyChunk, given: bool) -> WirePayload | None:
        """Copy content in one pass with all that recording needs.

        ``view`` is the device's side of the copy: what is hashed and stored are its bytes, once ``copy`` was called for
        them. Offsets and sizes cover it once, in order. None: ``copy`` failed, and nothing was kept.
        """
        size = len(view)
        if self._by_size:
            self._use(self._present.word_for(size))
        treatment = self._given if given else self._result
        if treatment == SIZE_ONLY or size <= CHUNK:
            return self.keep(view, given) if copy(0, size) else None
        if treatment == STORED and self._may_store(size):
            return self._pass_and_store(view, copy)
        hasher = self._hasher
        hasher.reset()
        chunk = CHUNK if given else _RESULT_CHUNK
        for start in range(0, size, chunk):
            part = view[start : start + chunk]
            if not copy(start, len(part)):
                return None
            hasher.update(part)
        return size, hasher.digest()

    def split(self, most: int, full: Callable[[], None]) -> None:
        """Have ``full`` called, after each payload, while the pack has ``most`` bytes: :meth:`turn` is to follow."""
        self._most, self._full = most, full

    def turn(self, path: str) -> None:
        """Go on in another pack, which has to have all that is kept from here on."""
        if self.stopped:
            return
        self.close()
        self.stopped = False
        self._path = path
        self._end = 0
        self._known.clear()
        self._heads.clear()

    def close(self) -> None:
        """Let go of the file. Also what a forked child does with its parent's store."""
        self.stopped = True
        if self._descriptor >= 0 and self._is_ours():
            os.close(self._descriptor)
        self._descriptor = -1

    def _use(self, word: str) -> None:
        """What is done with the content that passes next."""
        self._given, self._result = GIVEN[word], RESULT[word]
        self._short_content = word in ("input", "full")

    def _pass_and_store(self, view: memoryview, copy: CopyChunk) -> WirePayload | None:
        size = len(view)
        hasher = self._hasher
        hasher.reset()
        content = self._end + HEADER_SIZE
        if not copy(0, CHUNK):
            return None
        hasher.update(view[:CHUNK])
        head = size, hasher.digest()
        writing = head not in self._heads and self._begin(content, size)
        if writing:
            writing = self._write([view[:CHUNK]], content)
        stop = CHUNK
        shift = content % PAGE  # taken off the second chunk, so that those after it are whole pages of the file
        while stop < size:
            start, stop, shift = stop, min(stop + CHUNK - shift, size), 0
            part = view[start:stop]
            if not copy(start, stop - start):
                if writing:
                    self._cut()
                return None
            hasher.update(part)
            if writing:
                writing = self._write([part], content + start)
        digest = hasher.digest()
        if digest in self._known:  # stored before by keep, which does not look at heads
            if writing:
                self._cut()
        elif writing:
            self._commit(size, digest)
        elif not self.stopped:
            self._store(view, digest)
        self._heads.add(head)
        return size, digest

    def _may_store(self, size: int) -> bool:
        return not self.stopped and (self._limit is None or size <= self._limit)

    def _store(self, view: "memoryview | bytes", digest: bytes) -> None:
        size = len(view)
        if size < _ALLOCATED:
            if self._begin(0, 0) and self._write([frame_header(size, digest), view], self._end):
                self._added(size, digest)
        elif self._begin(self._end + HEADER_SIZE, size) and self._write([view], self._end + HEADER_SIZE):
            self._commit(size, digest)

    def _commit(self, size: int, digest: bytes) -> None:
        """The content is written: the header makes it count."""
        if self._write([frame_header(size, digest)], self._end):
            self._added(size, digest)

    def _added(self, size: int, digest: bytes) -> None:
        self._remember(digest)
        self._end += HEADER_SIZE + size
        if self._end >= self._most:
            self._full()

    def _remember(self, digest: bytes) -> None:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
            self._heads.clear()
        self._known.add(digest)

    def _begin(self, content: int, size: int) -> bool:
        """Make sure of the file, and of room for large content."""
        try:
            if self._descriptor < 0 or not self._is_ours():
                self._open()
            if size >= _ALLOCATED:
                check_file_size(content + size)
                os.posix_fallocate(self._descriptor, content, size)
        except OSError as error:
            self._stop(error)
            return False
        return True

    def _write(self, parts: list[Any], offset: int) -> bool:
        try:
            size = sum(map(len, parts))
            check_file_size(offset + size)
            done = os.pwritev(self._descriptor, parts, offset)
            if done != size:  # rare: the last of a full disk, or a signal
                rest = memoryview(b"".join(parts))
                while done < size:
                    done += os.pwrite(self._descriptor, rest[done:], offset + done)
        except OSError as error:
            self._stop(error)
            return False
        return True

    def _cut(self) -> None:
        """Take back what was written after the last frame."""
        try:
            os.ftruncate(self._descriptor, self._end)
        except OSError as error:
            self._stop(error)

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = raise_descriptor(os.open(self._path, flags, 0o666))
        status = os.fstat(self._descriptor)
        identity = status.st_dev, status.st_ino
        if self._end and identity != self._identity:
            raise OSError("the payload file was replaced")
        self._identity = identity

    def _is_ours(self) -> bool:
        """A program may close descriptors that it does not know, and then open files of its own under their numbers."""
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def _stop(self, error: OSError) -> None:
        if not self.stopped:
            self.stopped = True
            self._on_stop(f"payloads cannot be written: {reason(error)}")


def _nothing() -> None:
    pass
