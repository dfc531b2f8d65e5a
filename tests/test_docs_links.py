"""Every link within the documentation leads somewhere: files exist, and so do the headings that anchors name."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("tests/**/*.md")})
_LINK = re.compile(r"\[[^][]*\]\(<?([^()\s>]+)>?\)|^\[[^]]+\]:\s*(\S+)|(?:href|src)=\"([^\"]+)\"", re.M)
_CODE = re.compile(r"^(```|~~~).*?^\1\s*$|(`+)(?!`).+?(?<!`)\2(?!`)", re.M | re.S)


def links(text: str) -> list[str]:
    """Where the links of a page lead, within the project."""
    found = [next(filter(None, match.groups())) for match in _LINK.finditer(_without_code(text))]
    return [link for link in found if not re.match(r"[a-z][a-z0-9+.-]*:", link)]


def _without_code(text: str) -> str:
    """Code in a line becomes a letter, so that a link whose text is code stays a link."""
    return _CODE.sub(lambda code: "" if code[1] else "x", text)


@cache
def anchors(page: Path) -> frozenset[str]:
    """The names that a page gives its headings: lower case, no punctuation, hyphens for spaces; numbered when again."""
    text = re.sub(r"^(```|~~~).*?^\1\s*$", "", page.read_text(), flags=re.M | re.S)
    seen: dict[str, int] = {}
    names = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", text, flags=re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        again = seen.get(name, 0)
        seen[name] = again + 1
        names.add(f"{name}-{again}" if again else name)
    return frozenset(names)


def dead(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in links(text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert dead(page, page.read_text()) == []


def test_dead_links_are_found() -> None:
    page = ROOT / "docs" / "commands.md"
    text = (
        "[a](nothing.md) [`b`](#no-heading) [c](states.md#no-heading)\n"
        "[fine](states.md#keyframes) [out](https://example.com/x.md) `[code](nothing.md)` [too](#run)\n"
        "```\n[code](nothing.md)\n```\n"
    )
    assert dead(page, text) == ["nothing.md", "#no-heading", "states.md#no-heading"]
    assert sum(len(links(page.read_text())) for page in PAGES) > 50
