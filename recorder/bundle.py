"""Opens a bundle to read it, as untrusted input (sections 2, 3 and 11 of the format)."""

import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from cannery.recorder import format
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace, MissingFile, NotABundle
from cannery.recorder.process import ProcessStream
from cannery.recorder.records import Payload
from cannery.recorder.schema import FunctionForm, Schema, expand, schema_digest
from cannery.recorder.sheet import read_optional_sheet, read_sheet

_FRAMES: Final = 8  # calls inside one another for each array in an array, at most
_NO_SCHEMA: Final = "the function table is not the one that the bundle was made with"


class Bundle:
    """A trace bundle. ``processes`` are its streams in the order of their first calls.

    ``problems`` lists what is wrong but does not stand in the way: a process that died before its first record.
    Also a context manager; closing it closes its streams.
    """

    def __init__(self, path: Path, folder: Folder, sheet: dict[str, Any], schema: Schema) -> None:
        self.path = path
        self.version: int = sheet["version"]
        self.session: str = sheet["session"]
        self.tool = str(sheet.get("tool", ""))
        self.created = str(sheet.get("created", ""))
        self.schema = schema
        self.problems: list[str] = []
        self.processes: list[ProcessStream] = []
        self._folder = folder
        self._lost: list[DamagedTrace] = []  # processes whose sheet is missing though they have records
        self._open_processes()

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Raises:
        NotABundle: there is no bundle at ``path``.
        FutureVersion, PastVersion: a newer Cannery made it, or one that was too old.
        DamagedTrace: its ``bundle`` or ``schema`` cannot be read, or a process's sheet.
        """
        # Values are taken apart by functions that call themselves; a hostile one is nested as deep as msgpack reads.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES * format.MAX_DEPTH))
        path = Path(path)
        try:
            folder = Folder(str(path))
        except FileNotFoundError:
            raise NotABundle(f"{path}: no such bundle") from None
        except OSError as error:
            raise NotABundle(f"{path} is not a Cannery bundle ({error.strerror})") from None
        try:
            sheet = _bundle_sheet(folder, path)
            schema = _schema(folder, sheet.get("schema"))
            return cls(path, folder, sheet, schema)
        except BaseException:
            folder.close()
            raise

    def function(self, name: str) -> FunctionForm:
        """A function of the bundle's own table. Raises KeyError."""
        return self.schema[name]

    @property
    def end(self) -> dict[str, Any] | None:
        """How the launched command ended: ``{"status": N}`` or ``{"signal": N}``; None where nobody noted it.

        Raises:
            DamagedTrace: the sheet cannot be read.
        """
        return read_optional_sheet(self._folder, format.END)

    def schema_content(self) -> bytes:
        """The content of the ``schema`` file. Raises DamagedTrace."""
        return self._folder.read(format.SCHEMA, format.MAX_SCHEMA)

    def damage_beside(self) -> list[DamagedTrace]:
        """What is damaged beside the records and payloads: a process that cannot be told, how the command and the
        processes ended, which calls were in flight."""
        found = [*self._lost]
        try:
            _ = self.end
        except DamagedTrace as damage:
            found.append(damage)
        return [*found, *(damage for stream in self.processes for damage in stream.damage_beside())]

    def process(self, ordinal: int) -> ProcessStream:
        """Raises KeyError."""
        for stream in self.processes:
            if stream.ordinal == ordinal:
                return stream
        raise KeyError(ordinal)

    def payload(self, digest: bytes) -> bytes | None:
        """Stored content by its digest, from whichever process stored it; None when nobody did.

        Raises:
            DamagedTrace: it is stored, but its bytes were altered.
        """
        for stream in self.processes:
            content = stream.payload(digest)
            if content is not None:
                return content
        return None

    def content(self, payload: Payload) -> bytes | None:
        """The bytes of a payload, where the trace has them. Raises DamagedTrace."""
        if payload.content is not None:
            return payload.content
        return None if payload.digest is None else self.payload(payload.digest)

    def close(self) -> None:
        for stream in self.processes:
            stream.close()
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_processes(self) -> None:
        for name in self._folder.names():
            ordinal = format.process_ordinal(name)
            if ordinal is None:
                continue
            try:
                folder = self._folder.folder(name)
            except OSError as error:
                raise DamagedTrace(name, 0, f"cannot be opened ({error.strerror})") from None
            try:
                header = read_sheet(folder, format.PROCESS)
            except FileNotFoundError:
                if any(is_of_stream(other) for other in folder.names()):
                    self._lost.append(MissingFile(folder.label + format.PROCESS))
                else:
                    self.problems.append(f"{name}: the process died before its first record")
                folder.close()
                continue
            except DamagedTrace:
                folder.close()
                raise
            self.processes.append(ProcessStream(ordinal, folder, header, self.schema))
        self.processes.sort(key=lambda stream: stream.ordinal)


def is_of_stream(name: str) -> bool:
    """Whether a process writes a file of that name only after its sheet, or it is such a sheet, set aside."""
    return name in (format.PACK, format.INDEX, format.END, format.PROCESS + format.LOST) or any(
        format.window_number(name, suffix) is not None for suffix in (format.CHUNK, format.JOURNAL)
    )


def _bundle_sheet(folder: Folder, path: Path) -> dict[str, Any]:
    try:
        sheet = read_sheet(folder, format.BUNDLE)
    except FileNotFoundError:
        raise NotABundle(f"{path} is not a Cannery bundle") from None
    if sheet.get("magic") != format.MAGIC:
        raise NotABundle(f"{path} is not a Cannery bundle")
    format.check_version(str(path), sheet.get("version"))
    if not isinstance(sheet.get("session"), str):
        raise DamagedTrace(format.BUNDLE, 0, "it does not say what a bundle has to say")
    return sheet


def _schema(folder: Folder, digest: Any) -> Schema:
    try:
        content = expand(folder.read(format.SCHEMA, format.MAX_SCHEMA))
    except FileNotFoundError:
        raise MissingFile(format.SCHEMA) from None
    if schema_digest(content) != digest:
        raise DamagedTrace(format.SCHEMA, 0, _NO_SCHEMA)
    return Schema.unpack(content)
