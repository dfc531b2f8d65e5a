"""Where the verbs that write a trace or a file refuse to write: nothing that was there is ever lost."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cannery.tools.main import main
from tests import scenarios

#: Verb and options, with TRACE for the trace that is read and OUT for what is written.
WRITERS = {
    "redact": ["redact", "TRACE", "-o", "OUT", "--force"],
    "run": ["run", "--force", "-o", "OUT", "--", "/bin/true"],
    "trim": ["trim", "TRACE", "--calls", "0:3", "-o", "OUT", "--force"],
}
COPIERS = ["redact", "trim"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the trace ``a.cann``, another and links to both."""
    live = scenarios.ALL["memory"]()
    live.save(tmp_path / "a.cann")
    live.save(tmp_path / "b.cann")
    (tmp_path / "to-a.cann").symlink_to("a.cann")
    (tmp_path / "to-b.cann").symlink_to(tmp_path / "b.cann")
    (tmp_path / "here").symlink_to(".")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(verb: str, out: str, trace: str = "a.cann") -> Result:
    return CliRunner().invoke(main, [{"TRACE": trace, "OUT": out}.get(word, word) for word in WRITERS[verb]])


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.mark.parametrize("verb", WRITERS)
@pytest.mark.parametrize("link", ["to-a.cann", "to-b.cann", "to-a.cann/"])
def test_force_onto_a_link_names_what_it_leads_to(verb: str, link: str, folder: Path) -> None:
    before = content(folder)
    result = write(verb, link)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"cannery: {link.rstrip('/')} is a symbolic link to ")
    assert result.stderr.count("\n") == 1
    assert content(folder) == before


@pytest.mark.parametrize("verb", COPIERS)
@pytest.mark.parametrize(("trace", "out"), [("a.cann", "a.cann"), ("to-a.cann", "a.cann"), ("a.cann", "here/a.cann/")])
def test_the_source_is_never_the_target(verb: str, trace: str, out: str, folder: Path) -> None:
    before = content(folder)
    result = write(verb, out, trace)
    assert (result.exit_code, result.stderr) == (
        2,
        f"cannery: {out.rstrip('/')} is the trace that is read; choose another name\n",
    )
    assert content(folder) == before


@pytest.mark.parametrize("verb", WRITERS)
@pytest.mark.parametrize("out", ["a.cann/c.cann", "a.cann/p0001", "a.cann/p0001/c.cann", "here/b.cann/c.cann"])
def test_nothing_is_written_into_a_trace(verb: str, out: str, folder: Path) -> None:
    before = content(folder)
    result = write(verb, out)
    assert (result.exit_code, "is inside the trace" in result.stderr) == (2, True)
    assert content(folder) == before


def test_a_report_does_not_overwrite_a_file_of_a_trace(folder: Path) -> None:
    (folder / "report.xml").symlink_to("a.cann/bundle")
    before = content(folder)
    for report in ("a.cann/bundle", "report.xml", "a.cann/report.xml"):
        result = CliRunner().invoke(main, ["diff", "a.cann", "b.cann", "--junit", report])
        assert (result.exit_code, "is inside the trace" in result.stderr) == (2, True)
    assert content(folder) == before


def test_what_is_replaced_is_there_until_the_copy_is_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(folder)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cannery.replayer.redaction._redact_process", fail)
    result = write("redact", "b.cann")
    assert (result.exit_code, result.stderr) == (2, "cannery: cannot write b.cann: No space left on device\n")
    assert content(folder) == before
