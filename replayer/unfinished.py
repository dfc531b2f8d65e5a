"""What had not ended where a stream of records ends: calls, and functions of the program that were running.

A process may have died there, or still be running. What its records do not say (most calls have no record before they
return) stands in the slots of ``inflight``.
"""

from collections.abc import Iterable, Iterator

from cannery.recorder.inflight import InFlight
from cannery.recorder.records import Call, Enter, Errand, Exit, Invoke, Record, Returned, ThreadEnd
from cannery.replayer.printer import Printer


class Unfinished:
    """Takes the records of a stream in order. A call, or a function, is inside the one before it in its list."""

    def __init__(self) -> None:
        self._threads: dict[int, list[Enter | Invoke]] = {}
        self._workers: dict[int, Invoke] = {}

    def note(self, record: Record) -> None:
        if isinstance(record, Call):
            return
        if isinstance(record, Enter):
            self._threads.setdefault(record.thread, []).append(record)
        elif isinstance(record, Invoke):
            if record.thread is None:
                self._workers[record.worker] = record
            else:
                self._threads.setdefault(record.thread, []).append(record)
        elif isinstance(record, Exit | Returned):
            kind = Enter if isinstance(record, Exit) else Invoke
            inside = self._threads.get(record.thread, [])
            for place in range(len(inside) - 1, -1, -1):
                if isinstance(inside[place], kind) and inside[place].number == record.number:
                    del inside[place]
                    break
        elif isinstance(record, Errand):
            self._workers.pop(record.worker, None)
        elif isinstance(record, ThreadEnd):
            self._threads.pop(record.thread, None)

    def records(self) -> Iterator[Enter | Invoke]:
        """By thread, outermost first, and then what the workers run."""
        for inside in self._threads.values():
            yield from inside
        yield from self._workers.values()

    def lines(self, printer: Printer, slots: Iterable[InFlight] = ()) -> list[str]:
        """One line each; ``slots`` add the calls that have no record yet."""
        lines = [printer.line(record) for record in self.records()]
        for call in slots:
            last = next(
                (each for each in reversed(self._threads.get(call.thread, [])) if isinstance(each, Enter)), None
            )
            if last is None or last.function != call.function.name:
                pairs = zip(call.function.params, call.args, strict=False)
                args = ", ".join(f"{param.name}={value:#x}" for param, value in pairs)
                lines.append(f"T{call.thread} {call.function.name}({args})")
        return lines
