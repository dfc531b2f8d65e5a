"""docs/behaviours.md: one line per switch, generated, and checked like docs/coverage.md."""

from pathlib import Path

import pytest

from cannery.runtime.behaviours import SWITCHES, Switch
from cannery.tools import behaviours
from cannery.tools.generate import behaviours as generator

PAGE = Path(__file__).parents[1] / "docs" / "behaviours.md"


def test_the_page_is_up_to_date_and_has_every_switch() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == behaviours.markdown()
    for switch in SWITCHES:
        (line,) = (line for line in text.splitlines() if line.startswith(f"| `{switch.name}` "))
        values = [cell.strip() for cell in line.split("|")[-4:-1]]
        assert values == [switch.documented or "–", switch.observed or "–", switch.default]


def test_switches_that_nothing_looks_at_are_named() -> None:
    text = behaviours.markdown([Switch("unheard", "yes", "no", "no", ""), Switch("memcpy-kind", "a", "b", "a", "")])
    assert text.endswith("not simulated yet: `unheard`.\n")
    assert "Without effect" not in behaviours.markdown([Switch("settled", None, "one", "one", "")])


def test_the_check_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    assert generator.main(["--check", str(page)]) == 1
    assert capsys.readouterr().err == f"{page} is out of date: run `make behaviour-page` and commit it\n"
    assert generator.main([str(page)]) == generator.main(["--check", str(page)]) == 0
    assert generator.main([]) == 2
