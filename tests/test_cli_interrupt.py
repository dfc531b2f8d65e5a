"""Ctrl-C in a verb: one line, the status of shells, and nothing half written."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from cannery.tools.main import main
from tests import scenarios

#: Verb and options, and the function in which it is interrupted.
VERBS = {
    "diff": (["diff", "a.cann", "a.cann"], "cannery.recorder.bundle.Bundle.open"),
    "index": (["index", "a.cann", "--every", "5"], "cannery.recorder.keyframes.KeyframeWriter.add"),
    "info": (["info", "a.cann"], "cannery.recorder.bundle.Bundle.open"),
    "redact": (["redact", "a.cann", "-o", "b.cann"], "cannery.recorder.rewrite.ChunkWriter.add"),
    "repair": (["repair", "a.cann"], "cannery.recorder.mend.StreamRepair.run"),
    "replay": (["replay", "a.cann"], "cannery.replayer.replay.Replay.run"),
    "show": (["show", "a.cann"], "cannery.recorder.process.ProcessStream.records"),
    "stats": (["stats", "a.cann"], "cannery.recorder.process.ProcessStream.records"),
    "trim": (["trim", "a.cann", "--calls", "3:9", "-o", "b.cann"], "cannery.recorder.files.Folder.replace"),
}


def press(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("verb", VERBS)
def test_the_verb_ends_with_one_line(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenarios.ALL["memory"]().save(tmp_path / "a.cann")
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    arguments, where = VERBS[verb]
    monkeypatch.setattr(where, press)
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.stderr) == (130, "cannery: interrupted\n")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_one_does_not_keep_it_from_cleaning_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cannery.replayer import redaction

    scenarios.ALL["memory"]().save(tmp_path / "a.cann")
    monkeypatch.chdir(tmp_path)
    remove = redaction.remove_bundle

    def press_and_remove(path: str) -> None:
        press()
        remove(path)

    monkeypatch.setattr("cannery.replayer.redaction.remove_bundle", press_and_remove)
    monkeypatch.setattr("cannery.recorder.rewrite.ChunkWriter.add", press)
    result = CliRunner().invoke(main, ["redact", "a.cann", "-o", "b.cann"])
    assert (result.exit_code, result.stderr) == (130, "cannery: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.cann"]


def test_one_that_was_lost_does_not_make_the_verb_deaf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception is lost where Python runs callbacks of its own; then the user tries again."""
    scenarios.ALL["memory"]().save(tmp_path / "a.cann")
    monkeypatch.chdir(tmp_path)
    now = 1000.0
    monkeypatch.setattr("cannery.tools.main.time.monotonic", lambda: now)

    def lose_the_first(*_: object, **__: object) -> None:
        nonlocal now
        with suppress(KeyboardInterrupt):
            press()
        press()  # the same
        now += 5
        press()

    monkeypatch.setattr("cannery.recorder.rewrite.ChunkWriter.add", lose_the_first)
    result = CliRunner().invoke(main, ["redact", "a.cann", "-o", "b.cann"])
    assert (result.exit_code, result.stderr) == (130, "cannery: interrupted\n")


LOADING = {
    "installed": ["-c", "from cannery.tools.start import main; main()"],
    "module": ["-m", "cannery.tools.main"],
}


@pytest.mark.parametrize("way", LOADING)
@pytest.mark.parametrize("ignored", [False, True])
def test_one_while_the_command_is_loaded(way: str, ignored: bool, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise SystemExit('loaded')\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, *LOADING[way], "info", "a.cann"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr) == ((1, "loaded\n") if ignored else (130, "cannery: interrupted\n"))


def test_an_ignored_interrupt_stays_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenarios.ALL["memory"]().save(tmp_path / "a.cann")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cannery.recorder.process.ProcessStream.inflight", lambda _: press() or [])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert CliRunner().invoke(main, ["repair", "a.cann"]).exit_code == 0
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
