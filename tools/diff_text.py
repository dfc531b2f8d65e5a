"""What a comparison found, as text in the manner of ``diff`` and as JUnit XML."""

import re
from collections.abc import Iterator
from typing import Any, Final
from xml.etree import ElementTree

from cannery.replayer.diff import TROUBLE, Diff
from cannery.tools.terminal import painter
from cannery.tools.traces import count

_FOLLOWING: Final = 3  # objects of what follows from a cause
_ILLEGAL: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLURALS: Final = {
    "changed": "changed",
    "missing": "missing",
    "inserted": "inserted",
    "replaced": "replaced",
    "payload": "with other bytes",
    "order": "in another order",
    "process": "of processes without counterpart",
}


def lines(found: Diff, names: tuple[str, str]) -> Iterator[str]:
    """The text, line by line."""
    paint = painter()
    several = len(found.processes) > 1
    for process in found.processes:
        if process["total"]:
            yield from _process(process, names, several, paint)
    if not found.total:
        calls = sum(process["aligned"] for process in found.processes)
        end = " as far as both go" if found.status == TROUBLE else ""
        yield f"{names[0]} and {names[1]}: {count(calls, 'call')} compared, all the same{end}"
    for process in found.processes:
        yield from _remarks(process, names, several)
    yield from (f"note: {note}" for note in found.notes)


def _process(process: dict[str, Any], names: tuple[str, str], several: bool, paint: Any) -> Iterator[str]:
    for side, name, mark in (("a", names[0], "---"), ("b", names[1], "+++")):
        which = "" if not several else f"  process {process[side]}" if process[side] is not None else "  no process"
        yield paint(f"{mark} {name}{which}  {count(process['calls'][side], 'call')}", bold=True)
    if process["a"] is None or process["b"] is None:
        here, there = names if process["b"] is None else names[::-1]
        yield f"only in {here}: {there} has no such process"
        return
    causes = process["causes"]
    if causes:
        yield paint(f"first cause: {causes[0]['what']}", bold=True)
    for cause in causes:
        yield from _cause(cause, paint)
    more = process["causes_total"] - len(causes)
    if more:
        yield f"... and {count(more, 'more cause')} (--limit)"
    if process["end"] is not None:
        yield paint("@@ end of the process @@", fg="cyan")
        yield paint(f"- {_end(process['end']['a'])}", fg="red")
        yield paint(f"+ {_end(process['end']['b'])}", fg="green")
    yield summary(process)


def summary(process: dict[str, Any]) -> str:
    """One line: how many differences of which kind."""
    kinds = ", ".join(f"{number:,} {_PLURALS.get(kind, kind)}" for kind, number in process["kinds"].items())
    return f"{count(process['total'], 'difference')}{': ' if kinds else ''}{kinds}"


def _cause(cause: dict[str, Any], paint: Any) -> Iterator[str]:
    threads = [thread for thread in dict.fromkeys(cause["threads"]) if thread is not None]
    where = f"thread {' / '.join(map(str, threads))}: " if threads else ""
    yield paint(f"@@ {where}{cause['what']} @@", fg="cyan")
    for line in cause["before"]:
        yield f"  {line}"
    for side, mark, colour in (("a", "-", "red"), ("b", "+", "green")):
        calls = cause["calls"][side]
        for call in calls:
            yield paint(f"{mark} {call['text']}", fg=colour)
        more = cause["count"][side] - len(calls)
        if more:
            yield paint(f"{mark} ... {count(more, 'more call')}", fg=colour)
    for facet in cause["differences"]:
        yield f"    {facet['what']}: {facet['a']} | {facet['b']}"
    objects = dict.fromkeys([*cause["objects"]["a"], *cause["objects"]["b"]])
    for line in objects:
        yield f"    {line}"
    if cause["following"]:
        yield f"    {following(cause)}"


