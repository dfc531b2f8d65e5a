"""``cannery api`` and docs/coverage.md: one row per function, from the model, the handlers and the counts."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cannery.runtime.api import MODEL, PRODUCTS
from cannery.runtime.calls.registry import HANDLERS
from cannery.tools import coverage
from cannery.tools.generate import coverage as generator
from cannery.tools.main import main

ROOT = Path(__file__).parents[1]


def api(*args: str) -> Result:
    return CliRunner().invoke(main, ["api", *args])


def test_there_is_one_object_per_function_in_the_order_of_the_exports() -> None:
    rows = json.loads(api("--json").stdout)
    assert [row["name"] for row in rows] == [function.name for function in MODEL.functions]
    assert {row["name"] for row in rows if row["implemented"]} == set(HANDLERS)
    assert all(set(row["products"]) <= set(PRODUCTS) for row in rows)
    assert sum(row["raw"] for row in rows) == MODEL.raw_count
    clients = {row["name"]: row["clients"] for row in rows}
    assert clients["aclrtMemcpy"] == max(clients.values())


def test_unsupported_lists_what_has_no_implementation() -> None:
    rows = json.loads(api("--json", "--unsupported").stdout)
    assert {row["name"] for row in rows} == {function.name for function in MODEL.functions} - set(HANDLERS)
    assert api("aclrtMalloc", "--unsupported").stdout == "0 functions, 0 implemented, 0 raw parameters\n"


def test_the_list_ends_with_totals() -> None:
    lines = api().stdout.splitlines()
    assert lines[0].split() == ["function", "works", "clients", "tests", "raw", "products"]
    assert lines[-1] == coverage.summary(coverage.rows())
    assert len(lines) == len(MODEL.functions) + 2


def test_patterns_choose_functions() -> None:
    chosen = json.loads(api("--json", "aclrtMemcpy*", "aclInit").stdout)
    assert [row["name"] for row in chosen if not row["name"].startswith("aclrtMemcpy")] == ["aclInit"]
    assert len(chosen) > 5


def test_one_function_is_described_with_its_parameters() -> None:
    lines = api("aclrtMemcpy").stdout.splitlines()
    assert (
        lines[0]
        == "aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)"
    )
    assert "  state     implemented" in lines
    assert "  products  all" in lines
    assert any(line.split()[:2] == ["dst", "in"] for line in lines)


def test_a_function_that_no_header_declares_is_described_too() -> None:
    assert "  header    none declares it" in api("aclAppLogWithArgs").stdout.splitlines()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("aclrtMaloc", "there is no function aclrtMaloc (did you mean 'aclrtMalloc'?)"),
        ("cuda*", "no function matches cuda*"),
    ],
)
def test_a_function_that_does_not_exist_is_status_2(given: str, words: str) -> None:
    result = api(given)
    assert (result.exit_code, result.stderr) == (2, f"cannery: {words}\n")


def test_the_check_says_what_to_do_about_a_table_that_is_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = tmp_path / "tests.json"
    counts.write_text(json.dumps({name: {"all": 1, "A2": 1} for name in HANDLERS if name != "aclInit"}))
    monkeypatch.setattr(coverage, "TESTS", counts)
    table = tmp_path / "coverage.md"
    table.write_text("old")
    assert generator.main(["--check", str(table)]) == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"{table} is out of date; no test calls aclInit: run `make coverage-table`")
    assert generator.main([str(table)]) == 0
    counts.write_text(json.dumps({name: {"all": 2, "A2": 2} for name in HANDLERS}))
    assert generator.main([str(table)]) == 0
    assert generator.main(["--check", str(table)]) == 0


def test_the_table_has_what_is_tested_of_each_function_on_each_product(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = tmp_path / "tests.json"
    counts.write_text(json.dumps({"aclrtCntNotifyCreate": {"all": 3, "950PR": 3}, "aclInit": {"all": 4, "A2": 3}}))
    monkeypatch.setattr(coverage, "TESTS", counts)
    lines = [line.split("|") for line in coverage.markdown(coverage.rows()).splitlines() if line.startswith("| ")]
    cells = {name.strip(): [cell.strip() for cell in rest] for _, name, *rest, _ in lines}
    assert cells["function"] == [*PRODUCTS, "clients", "tests", "raw"]
    assert cells["aclrtCntNotifyCreate"] == ["3", "0", "", "", "", "", "", "", "2", "3", ""]
    assert cells["aclInit"] == ["0", "0", "0", "3", "0", "0", "0", "0", "", "4", ""]
    assert set(cells["aclopStartDumpArgs"][:8]) == {"–", ""}


def test_the_table_in_the_documents_has_every_function() -> None:
    text = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    for function in MODEL.functions:
        assert f"| {function.name} " in text
