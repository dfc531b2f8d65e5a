"""Mutates small bundles and asks everything about them that a user can.

The bundles are those of ``bundle_seeds``, the mutations those of ``bundle_mutator``, the questions those of
``bundle_questions``. A test runs a few seconds of it; a long run is

    python -m tests.bundle_fuzz --count 1000000 --seed 1

which prints the figures of docs/trace-format.md, section 11, and every bundle that breaks a rule. With the same seed,
``--first N --count 1`` makes bundle N again.
"""

import argparse
import faulthandler
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from operator import length_hint
from pathlib import Path
from unittest.mock import patch

from cannery.recorder.bundle import Bundle
from cannery.recorder.format import TraceError
from cannery.recorder.process import ProcessStream
from cannery.replayer import stores
from cannery.replayer.replay import ReplayError
from tests.bundle_mutator import Files, Mutator, has_states
from tests.bundle_questions import MEMORY, Commands, Found, ask
from tests.bundle_seeds import load, seeds

SECONDS = 20  # a question that takes longer hangs


class Fuzzer:
    """Writes mutated bundles into one folder and asks about each."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.seed = seed
        self.words: Counter[str] = Counter()
        self.worst_bytes = 0
        self.worst_seconds = 0.0
        self._folder = folder / "bundles"
        self._whole = self._folder / "whole.cann"
        self._current = os.open(folder / "current", os.O_WRONLY | os.O_CREAT)  # which bundle hangs
        self._memory = folder / "meminfo"
        self._memory.write_text(f"MemAvailable: {MEMORY >> 10} kB\n")
        for each in (self._folder, folder / "seeds"):
            each.mkdir()
        self.seeds = seeds(folder / "seeds")
        self._with_states = [place for place, files in enumerate(self.seeds) if any(map(has_states, files))]
        self._places = [self._folder / f"m{number}.cann" for number in range(len(self.seeds))]
        self._calls: list[list[tuple[int, range]]] = []
        for place, files in zip(self._places, self.seeds, strict=True):
            write(place, files)
            ask(place)
            with Bundle.open(place) as bundle:
                self._calls.append([(stream.ordinal, _calls(stream)) for stream in bundle.processes])

    def run(self, numbers: Iterator[int]) -> None:
        """Raises Found."""
        before = signal.signal(signal.SIGALRM, _hangs)
        try:
            with patch.object(stores, "_MEMINFO", str(self._memory)):
                for number in numbers:
                    self.one(number)
        finally:
            faulthandler.cancel_dump_traceback_later()
            signal.signal(signal.SIGALRM, before)
        for place, files in zip(self._places, self.seeds, strict=True):
            if load(place) != files:
                raise Found(f"{place} was changed, which nobody was asked to do")

    def one(self, number: int) -> None:
        """Mutation ``number``, the same each time. Raises Found."""
        os.pwrite(self._current, f"{number:12}".encode(), 0)
        faulthandler.dump_traceback_later(4 * SECONDS, exit=True, file=sys.__stderr__)  # where no signal is seen
        chance = random.Random(f"{self.seed}:{number}")
        which = chance.choice(self._with_states) if chance.random() < 0.5 else chance.randrange(len(self.seeds))
        changed = Mutator(chance).mutate(self.seeds[which])
        self._about(which, changed, number, lambda path: ask(path, number % 4 == 0))
        if number % 4 == 1:
            write(self._whole, self.seeds[which])
            process, calls = chance.choice(self._calls[which])
            commands = Commands(self._whole, process, calls, chance)
            self._about(which, changed, number, commands.read)
            self._about(which, changed, number, commands.write, spoils=True)
            shutil.rmtree(self._whole)

    def _about(
        self, which: int, changed: Files, number: int, question: Callable[[Path], str], spoils: bool = False
    ) -> None:
        path, files = self._places[which], self.seeds[which]
        write(path, changed)
        memory, start = _peak(), time.perf_counter()
        signal.alarm(SECONDS)
        try:
            word = question(path)
        except (TraceError, ReplayError) as error:
            word = "refused" if str(error) else "refused without a word"
        except BaseException as error:
            spoils = True
            name = f"bundle {number} of seed {self.seed} ({which}: {', '.join(changed)})"
            raise Found(f"{name}: {traceback.format_exc()}") from error
        finally:
            signal.alarm(0)
            if spoils:
                shutil.rmtree(path)
            write(path, files if spoils else {name: files[name] for name in changed})
            left = {each.name for each in self._folder.iterdir()} - {each.name for each in self._places}
            for name in left - {self._whole.name}:
                word = "left something beside the bundle"
                shutil.rmtree(self._folder / name)
        self.words[word] += 1
        self.worst_seconds = max(self.worst_seconds, time.perf_counter() - start)
        self.worst_bytes = max(self.worst_bytes, _peak() - memory)


def write(path: Path, files: Files) -> None:
    for name, data in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _calls(stream: ProcessStream) -> range:
    first = stream.first_head.call
    return range(first, first + stream.counts().calls)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _hangs(*_: object) -> None:
    raise Found(f"took more than {SECONDS} s")


def main() -> None:
    parser = argparse.ArgumentParser(description="Mutate bundles and ask about them.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        fuzzer = Fuzzer(Path(folder), chosen.seed)
        start, found = time.monotonic(), 0
        numbers = iter(range(chosen.first, chosen.first + chosen.count))
        left = chosen.count
        while left:
            try:
                fuzzer.run(islice(numbers, left % 10_000 or 10_000))
            except Found as broken:
                found += 1
                print(broken, flush=True)
            left = length_hint(numbers)
            done = chosen.count - left
            rate = done / (time.monotonic() - start)
            worst = f"slowest {fuzzer.worst_seconds:.2f} s, most memory {fuzzer.worst_bytes >> 20} MiB"
            print(f"{done} bundles, {rate:.0f} a second, {worst}, {dict(fuzzer.words)}", flush=True)
        print(f"{chosen.count} bundles: {found} broke a rule; {dict(fuzzer.words)}", flush=True)
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
