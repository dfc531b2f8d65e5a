"""Finishes bundles that a kill, a full disk or damage left unfinished, and says what it found (section 14).

Nothing is thrown away but what was never finished: what is replaced is kept aside under its name with ``.lost``. Each
step is a rename, so that a kill between two of them leaves a bundle that a second repair finishes.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cannery.recorder import format
from cannery.recorder.bundle import Bundle, is_of_stream
from cannery.recorder.claim import is_locked, read_bundle_sheet
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace, InUse
from cannery.recorder.mend import StreamRepair
from cannery.recorder.schema import expand, schema_digest
from cannery.recorder.seal import is_alive, locked, process_folders
from cannery.recorder.sheet import read_sheet


class Repaired(NamedTuple):
    """``done`` is what was changed, and empty when there was nothing to do; ``lost`` is what cannot be brought back,
    ``notes`` what is no loss. All are lines for people."""

    done: tuple[str, ...]
    lost: tuple[str, ...]
    notes: tuple[str, ...]


def repair(path: str | Path) -> Repaired:
    """Finish the bundle at ``path``.

    Raises:
        InUse: somebody records into it, or seals it.
        TraceError: there is no bundle, or nothing of it can be read.
        OSError: it cannot be written; what was done so far stays.
    """
    sheet = read_bundle_sheet(str(path))
    format.check_version(str(path), sheet.get("version"))
    done: list[str] = []
    lost: list[str] = []
    with Folder(str(path)) as folder, locked(folder) as mine:
        if not mine:
            raise InUse(f"{path}: another command is repairing it; try again when that is done")
        _check_unused(folder)
        done += _restore_schema(folder, sheet.get("schema"))
        done += remove_unfinished(folder)
        done += set_aside_sheet(folder, format.END)
        lost += _set_aside_processes(folder, done)
        with Bundle.open(path) as bundle:
            for stream in bundle.processes:
                with folder.folder(format.process_name(stream.ordinal)) as inner, locked(inner) as mine:
                    if not mine:
                        raise InUse(f"{path}: process {stream.ordinal} is being sealed; try again when that is done")
                    done += remove_unfinished(inner)
                    done += set_aside_sheet(inner, format.END)
                    StreamRepair(inner, stream, bundle.schema).run(done, lost)
            return Repaired(tuple(done), tuple(lost), tuple(bundle.problems))


def _check_unused(folder: Folder) -> None:
    """Raises InUse."""
    descriptor = folder.open(format.BUNDLE)
    try:
        if is_locked(descriptor):
            raise InUse("the command that records it still runs; repair it when that has ended")
    finally:
        os.close(descriptor)
    for inner in process_folders(folder):
        if is_alive(inner):
            pid = _process_id(inner)
            raise InUse(f"{inner.label.rstrip('/')} (process id {pid}) still runs; repair it when that has ended")


def _process_id(folder: Folder) -> object:
    try:
        host = read_sheet(folder, format.PROCESS).get("host")
    except (FileNotFoundError, DamagedTrace):
        return "unknown"
    return host.get("pid", "unknown") if isinstance(host, dict) else "unknown"


def _restore_schema(folder: Folder, digest: object) -> Iterator[str]:
    """A function table that cannot be read is that of this version, if its digest says so."""
    try:
        if schema_digest(expand(folder.read(format.SCHEMA, format.MAX_SCHEMA))) == digest:
            return
    except (FileNotFoundError, DamagedTrace):
        pass
    from cannery.recorder.compression import compress
    from cannery.recorder.forms import schema_of
    from cannery.runtime.api import MODEL

    content = schema_of(MODEL).pack()
    if schema_digest(content) == digest:
        folder.replace(format.SCHEMA, compress(content))
        yield "schema: written anew, from the function table of this version"


def remove_unfinished(folder: Folder) -> Iterator[str]:
    """Files that were being written when whoever wrote them died. Raises InUse: the writer of one lives."""
    for name in folder.names():
        if name.endswith(format.UNFINISHED) and folder.size(name) is not None:
            if not folder.remove_unheld(name):
                raise InUse(f"{folder.label}{name}: another command is writing it; try again when that is done")
            yield f"{folder.label}{name}: removed, half written"


def set_aside_sheet(folder: Folder, name: str) -> Iterator[str]:
    """A sheet that cannot be read, and that readers can do without."""
    try:
        read_sheet(folder, name)
    except FileNotFoundError:
        return
    except DamagedTrace as damage:
        folder.set_aside(name)
        yield f"{damage}; kept aside as {name}{format.LOST}"


def _set_aside_processes(folder: Folder, done: list[str]) -> Iterator[str]:
    """Processes whose sheet cannot be read keep the others from being read. What is lost, now or by an earlier repair,
    or since the sheet is missing."""
    for inner in process_folders(folder):
        done += set_aside_sheet(inner, format.PROCESS)
        if inner.size(format.PROCESS) is None and any(map(is_of_stream, inner.names())):
            yield f"{inner.label.rstrip('/')}: all records, since nothing can be read without the process sheet"
