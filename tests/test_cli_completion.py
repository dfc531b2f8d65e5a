"""Completion for shells: the scripts that click makes for the command, and what they complete."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from cannery.tools.main import main; main(prog_name='cannery')"]


def complete(instruction: str, **variables: str) -> str:
    environment = {**os.environ, "_CANNERY_COMPLETE": instruction, **variables}
    return subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_accepted_by_it(shell: str, tmp_path: Path) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("click asks bash for its version")
    script = complete(f"{shell}_source")
    assert "cannery" in script
    assert f"{shell}_complete" in script
    if shutil.which(shell) is not None:
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("cannery rep", {"repair", "replay"}),
        ("cannery sdk --inc", {"--include"}),
        ("cannery replay --pro", {"--process", "--product"}),
    ],
)
def test_verbs_and_options_are_completed(words: str, expected: set[str]) -> None:
    found = complete("bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1))
    assert {line.partition(",")[2] for line in found.splitlines()} == expected
