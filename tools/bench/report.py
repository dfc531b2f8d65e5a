"""Writes the last run's tables and plot to docs/benchmarks.md and docs/benchmarks.svg.

The text of the page is written by hand; what stands between ``<!-- NAME -->`` and ``<!-- end NAME -->`` is replaced.
"""

import datetime
import os
import platform
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from cannery.runtime.version import VERSION
from cannery.tools.bench import field, peers, plot, profile
from cannery.tools.bench.bench import Bench
from cannery.tools.bench.rows import shown

PAGE: Final = "benchmarks.md"
PICTURE: Final = "benchmarks.svg"
_OTHERS: Final = ("field", "profile")  # groups with tables of their own


def machine() -> dict[str, Any]:
    """What figures depend on; also the metadata of each benchmark."""
    found: dict[str, Any] = {
        "cannery_version": VERSION,
        "cpu_count": os.cpu_count() or 0,
        "cpu_model_name": _line_of("/proc/cpuinfo", "model name"),
        "platform": f"{platform.system()} {platform.release().partition('-')[0]}, {' '.join(platform.libc_ver())}",
        "python_version": platform.python_version(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "load_avg_1min": os.getloadavg()[0],
    }
    found["mem_total_kb"] = int(_line_of("/proc/meminfo", "MemTotal").split()[0])
    return found


def _line_of(path: str, key: str) -> str:
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return "0"


def write(docs: Path, bench: Bench, facts: dict[str, Any]) -> None:
    """Replace the measured parts of the page, and the plot.

    Raises:
        ClickException: the run left out groups; figures of several runs are not comparable.
    """
    path = docs / PAGE
    text = path.read_text()
    sections = {"machine": _machine(facts, bench), "field": _field(bench), "limits": _limits(bench),
                "profile": _profile(bench)}  # fmt: skip
    for name, lines in sections.items():
        begin, end = f"<!-- {name} -->", f"<!-- end {name} -->"
        if begin not in text or end not in text:
            raise click.ClickException(f"{path} has no {begin} ... {end}")
        body = "\n".join(lines)
        text = re.sub(f"{begin}.*?{end}", lambda _, b=body, x=begin, y=end: f"{x}\n{b}\n{y}", text, flags=re.S)  # type: ignore[misc]
    path.write_text(text)
    plot.draw(bench.samples, docs / PICTURE)


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join(["---", *(["---:"] * (len(head) - 1))]) + "|"
    for cells in body:
        yield "| " + " | ".join(cells) + " |"


def _machine(facts: dict[str, Any], bench: Bench) -> Iterator[str]:
    gigabytes = facts["mem_total_kb"] / (1 << 20)
    yield (
        f"Cannery {facts['cannery_version']}, {facts['date'][:10]}, {facts['cpu_count']} cores of "
        f"{facts['cpu_model_name']}, {gigabytes:.0f} GiB, {facts['platform']}, Python {facts['python_version']}; "
        f"load average at the end {facts['load_avg_1min']:.1f}."
    )
    if bench.notes:
        yield ""
        yield from (f"* {note}" for note in bench.notes)


def _field(bench: Bench) -> Iterator[str]:
    samples = bench.samples
    tools = [kind for kind in peers.TOOLS if f"field/{kind.name}/start" in samples]
    ours, none = peers.Cannery.name, peers.Nothing.name
    body = []
    for loop in field.WORKLOADS:
        call = f"{loop.letter}/call"
        cells, added = [f"({loop.letter}) {loop.what}: ns a call"], [f"({loop.letter}) what recording adds"]
        for tool in tools:
            name = f"field/{tool.name}/{call}"
            cells.append(f"{shown(samples.least(name), '')} ({_times(samples.ratio(name, f'field/{ours}/{call}'))})")
            base = {none: None, peers.Unrecorded.name: None, ours: peers.Unrecorded.name}.get(tool.name, none)
            added.append("" if base is None else shown(samples.difference(name, f"field/{base}/{call}"), ""))
        body += [cells, added]
    for loop in field.WORKLOADS:
        cells = [f"({loop.letter}) bytes a call"]
        for tool in tools:
            name = f"field/{tool.name}/memory/{loop.letter}/trace"
            cells.append(shown(samples.median(name), "") if name in samples else "")
        body.append(cells)
    cells = ["start-up, ms"]
    for tool in tools:
        later = samples.difference(f"field/{tool.name}/start", f"field/{none}/start")
        cells.append("" if tool.name == none else shown(later, "") + (f" ({tool.launches})" if tool.launches else ""))
    body.append(cells)
    for loop in field.WORKLOADS[:3]:
        cells = [f"({loop.letter}) memory of the program, MB"]
        cells += [shown(samples.median(f"field/{tool.name}/memory/{loop.letter}") / 1e6, "") for tool in tools]
        body.append(cells)
    yield from _table(["", *(f"{tool.name} {bench.versions[tool.name]}".strip() for tool in tools)], body)
    yield ""
    yield f"![Cost of a call, size of a call and start-up under each tool]({PICTURE})"


def _times(ratio: float) -> str:
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:,.0f}×"


def _limits(bench: Bench) -> Iterator[str]:
    for group in dict.fromkeys(row.group for row in bench.rows if row.group not in _OTHERS):
        rows = [row for row in bench.rows if row.group == group]
        body = [[row.what, shown(row.figure, row.unit), str(row.limit or ""), row.verdict] for row in rows]
        yield from _table([f"**{group}**", "measured", "should be", ""], body)
        yield ""


def _profile(bench: Bench) -> Iterator[str]:
    totals = {row.what: row.figure for row in bench.rows if row.group == "profile"}
    ways = [way.title for way in profile.WAYS if way.title in totals]
    body = []
    for part in (*(part for _, part in profile.PARTS), profile.OTHER):
        names = [f"profile/{way}/{part}" for way in ways]
        cells = [f"{bench.samples.median(name):,.0f}" if name in bench.samples else "" for name in names]
        if any(cells):
            body.append([part, *cells])
    body.append(["**all**", *(f"**{totals[way]:,.0f}**" for way in ways)])
    body.append(["of that, recording", *(f"{totals[f'{way}: what recording adds']:,.0f}" for way in ways)])
    yield from _table(["instructions a call", *ways], body)
