"""Kernel models: declaring them, loading them, what they see and what is found of what they wrote."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.runtime.models import In, KernelModel, Launched, ModelError, Out, Scalar, kernel
from cannery.runtime.models.compare import rerun
from cannery.runtime.models.load import Models, load
from cannery.runtime.models.run import Failure, changed_ranges, run
from tests.kernel_tools import add, block, double

GOOD = """
from cannery.runtime.models import In, Out, Scalar, kernel

@kernel("add", In("float32", "n"), Out("float32", "n"), Scalar("uint32"))
def add(launch, x, y, n):
    y[:] = x
"""


class Device:
    """Device memory of a few bytes for a launch: pointers are offsets, 0 leads nowhere, one piece or two."""

    def __init__(
        self, content: bytes, arguments: bytes, pieces: int = 1, offsets: tuple[int, ...] | None = None
    ) -> None:
        self.memory = bytearray(content)
        self.arguments = arguments
        self.offsets = offsets
        self.placeholders = ()
        self.name, self.blocks, self.device = b"k", 3, 1
        self._pieces = pieces

    def pointer(self, at: int) -> int:
        return int.from_bytes(self.arguments[at : at + 8], "little")

    def target(self, at: int) -> Any:
        address = self.pointer(at)
        if not 0 < address < len(self.memory):
            return None
        return SimpleNamespace(kind="device memory", address=address, room=len(self.memory) - address)

    def pieces(self, target: Any, offset: int, size: int) -> list[memoryview]:
        start = target.address + offset
        view = memoryview(self.memory)[start : start + size]
        return [view] if self._pieces == 1 else [view[: size // 2], view[size // 2 :]]


def never(address: int, data: memoryview) -> bool:
    raise AssertionError("there is no host memory in this test")


def execute(model: KernelModel, device: Device) -> list[tuple[int, int, bytes]]:
    outcome = run(model, device, never, never)  # type: ignore[arg-type]
    assert outcome.saw == []
    return [(place, offset, bytes(content)) for place, offset, content in outcome.wrote]


def floats(*values: float) -> bytes:
    return numpy.array(values, numpy.float32).tobytes()


class TestDeclaring:
    """What is wrong with a declaration is said where it stands."""

    @pytest.mark.parametrize(
        ("declare", "text"),
        [
            (lambda: kernel(""), "a kernel is called ''"),
            (lambda: kernel(add), "a kernel is called"),  # type: ignore[arg-type]
            (lambda: kernel("k", "float32"), "the model of k has the parameter 'float32'"),  # type: ignore[arg-type]
            (lambda: kernel("k", relative=-1), "the tolerance -1"),
            (lambda: kernel("k", absolute=float("nan")), "the tolerance"),
            (lambda: In("f4", -1), "count -1"),
            (lambda: Out("f4", 1.5), "count 1.5"),  # type: ignore[arg-type]
            (lambda: Scalar("f4", at=-8), "at=-8"),
            (lambda: kernel("k")(len), "no Python function"),
            (lambda: kernel("k", In("f4"))(lambda launch: None), "has to take the launch and 1 argument, and takes"),
            (lambda: kernel("k")(lambda launch, x: None), "has to take the launch and 0 arguments"),
            (lambda: kernel("k", In("f4", "n"))(lambda launch, x: None), "the count 'n' is no scalar parameter"),
            (lambda: kernel("k", In("f4", "x"))(lambda launch, x: None), "of the model of k (none)"),
        ],
    )
    def test_a_wrong_declaration(self, declare: Any, text: str) -> None:
        with pytest.raises(ModelError) as raised:
            declare()
        assert text in str(raised.value)

    def test_a_model_is_still_a_function(self) -> None:
        x, z = numpy.arange(3, dtype="f4"), numpy.zeros(3, "f4")
        add(Launched("add", 1, 0), x, x, z, 3)
        assert [*z] == [0, 2, 4]

    def test_one_function_can_be_the_model_of_several_kernels(self) -> None:
        second = kernel("twice", Out("int32"))(double)
        assert (second.name, second.run) == ("twice", double.run)
        assert Models([double, second]).find(b"twice") is second


class TestLoading:
    """Files and packages."""

    def write(self, tmp_path: Path, text: str, name: str = "models.py") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    def test_a_file(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, GOOD)
        found = load([path])
        model = found.find(b"add")
        assert model is not None
        assert model.where == f"{path}:4"
        assert found.find(b"other") is None
        digest = found.digest(model)
        self.write(tmp_path, GOOD + "\n")
        assert load([path]).digest(model) != digest

    def test_a_file_that_changed_within_a_second(self, tmp_path: Path) -> None:
        """A compiled file of the text before would have its size and time."""
        path = self.write(tmp_path, GOOD.replace("add", "one"))
        assert load([path]).find(b"one") is not None
        assert list(tmp_path.iterdir()) == [Path(path)]
        os.utime(self.write(tmp_path, GOOD.replace("add", "two")), times=(1, 1))
        assert load([path]).find(b"two") is not None

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("def (", "models.py:1: invalid syntax"),
            ("\n\n1 / 0", "models.py:3: ZeroDivisionError: division by zero"),
            ("import nothing_like_it", "models.py:1: ModuleNotFoundError: No module named 'nothing_like_it'"),
            ("raise SystemExit(3)", "models.py:1: SystemExit: 3"),
            ("x = 1", "no kernel models; declare some with @kernel"),
            (GOOD.replace("y, n)", "y)"), "has to take the launch and 3 arguments, and takes (launch, x, y)"),
            (GOOD.replace('"float32"', '"floaty"'), "the type 'floaty' of x"),
            (GOOD.replace('"float32"', '"O"'), "the type 'O' of x is none of plain memory"),
            (GOOD + GOOD, "two kernel models for add: "),
        ],
    )
    def test_a_bad_file_is_one_clear_line(self, tmp_path: Path, text: str, reason: str) -> None:
        path = self.write(tmp_path, text)
        with pytest.raises(ModelError) as raised:
            load([path])
        assert reason in str(raised.value)
        assert str(raised.value).count(path) >= 1
        assert "\n" not in str(raised.value)

    def test_what_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"missing\.py: no such file"):
            load([str(tmp_path / "missing.py")])
        with pytest.raises(ModelError, match=r"ends in \.py"):
            load([self.write(tmp_path, GOOD, "models.txt")])

    def test_two_files_with_a_model_for_one_kernel(self, tmp_path: Path) -> None:
        files = [self.write(tmp_path, GOOD), self.write(tmp_path, GOOD, "more.py")]
        with pytest.raises(ModelError) as raised:
            load(files)
        assert str(raised.value) == f"two kernel models for add: {files[0]}:4 and {files[1]}:4"

    def package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
        """Install a package with an entry point."""
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, name, raising=False)
        self.write(tmp_path, text, f"{name}.py")
        folder = tmp_path / f"{name}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[cannery.kernels]\n{name} = {name}\n")

    def test_models_of_packages(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.package(tmp_path, monkeypatch, "packaged_models_a", GOOD.replace('"add"', '"packed"'))
        found = load([])
        model = found.find(b"packed")
        assert model is not None
        assert Path(model.file).name == "packaged_models_a.py"
        assert load([], installed=False).find(b"packed") is None

    def test_a_file_counts_more_than_a_package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.package(tmp_path, monkeypatch, "packaged_models_b", GOOD)
        path = self.write(tmp_path, GOOD)
        model = load([path]).find(b"add")
        assert model is not None
        assert model.file == path

    def test_a_broken_package_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.package(tmp_path, monkeypatch, "packaged_models_c", "1 / 0")
        with pytest.raises(ModelError, match=r"entry point packaged_models_c .*: ZeroDivisionError"):
            load([])


class TestRunning:
    """What a model gets, and what is found of what it wrote."""

    def test_arguments_are_aligned_as_in_c(self) -> None:
        got: list[Any] = []

        @kernel("k", Scalar("uint8"), Scalar("int16"), Scalar("float64"), Scalar("uint8"), In("uint8", 2))
        def take(launch: Launched, *values: Any) -> None:
            got.extend((launch, *values))

        with pytest.raises(ModelError):
            kernel("k", Scalar("uint8"))(lambda: None)
        arguments = bytes([1, 0, 0xFE, 0xFF]) + bytes(4) + numpy.float64(2.5).tobytes() + b"\3" + bytes(7) + block(4)
        execute(take, Device(bytes(range(16)), arguments))
        launch, *values, array = got
        assert launch == Launched("k", 3, 1)
        assert values == [1, -2, 2.5, 3]
        assert [*array] == [4, 5]

    def test_an_offset_can_be_given(self) -> None:
        got: list[Any] = []

        @kernel("k", Scalar("uint32", at=12), Scalar("uint32"))
        def take(launch: Launched, x: int, y: int) -> None:
            got.extend((x, y))

        execute(take, Device(b"", bytes(range(20))))
        assert got == [0x0F0E0D0C, 0x13121110]

    def test_an_argument_list_says_where_each_argument_is(self) -> None:
        device = Device(bytes(8) + floats(1, 2), block(8, 8) + bytes(8), offsets=(0, 8))
        with pytest.raises(Failure, match="has 4 parameters, and the launch 2"):
            execute(add, device)

    def test_arrays_that_are_read_cannot_be_written(self) -> None:
        @kernel("k", In("uint8"))
        def write(launch: Launched, x: Any) -> None:
            x[0] = 1

        device = Device(bytes(16), block(8))
        with pytest.raises(Failure, match="read-only"):
            execute(write, device)
        assert device.memory == bytes(16)

    @pytest.mark.parametrize("pieces", [1, 2])
    def test_only_what_changed_is_found(self, pieces: int) -> None:
        @kernel("k", Out("uint8"))
        def write(launch: Launched, x: Any) -> None:
            x[3] = 7
            x[500:502] = 8
            x[600] = x[600]

        device = Device(bytes(1024), block(8), pieces)
        assert execute(write, device) == [(0, 3, b"\7"), (0, 500, b"\x08\x08")]
        assert device.memory == bytes(11) + b"\7" + bytes(496) + b"\x08\x08" + bytes(514)

    def test_a_pointer_may_be_null_where_the_model_says_so(self) -> None:
        got: list[Any] = []

        @kernel("k", In("uint8", optional=True), In("uint8", 0))
        def take(launch: Launched, x: Any, y: Any) -> None:
            got.extend((x, y))

        execute(take, Device(bytes(16), block(0, 0)))
        assert got[0] is None
        assert len(got[1]) == 0

    def test_arguments_that_overlap_are_one_memory(self) -> None:
        @kernel("k", Out("uint8", 4), Out("uint8", 4))
        def write(launch: Launched, x: Any, y: Any) -> None:
            x[2] = 5
            y[0] += 1
            raise RuntimeError("no")

        device = Device(bytes(16), block(4, 6))
        with pytest.raises(Failure, match="raised RuntimeError: no"):
            execute(write, device)
        assert device.memory == bytes(16)

    def test_a_model_that_leaves_the_process_only_fails_its_launch(self) -> None:
        @kernel("k")
        def leave(launch: Launched) -> None:
            sys.exit(3)

        with pytest.raises(Failure, match="raised SystemExit: 3"):
            execute(leave, Device(b"", b""))

    @given(
        st.binary(min_size=1, max_size=2000),
        st.lists(st.tuples(st.integers(0, 1999), st.integers(0, 255)), max_size=300),
    )
    def test_the_ranges_have_all_that_changed(self, before: bytes, writes: list[tuple[int, int]]) -> None:
        after = bytearray(before)
        for at, value in writes:
            after[at % len(after)] = value
        ranges = changed_ranges(before, memoryview(after))
        rebuilt = bytearray(before)
        for start, end in ranges:
            assert 0 <= start < end <= len(before)
            assert before[start] != after[start]
            assert before[end - 1] != after[end - 1]
            rebuilt[start:end] = after[start:end]
        assert rebuilt == after
        assert [*ranges] == sorted(ranges)

    def test_there_are_never_very_many_ranges(self) -> None:
        before = bytes(1 << 20)
        after = bytearray(before)
        after[::256] = b"\1" * (1 << 12)
        assert len(changed_ranges(before, memoryview(after))) <= 256


class TestComparing:
    """A model that runs again has to give what it gave, within its tolerance."""

    def differences(self, model: KernelModel, device: Device, recorded: bytes | None) -> list[str]:
        from cannery.runtime.ports import Range

        ranges = None if recorded is None else [Range(16, 0, memoryview(recorded))]
        return rerun(model, device, never, ranges)  # type: ignore[arg-type]

    def device(self) -> Device:
        return Device(bytes(8) + floats(1, 2, 0, 0), block(8, 8, 16, number=2))

    def test_within_the_tolerance_the_recorded_bytes_stay(self) -> None:
        device = self.device()
        assert self.differences(add, device, floats(2.000001, 4)) == []
        assert bytes(device.memory[16:]) == floats(2.000001, 4)

    def test_beyond_it_the_first_element_is_named(self) -> None:
        device = self.device()
        (text,) = self.differences(add, device, floats(2, 4.5))
        assert text == "element 1 of z is 4.0, not 4.5 (1 of 2 differ)"
        assert bytes(device.memory[16:]) == floats(2, 4.5)

    def test_without_a_tolerance_every_bit_counts(self) -> None:
        model = kernel("add", *add.parameters)(add.run)
        assert self.differences(model, self.device(), floats(2, 4)) == []
        assert len(self.differences(model, self.device(), floats(2.0000002, 4))) == 1

    def test_what_is_no_number_is_close_to_what_is_none(self) -> None:
        device = Device(bytes(8) + floats(float("nan"), 1, 0, 0), block(8, 8, 16, number=2))
        assert self.differences(add, device, floats(float("nan"), 2)) == []

    def test_what_was_not_written_counts_as_before(self) -> None:
        device = self.device()
        (text,) = rerun(add, device, never, [])  # type: ignore[arg-type]
        assert text == "element 0 of z is 2.0, not 0.0 (2 of 2 differ)"

    def test_failures_are_compared(self) -> None:
        assert self.differences(add, self.device(), None) == ["it does not fail"]
        broken = Device(bytes(16), block(8, 8, 0, number=2))
        assert self.differences(add, broken, None) == []
        assert self.differences(add, broken, floats(1)) == ["it fails: its argument z is null"]
