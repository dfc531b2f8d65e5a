"""Counts, for every function of the API and product, the tests in which it is called: a plugin of pytest, off unless it
is named.

    python -m pytest -p tests.count_functions --count-functions tools/data/tests.json

A test counts for a function when a machine in its process answered a call of it, or a trace that the test left in its
folder has one. The cases of a parametrised test count once, so that the numbers do not depend on what is installed.
Calls that were answered "not supported" do not count.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.format import TraceError
from cannery.recorder.records import Call, Enter
from cannery.runtime.api import MODEL
from cannery.runtime.calls import table
from cannery.runtime.calls.registry import HANDLERS
from cannery.runtime.settings import SettingError, Settings

NAMES = {function.name for function in MODEL.functions}
LARGEST = 64 << 20  # bytes of a bundle that is looked into


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--count-functions", type=Path, metavar="FILE", help="write how many tests call each function")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--count-functions"):
        config.pluginmanager.register(Counter(config), "function-counter")


class Counter:
    """``called``: the functions that the running test called, each with the product. They travel with the test's
    report, also from a worker. ``tests`` has the names of tests for each such pair."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.called: set[tuple[str, str]] = set()
        self.tests: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        bind = table.bind
        table.bind = lambda machine: [
            handler and self.counted(function.name, machine.profile.name, handler)
            for function, handler in zip(MODEL.functions, bind(machine), strict=True)
        ]

    def counted(self, name: str, product: str, handler: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.called.add((name, product))
            return handler(*arguments)

        return call

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.called.clear()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        folder = getattr(item, "funcargs", {}).get("tmp_path")
        done = yield  # what the test patched is as it was again; its folder is kept
        if folder is not None:
            for sheet in Path(folder).rglob("bundle"):
                self.read(sheet.parent)
        item.user_properties.append(("functions", sorted(self.called)))
        return done

    def read(self, bundle: Path) -> None:
        if sum(path.lstat().st_size for path in bundle.rglob("*") if path.is_file()) > LARGEST:
            return
        try:
            with Bundle.open(str(bundle)) as opened:
                for stream in opened.processes:
                    product = Settings.from_map(stream.settings).product
                    for record in stream.records(tolerant=True):
                        if isinstance(record, Call | Enter) and record.function in HANDLERS:
                            self.called.add((record.function, product))
        except (TraceError, SettingError, OSError):
            return  # damaged on purpose

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            for name, product in dict(report.user_properties).get("functions", ()):
                self.tests[name, product].add(report.nodeid.partition("[")[0])

    def pytest_sessionfinish(self) -> None:
        if not hasattr(self.config, "workerinput"):  # not a worker of pytest-xdist
            text = json.dumps({name: self.counts(name) for name in sorted({name for name, _ in self.tests} & NAMES)})
            text = text.replace("}, ", "},\n ").replace("{", "{\n ", 1)  # a function a line
            self.config.getoption("--count-functions").write_text(f"{text}\n", encoding="utf-8")

    def counts(self, name: str) -> dict[str, int]:
        """How many tests call a function: in ``all``, and by product."""
        by_product = {product: tests for (other, product), tests in sorted(self.tests.items()) if other == name}
        every = set().union(*by_product.values())
        return {"all": len(every), **{product: len(tests) for product, tests in by_product.items()}}
