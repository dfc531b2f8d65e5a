"""What ``bundle_fuzz`` found in states: an altered one (its check sums made right) ends in words, whoever reads it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from xxhash import xxh3_128_digest

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace
from cannery.recorder.keyframes import Keyframes
from cannery.recorder.packing import pack, unpack
from cannery.recorder.sheet import pack_sheet
from cannery.replayer.indexing import index_process
from cannery.tools.main import main
from tests import scenarios
from tests.bundle_fuzz import write
from tests.bundle_mutator import read_states, write_states
from tests.bundle_seeds import load

Content = dict[str, Any]


def part_of(scenario: str, call: int, path: Path) -> Path:
    """A part that begins with that call."""
    trace, part = scenarios.ALL[scenario]().save(path / "a.cann"), path / "b.cann"
    result = CliRunner().invoke(main, ["trim", str(trace), "--calls", f"{call}:", "-o", str(part)])
    assert result.exit_code == 0, result.output
    return part


def alter(path: Path, change: Callable[[Content], Content], name: str = "p0001/origin") -> None:
    """Alter the state that a part begins with, or the first keyframe."""
    sheet, contents = read_states(load(path), name)
    (*position, digest), *others = sheet["frames"]
    content = pack(change(unpack(contents[digest], format.MAX_STATE)))
    digest = xxh3_128_digest(content)
    changed = sheet | {"frames": [(*position, digest), *others]}
    write(path, write_states(name, changed, contents | {digest: content}))


def attribute(name: str, value: Any, cls: str = "machine.Machine") -> Callable[[Content], Content]:
    """Give an attribute of the first object of a class another value."""

    def change(content: Content) -> Content:
        machine = content["machine"]
        number = next(at for at, (known, *_) in enumerate(machine["classes"]) if known == cls)
        place = machine["classes"][number].index(name)
        row = next(at for at, each in enumerate(machine["objects"]) if each[0] == number)
        objects = [*machine["objects"]]
        objects[row] = (*objects[row][:place], value, *objects[row][place + 1 :])
        return content | {"machine": machine | {"objects": objects}}

    return change


def said(path: Path, *commands: tuple[str, ...]) -> list[str]:
    """What the commands say, which all fail."""
    found = []
    for command, *args in commands:
        more = ("-o", str(path.with_name("out.cann"))) if command == "trim" else ()
        names = (f"{path}@30", f"{path}@32") if command == "diff" else (str(path),)
        result = CliRunner().invoke(main, [command, *names, *args, *more], catch_exceptions=False)
        assert result.exit_code == 2, (command, result.output)
        found.append(result.stderr)
    assert not path.with_name("out.cann").exists()
    return found


READERS = (("replay",), ("show", "--at", "30"), ("diff",), ("trim", "--calls", "30:31"), ("index",))


@pytest.mark.parametrize(
    "change",
    [
        attribute("streams", 5),
        attribute("now", (2, 1, 2)),
        attribute("threads", (4,)),
        attribute("events", (4, 1, (0, 0))),
    ],
)
def test_a_state_that_no_machine_can_have_ends_in_words(change: Callable[[Content], Content], tmp_path: Path) -> None:
    """Whichever step meets it: a table that is a number, a time that is none, objects that are not there, or others."""
    part = part_of("events", 25, tmp_path)
    alter(part, change)
    for command, *args in READERS:
        more = ("-o", str(tmp_path / "out.cann")) if command == "trim" else ()
        names = (f"{part}@30", f"{part}@32") if command == "diff" else (str(part),)
        result = CliRunner().invoke(main, [command, *names, *args, *more], catch_exceptions=False)
        assert result.exit_code in (0, 1, 2)
        assert result.output


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pages", b"short"),
        ("imported", b"short"),
        ("running", ((1, 1, 1, "aclrtNothing", (), ()),)),
        ("running", ((1, 1, 1, (2,), "void(ptr)", ()),)),
        ("running", ((None, 1, 1, 2, "void(ptr)", ()),)),
        ("calls", (((1, "T1", 0, "aclrtSetDevice", (), ()), None, ()),)),
        ("calls", (((1, 1, 0, "aclrtSetDevice", (), ()), None, ("int(void)",)),)),
        ("errands", ((1, 5),)),
        ("regions", ((1, "h1"),)),
        ("invented", None),
        ("supported", (("aclrtSetDevice", b""),)),
        ("bytes", (1, "2")),
        ("held", ((0, 0, 0.5),)),
    ],
)
def test_what_a_state_has_of_the_replay_itself_has_its_types_checked(key: str, value: Any, tmp_path: Path) -> None:
    part = part_of("events", 25, tmp_path)
    alter(part, lambda content: content | {key: value})
    for text in said(part, *READERS):
        assert "the state that the trace begins with cannot be read" in text


@pytest.mark.parametrize("size", [-1, 0, 1 << 50, 1 << 62, 1 << 63])
def test_memory_of_another_process_of_a_size_that_no_memory_has(size: int, tmp_path: Path) -> None:
    part = part_of("memory of the second process", 9, tmp_path)
    alter(part, attribute("size", size if size < 1 << 63 else (7, bytes(8) + b"\1"), "places.Imported"))
    (text,) = said(part, ("replay",))
    assert "the state that the trace begins with cannot be read" in text


@pytest.mark.parametrize(
    ("key", "value"), [("blobs", "text"), ("blobs", 5), ("apart", "1"), ("apart", 2.5), ("tool", 1)]
)
def test_a_sheet_of_keyframes_with_other_types_is_damage(key: str, value: Any, tmp_path: Path) -> None:
    sheet = {"tool": "1", "frames": [], "blobs": b""}
    (tmp_path / "keyframes").write_bytes(pack_sheet(sheet | {key: value}))
    with Folder(str(tmp_path)) as folder, pytest.raises(DamagedTrace, match="not that of keyframes"):
        Keyframes.read(folder, "keyframes")


def test_a_state_that_cannot_be_shown_is_told(tmp_path: Path) -> None:
    part = part_of("events", 25, tmp_path)
    alter(part, attribute("events", 5))
    for text in said(part, ("show", "--at", "25")):
        assert "the state at call #25 cannot be shown" in text


def test_an_altered_keyframe_on_which_the_machine_fails_is_not_used(tmp_path: Path) -> None:
    trace = str(scenarios.ALL["events"]().save(tmp_path / "a.cann"))
    commands = ["index", trace, "--every", "25"], ["show", trace, "--at", "30"]
    assert [CliRunner().invoke(main, command).exit_code for command in commands] == [0, 0]
    before = CliRunner().invoke(main, commands[1])
    alter(Path(trace), attribute("threads", 5), "p0001/keyframes")
    after = CliRunner().invoke(main, commands[1], catch_exceptions=False)
    assert (after.exit_code, after.stdout) == (0, before.stdout)
    assert "replaying from the beginning" in after.stderr


def test_a_stream_without_a_record_has_a_state(tmp_path: Path) -> None:
    trace = scenarios.ALL["events"]().save(tmp_path / "a.cann")
    (trace / "p0001" / "000001.journal").write_bytes(bytes(4096))
    result = CliRunner().invoke(main, ["show", str(trace), "--at", "0"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    with Bundle.open(trace) as bundle:
        assert index_process(bundle, bundle.processes[0], 1).frames == 0