def following(cause: dict[str, Any]) -> str:
    """One line: what seems to follow from a cause."""
    shown = list(cause["following"].items())[:_FOLLOWING]
    rest = sum(cause["following"].values()) - sum(number for _, number in shown)
    parts = [f"{number:,} on {name}" if "calls of" not in name else f"{number:,} {name}" for name, number in shown]
    if rest:
        parts.append(f"{rest:,} others")
    numbers = [f"#{first if first is not None else second}" for first, second in cause["following_calls"]]
    return f"and {sum(cause['following'].values()):,} more differences: {', '.join(parts)} ({', '.join(numbers)}, ...)"


def _remarks(process: dict[str, Any], names: tuple[str, str], several: bool) -> Iterator[str]:
    where = f"process {process['a']}: " if several else ""
    timing = process["timing"]
    if timing["total"]:
        first = timing["first"]
        facet = first["difference"]
        yield (
            f"note: {where}{count(timing['total'], 'result')} that depend on time differ and do not count; the first:"
            f" #{first['a']} {first['function']}: {facet['what']}: {facet['a']} | {facet['b']}"
        )
    if process["unverified_payloads"]:
        yield (
            f"note: {where}{count(process['unverified_payloads'], 'payload')} not compared: a trace has neither bytes "
            "nor hash (--payload)"
        )
    for side, why in process["incomplete"].items():
        yield f"note: {where}{names['ab'.index(side)]} is not complete: {why}"
    if process["uncompared_calls"]:
        yield f"note: {where}{count(process['uncompared_calls'], 'call')} beyond the end of that trace not compared"


def _end(end: dict[str, Any]) -> str:
    return f"by signal {end['signal']}" if "signal" in end else f"with status {end.get('status')}"


def junit(found: Diff, names: tuple[str, str]) -> bytes:
    """A JUnit report: a suite for each process, a case for each thread; its failure has the causes in that thread."""
    root = ElementTree.Element("testsuites", name=f"cannery diff {names[0]} {names[1]}")
    for process in found.processes:
        number = process["a"] if process["a"] is not None else process["b"]
        suite = ElementTree.SubElement(root, "testsuite", name=f"process {number}")
        cases = _cases(process, names)
        for name, problem in cases:
            case = ElementTree.SubElement(suite, "testcase", classname=f"process {number}", name=name)
            if problem is not None:
                tag, kind, message, text = problem
                ElementTree.SubElement(case, tag, type=kind, message=_legal(message)).text = _legal(text)
        _total(suite, cases)
    for attribute in ("tests", "failures", "errors"):
        root.set(attribute, str(sum(int(suite.get(attribute, "0")) for suite in root)))
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


Problem = tuple[str, str, str, str]
"""Element, type, message and text."""


def _cases(process: dict[str, Any], names: tuple[str, str]) -> list[tuple[str, Problem | None]]:
    if process["a"] is None or process["b"] is None:
        message = f"only in {names[0] if process['b'] is None else names[1]}"
        return [("process", ("failure", "process", message, message))]
    cases: list[tuple[str, Problem | None]] = []
    for pair in process["threads"]:
        causes = [cause for cause in process["causes"] if set(cause["threads"]) & set(pair) - {None}]
        problem = None
        if causes:
            text = "\n".join(line for cause in causes for line in _cause(cause, lambda text, **style: text))
            problem = ("failure", causes[0]["kind"], causes[0]["what"], text)
        shown = [str(thread) for thread in dict.fromkeys(pair) if thread is not None]
        cases.append((f"thread {' / '.join(shown)}", problem))
    if process["total"] and all(problem is None for _, problem in cases):
        cases.append(("process", ("failure", "other", summary(process), summary(process))))
    elif process["incomplete"]:
        why = "; ".join(f"{names['ab'.index(side)]}: {text}" for side, text in process["incomplete"].items())
        cases.append(("trace", ("error", "incomplete", why, why)))
    return cases


def _total(suite: ElementTree.Element, cases: list[tuple[str, Problem | None]]) -> None:
    suite.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error")):
        suite.set(attribute, str(sum(1 for _, problem in cases if problem is not None and problem[0] == tag)))


def _legal(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _ILLEGAL.sub("?", text)
