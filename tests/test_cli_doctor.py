"""``cannery doctor``: each check finds what is wrong and says what to do about it."""

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cannery.runtime.products import PRODUCTS, profile
from cannery.runtime.variables import VARIABLES
from cannery.shim import layout, sdk
from cannery.tools.doctor import leftovers, loading, profiles, system
from cannery.tools.doctor.findings import NOTE, OK, PROBLEM
from cannery.tools.main import main

A2 = profile("A2")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("CANNERY_"):
            monkeypatch.delenv(name)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CANNERY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def little_address_space() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


def doctor(*args: str) -> Result:
    return CliRunner().invoke(main, ["doctor", *args])


def test_a_working_installation_has_no_problem(cache: Path) -> None:
    result = doctor("--json")
    found = json.loads(result.stdout)
    assert [check for check in found["checks"] if check["state"] == PROBLEM] == []
    assert (result.exit_code, found["status"]) == (0, 0)
    names = [check["name"] for check in found["checks"]]
    assert {"compiler", "Python library", "memory files", "shared memory", "preload", "engine", "cache", "profile"} <= {
        *names
    }
    assert len(names) == len(set(names))


def test_what_is_found_is_one_line_each_and_what_to_do_below(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANNERY_PRODUCT", "A22")
    result = doctor()
    assert result.exit_code == 1
    first, second = result.stdout.splitlines()[:2]
    assert first.split()[:2] == ["problem", "variables"]
    assert "CANNERY_PRODUCT=A22 is none of" in first and "(did you mean 'A2'?)" in first
    assert second.strip() == "-> correct or unset them"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("CANNERY_PRODUKT", "A2", "CANNERY_PRODUKT is not a variable of Cannery (did you mean CANNERY_PRODUCT?)"),
        ("CANNERY_DEVICES", "many", "CANNERY_DEVICES='many'"),
        ("CANNERY_SCHEDULE", "later", "schedule 'later'"),
        ("CANNERY_BEHAVIOUR", "documneted", "documneted"),
    ],
)
def test_variables_that_are_not_understood(monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str) -> None:
    monkeypatch.setenv(name, value)
    finding = loading.variables()
    assert finding.state == PROBLEM
    assert words in finding.text


def test_variables_that_are_set_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loading.variables().state == OK
    for name in (*VARIABLES, "CANNERY_PRODUKT"):
        monkeypatch.setenv(name, "")
    assert loading.variables()[1:3] == (OK, "none set")
    monkeypatch.setenv("CANNERY_DEVICES", "2")
    assert loading.variables()[1:3] == (NOTE, "set for every run: CANNERY_DEVICES=2")


def test_a_compiler_that_does_not_exist(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nowhere/cc")
    assert system.compiler().state == PROBLEM


def test_without_a_compiler_programs_still_run(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    finding = system.compiler()
    assert finding.state == NOTE
    assert "apt-get install gcc" in finding.remedy


def test_headers_that_are_missing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "_headers", lambda: None)
    finding = system.compiler()
    assert finding.state == PROBLEM
    assert "install Cannery again" in finding.text


def test_a_limit_of_address_space(little_address_space: None) -> None:
    found = [system.memory_files(A2), system.address_range(8)]
    assert [finding.state for finding in found] == [PROBLEM, PROBLEM]
    assert all("ulimit -v" in finding.remedy for finding in found)


def test_an_engine_that_cannot_be_placed_names_a_placement_that_works(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANNERY_ENGINE", "inline")  # not possible in a Python
    finding = loading.engine()
    assert finding.state == PROBLEM
    assert "the program has a Python of its own" in finding.text
    assert finding.remedy == "use --engine private (CANNERY_ENGINE)"


def test_an_engine_that_is_gone(cache: Path) -> None:
    for conf in sdk.folder().rglob(layout.CONFIGURATION):
        conf.write_text("engine=/nowhere/engine.so\nlibpython=/nowhere/libpython.so\n")
    finding = loading.engine()
    assert finding.state == PROBLEM
    assert "/nowhere/libpython.so" in finding.text


def test_what_is_left_over_is_listed_and_removed(cache: Path) -> None:
    present = sdk.folder()
    gone = cache / ("0" * 16)
    (gone / "lib64").mkdir(parents=True)
    (gone / "lib64" / layout.CONFIGURATION).write_text("engine=/nowhere/engine.so\n")
    earlier = cache / ("1" * 16)
    (earlier / "lib64").mkdir(parents=True)
    (earlier / "lib64" / layout.SHIM_NAME).touch()
    (earlier / "lib64" / layout.CONFIGURATION).write_text((present / "lib64" / layout.CONFIGURATION).read_text())
    (cache / f"{'2' * 16}.{'a' * 8}").mkdir()
    (cache / "of somebody else").touch()
    finding = leftovers.check(clean=False)
    assert finding.state == NOTE
    assert [item.partition(":")[0] for item in finding.items] == [gone.name, earlier.name, f"{'2' * 16}.{'a' * 8}"]
    assert leftovers.check(clean=True).state == OK
    assert {path.name for path in cache.iterdir()} == {present.name, "of somebody else"}
    assert leftovers.check(clean=False).text.endswith("nothing left over")


def test_another_installation_that_still_exists_is_kept(cache: Path, tmp_path: Path) -> None:
    sdk.folder()
    engine = tmp_path / "engine.so"
    engine.touch()
    other = cache / ("3" * 16)
    (other / "lib64").mkdir(parents=True)
    (other / "lib64" / layout.SHIM_NAME).touch()
    (other / "lib64" / layout.CONFIGURATION).write_text(f"engine={engine}\n")
    leftovers.check(clean=True)
    assert other.exists()


@pytest.mark.parametrize("product", PRODUCTS)
def test_invented_values_of_the_product_are_named(product: str) -> None:
    finding = profiles.check(profile(product))
    assert finding.state == NOTE  # costs are invented for every product
    assert any(item.startswith("copy_ns = ") for item in finding.items)
    assert not any(item.startswith("spare_bytes") for item in finding.items)


def test_the_form_of_the_machine_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cannery.shim.__path__", [str(tmp_path)])
    assert system.machine_form().state == NOTE
    (tmp_path / "compiled").mkdir()
    found = system.machine_form()
    assert (found.state, found.text) == (OK, f"compiled, in {tmp_path / 'compiled'}")
    monkeypatch.setenv("CANNERY_PURE", "1")
    assert system.machine_form().state == NOTE
