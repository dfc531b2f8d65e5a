"""What ``bundle_fuzz`` asks about a bundle: of the reader and the replayer directly, and of the commands."""

import os
import random
import shutil
from pathlib import Path

from click.testing import CliRunner

from cannery.recorder.bundle import Bundle
from cannery.recorder.jsonl import dump_lines, load_lines
from cannery.recorder.seal import finish
from cannery.replayer.printer import Printer
from cannery.replayer.process import replay_process
from cannery.tools.main import main

MEMORY = 256 << 20  # bytes of device memory that a replay may use
READING = ("show", "at", "at", "states", "states", "diff", "diff", "stats", "replay", "info")
WRITING = ("repair", "repair", "seal", "index", "trim", "trim", "redact")


class Found(Exception):  # noqa: N818 - what the fuzzer is for
    """A mutated bundle broke a rule; the text says which, and how to make it again."""


def ask(path: Path, rest: bool = True) -> str:
    """What a reader and the replayer can be asked; with ``rest`` also what takes long. Return in a word how it went.

    Raises:
        TraceError, ReplayError: what is wrong with the bundle.
        Found: it broke a rule.
    """
    with Bundle.open(path) as bundle:
        printer = Printer(bundle.schema)
        words = [_ask_process(bundle, ordinal, printer, rest) for ordinal in range(len(bundle.processes))]
        _ = bundle.end
    return max(words, default="empty")


def _ask_process(bundle: Bundle, place: int, printer: Printer, rest: bool) -> str:
    stream = bundle.processes[place]
    records = [*stream.records(tolerant=True)]
    if rest:
        lines = [*dump_lines(records)]
        if repr([*load_lines(lines)]) != repr(records):
            raise Found("JSON lines lose something")
    for record in records:
        printer.line(record)
    exact = replay_process(bundle, stream, memory=MEMORY)
    if rest and not exact.same:
        replay_process(bundle, stream, {}, True, memory=MEMORY).to_json()
    if rest and not stream.begins_with_a_state:
        replay_process(bundle, stream, {"schedule": "late"}, memory=MEMORY).to_json()
    stream.inflight()
    stream.counts()
    [*stream.records(3)]
    _ = stream.settings, stream.end, stream.alive, stream.finished
    for record in records:
        for effect in getattr(record, "effects", ()):
            if effect.payload is not None:
                bundle.content(effect.payload)
    if exact.damage is not None:
        return "replayed to the damage"
    return "same" if exact.same else "differs"


class Commands:
    """Has a command read, or change, a bundle. ``whole`` is the one that it was before it was mutated, ``process`` one
    of its processes and ``calls`` the calls of that."""

    def __init__(self, whole: Path, process: int, calls: range, chance: random.Random) -> None:
        self._whole = str(whole)
        self._process = ("--process", str(process))
        self._calls = calls
        self._chance = chance

    def read(self, bundle: Path) -> str:
        """Raises Found."""
        before = state(bundle)
        command = self._chance.choice(READING)
        path, whole = str(bundle), self._whole
        as_json = ("--json",) if self._chance.random() < 0.3 else ()
        if command == "at":
            memory = ("--memory", f"d+{self._chance.choice((0, 512, 1 << 32)):#x}:64")
            more = memory if self._chance.random() < 0.1 else ()
            word = self._run("show", path, "--at", str(self._call()), *self._process, *as_json, *more)
        elif command == "states":
            pair = [f"{path}@{self._call()}", f"{self._chance.choice((path, whole, whole))}@{self._call()}"]
            self._chance.shuffle(pair)
            word = self._run("diff", *pair, *self._process, *as_json)
        elif command == "diff":
            pair = [path, whole]
            self._chance.shuffle(pair)
            word = self._run("diff", *pair, *as_json)
        else:
            more = ("--keep-going",) if command == "replay" and self._chance.random() < 0.5 else ()
            word = self._run(command, path, *as_json, *more)
        if state(bundle) != before:
            raise Found(f"'{word}' changed the bundle")
        return word

    def write(self, bundle: Path) -> str:
        """Raises Found."""
        command = self._chance.choice(WRITING)
        path, out = str(bundle), bundle.with_name("out.cann")
        if command == "seal":
            finish(bundle)
            return "sealed"
        try:
            if command == "trim":
                first = self._call()
                last = self._chance.choice(("", str(first + 3)))
                return self._run("trim", path, "--calls", f"{first}:{last}", "-o", str(out), *self._process)
            if command == "redact":
                return self._run("redact", path, "-o", str(out))
            if command == "index":
                return self._run("index", path, "--every", str(self._chance.choice((1, 5, 100))))
            word = self._run("repair", path)
            before = state(bundle)
            self._run("repair", path)
            if state(bundle) != before:
                raise Found("a second repair changed the bundle")
            return word
        finally:
            shutil.rmtree(out, ignore_errors=True)

    def _call(self) -> int:
        calls = self._calls
        return self._chance.randrange(max(calls.start - 1, 0), calls.stop + 2)

    def _run(self, *args: str) -> str:
        """One command of the command line, which has to end with a status that it documents."""
        result = CliRunner().invoke(main, args, catch_exceptions=False)
        if result.exit_code not in (0, 1, 2):
            raise Found(f"{args}: status {result.exit_code}")
        if result.exit_code == 2 and not result.output.strip():
            raise Found(f"{args}: status 2 without a word")
        return f"{args[0]}: {result.exit_code}"


def state(path: Path) -> dict[str, tuple[int, int, int]]:
    """What shows whether something in a folder changed."""
    found = {}
    for folder, _, names in os.walk(path):
        for name in names:
            status = Path(folder, name).lstat()
            found[f"{folder}/{name}"] = status.st_ino, status.st_size, status.st_mtime_ns
    return found
