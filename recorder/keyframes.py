"""Keyframes: states of the machine at places of a stream, so that a replay need not begin at the beginning (section 14
of the format). What a state is, :mod:`cannery.replayer.keyframe` knows; here it is content with a digest.

Two files have them, the sheet NAME and the pack NAME.pack. Content is compressed and checked by its digest.
"""

import os
import struct
from typing import Any, Final, NamedTuple, Self

from xxhash import xxh3_128_digest

from cannery.recorder import format
from cannery.recorder.compression import compress, decompress
from cannery.recorder.files import Folder, write_all
from cannery.recorder.format import DamagedTrace, InUse
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.recorder.stream import Position

_ENTRY: Final = struct.Struct("<16sQI")  # digest, offset, bytes in the pack


class Keyframe(NamedTuple):
    """``digest``: that of the content of the state."""

    position: Position
    digest: bytes


class Keyframes:
    """The keyframes of one pair of files, to read. ``frames`` are in the order of the stream."""

    def __init__(
        self, folder: Folder, name: str, tool: str, frames: list[Keyframe], blobs: bytes, apart: int | None
    ) -> None:
        """``name`` is that of the pack; ``apart`` its number, if it has one."""
        self.apart = apart
        self.tool = tool
        self.frames = frames
        self._folder = folder
        self._name = name
        self._places = {digest: (offset, size) for digest, offset, size in _ENTRY.iter_unpack(blobs)}

    @classmethod
    def read(cls, folder: Folder, name: str) -> Self | None:
        """None: there are none.

        Raises:
            DamagedTrace: the sheet cannot be read.
        """
        path = folder.label + name
        try:
            data = folder.read(name, format.MAX_INDEX)
        except FileNotFoundError:
            return None
        sheet, end = unpack_sheet(data, path)
        try:
            frames = [_frame(*entry) for entry in sheet["frames"]]
            tool, blobs, apart = sheet["tool"], sheet["blobs"], sheet.get("apart")
            whole = end == len(data) and isinstance(tool, str) and (apart is None or apart.__class__ is int)
            whole = whole and isinstance(blobs, bytes) and len(blobs) % _ENTRY.size == 0
        except (KeyError, TypeError, ValueError):
            whole = False
        if not whole:
            raise DamagedTrace(path, 0, "the sheet is not that of keyframes")
        return cls(folder, _pack_name(name, apart), tool, frames, blobs, apart)

    def before(self, call: int) -> list[Keyframe]:
        """Those from which that call can be reached, the nearest first."""
        return [frame for frame in reversed(self.frames) if frame.position.call <= call]

    def place(self, digest: bytes) -> tuple[int, int]:
        """Offset and size of content in the pack. Raises DamagedTrace: there is none with that digest."""
        place = self._places.get(digest)
        if place is None:
            raise DamagedTrace(self._folder.label + self._name, 0, f"has no content with digest {digest.hex()}")
        return place

    def content(self, digest: bytes) -> bytes:
        """The content with that digest.

        Raises:
            DamagedTrace: it is not there, or was altered.
        """
        path = self._folder.label + self._name
        offset, size = self.place(digest)
        if size > format.MAX_STATE:
            raise DamagedTrace(path, offset, f"content of {size} bytes, where at most {format.MAX_STATE} may be")
        try:
            stored = self._folder.read(self._name, 1 << 62, offset, size)
        except FileNotFoundError:
            raise DamagedTrace(path, 0, "is missing") from None
        content = decompress(stored, format.MAX_STATE, path, offset)
        if xxh3_128_digest(content) != digest:
            raise DamagedTrace(path, offset, f"the content is not that of its digest {digest.hex()}")
        return content

    def check(self) -> None:
        """Read all content. Raises DamagedTrace: some of it is not there, or was altered."""
        for frame in self.frames:
            self.place(frame.digest)
        for digest in self._places:
            self.content(digest)


def _frame(window: Any, offset: Any, call: Any, time: Any, digest: Any) -> Keyframe:
    numbers = window, offset, call, time
    if not all(number.__class__ is int for number in numbers) or digest.__class__ is not bytes:
        raise ValueError("no keyframe")
    return Keyframe(Position(*numbers), digest)


def _pack_name(name: str, apart: int | None) -> str:
    """The file with the content of the states that the sheet ``name`` lists."""
    return f"{name}{format.PACKED}" if apart is None else format.window_name(apart, format.STATE)


class KeyframeWriter:
    """Writes a pair of files; nothing of it is seen before :meth:`finish`. ``size``: bytes that the pack has so far.

    ``apart``: the pack is named by that number, so that the one before stays until the sheet names this one.
    """

    def __init__(self, folder: Folder, name: str, tool: str, apart: int | None = None) -> None:
        """Raises OSError; InUse: another command is writing them."""
        self.size = 0
        self.frames: list[Keyframe] = []
        self._folder = folder
        self._name = name
        self._tool = tool
        self._apart = apart
        self._blobs: dict[bytes, bytes] = {}
        self._pack = _pack_name(name, apart)
        self._unfinished = f"{self._pack}{format.UNFINISHED}"
        self._descriptor = self._begin()

    def _begin(self) -> int:
        descriptor = self._folder.begin(self._unfinished)
        if descriptor is not None:
            # Between its two renames, another writer has the pack under its own name.
            if not self._folder.is_held(self._pack):
                return descriptor
            self._folder.remove(self._unfinished)
            os.close(descriptor)
        raise InUse(f"another command is writing {self._folder.label}{self._name}; try again when that is done")

    def keep(self, digest: bytes, content: "bytes | memoryview") -> None:
        """Keep content once. Raises OSError."""
        if digest in self._blobs:
            return
        stored = compress(bytes(content))
        write_all(self._descriptor, stored)
        self._blobs[digest] = _ENTRY.pack(digest, self.size, len(stored))
        self.size += len(stored)

    def add(self, position: Position, content: bytes) -> None:
        """A state, whose pages were kept before. Raises OSError."""
        digest = xxh3_128_digest(content)
        self.keep(digest, content)
        self.frames.append(Keyframe(position, digest))

    def finish(self) -> None:
        """Give the files their names, in place of those that were there. Raises OSError.

        A kill between the two renames leaves the sheet that was there, whose content is then missing or, having the
        same digest, the same.
        """
        descriptor = self._folder.descriptor
        os.rename(self._unfinished, self._pack, src_dir_fd=descriptor, dst_dir_fd=descriptor)
        frames = [(*frame.position, frame.digest) for frame in self.frames]
        sheet: dict[str, Any] = {"tool": self._tool, "frames": frames, "blobs": b"".join(self._blobs.values())}
        if self._apart is not None:
            sheet["apart"] = self._apart
        self._folder.replace(self._name, pack_sheet(sheet))
        os.close(self._descriptor)
        self._descriptor = -1

    def abandon(self) -> None:
        """Leave everything as it was. No effect after :meth:`finish`."""
        if self._descriptor >= 0:
            self._folder.remove(self._unfinished)
            os.close(self._descriptor)
            self._descriptor = -1
