"""Product profiles, switches, and the numbers of errors: data against data."""

import json
import sys
from io import open_code
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from cannery.runtime import api, behaviours, errors, handles, products
from tests.fakes import Driver


def test_every_value_has_a_known_source() -> None:
    content = products.read()
    assert set(content["values"]) == set(products.Profile._fields) - {"name"}
    for key, values in content["values"].items():
        assert set(values) == set(products.PRODUCTS), key
        assert {source for _, source in values.values()} <= set(content["sources"]), key
        assert len({type(value) for value, _ in values.values()}) == 1, key


@pytest.mark.parametrize("name", products.PRODUCTS)
def test_every_product_makes_a_machine(name: str) -> None:
    driver = Driver(product=name).opened()
    assert driver.machine.profile.name == name
    assert driver.call("aclrtGetMemInfo", 1, 1, 1)[2] == driver.machine.profile.memory_bytes


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("default", "memcpyasync-host-to-host", "fail-later-kind-0"),
        ("documented", "memcpyasync-host-to-host", "fail-later"),
        ("observed", "memcpyasync-host-to-host", "refuse"),
        ("observed,memcpyasync-host-to-host=fail-later", "memcpyasync-host-to-host", "fail-later"),
        ("default,memcpyasync-host-to-host=observed", "memcpyasync-host-to-host", "refuse"),
        ("documented", "reset-default-event", "accept"),  # the documents say nothing
        ("observed", "snapshot-950dt", "unsupported"),
    ],
)
def test_sets_and_switches(text: str, name: str, value: str) -> None:
    assert behaviours.behaviour(text)[name] == value


def test_switches_can_be_told_apart() -> None:
    assert len({switch.name for switch in behaviours.SWITCHES}) == len(behaviours.SWITCHES) == 22
    for switch in behaviours.SWITCHES:
        assert switch.default in switch.values and not set(switch.values) & set(behaviours.SETS)


def test_error_numbers_are_those_of_the_abi() -> None:
    with open_code(str(Path(api.__file__).parent / "abi" / "error_codes.json")) as file:
        facts: list[dict[str, Any]] = json.loads(file.read())
    abi = {fact["name"]: fact["value"] for fact in facts}
    mine = {name: value for name, value in vars(errors).items() if name.startswith("ACL_")}
    assert mine == {name: abi[name] for name in mine}
    assert {value: name for name, value in mine.items()} == errors.NAMES


def test_handles_and_ordinals() -> None:
    for ordinal in (1, 2, 60_000, 1 << 35):
        assert handles.ordinal_of(handles.handle_of(ordinal)) == ordinal
    for other in (0, 1, handles.HANDLE_BASE, handles.handle_of(1) + 1, handles.handle_of(1) - 16, 0x7FFF_0000_0000):
        assert handles.ordinal_of(other) is None


def test_importing_the_machine_imports_nothing_slow() -> None:
    slow = {"json", "dataclasses", "inspect", "difflib", "decimal", "asyncio", "importlib.resources", "os.path"}
    code = "import sys; before = set(sys.modules); import cannery.runtime.machine; print(*set(sys.modules) - before)"
    new = run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not slow & set(new)
    assert "cannery.runtime.api" not in new
