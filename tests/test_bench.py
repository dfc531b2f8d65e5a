"""The benchmark's own parts: that they compile, count and compute what they say. What they measure is not tested."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cannery.tools.bench import programs, report
from cannery.tools.bench.bench import Bench, base_environment, run
from cannery.tools.bench.profile import OTHER, by_part
from cannery.tools.bench.rows import Limit, Row, shown
from cannery.tools.bench.samples import Samples

ROOT = Path(__file__).resolve().parents[1]

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@needs_compiler
class TestPrograms:
    @pytest.mark.parametrize("loop", ["record 400", "queries 400", "train 1 20", "train 2 20"])
    def test_the_same_program_runs_on_a_stub_and_on_cannery(self, tmp_path: Path, loop: str) -> None:
        args = loop.split()
        bench = Bench(tmp_path, 1)
        stubbed = base_environment() | {"LD_LIBRARY_PATH": str(programs.compile_stub(tmp_path))}
        on_stub = run([str(bench.program), *args], stubbed).figures
        on_cannery = run([str(bench.program), *args], bench.preloaded()).figures
        assert on_stub.keys() == on_cannery.keys() >= {"mean", "calls", "memory"}
        assert on_stub["calls"] == on_cannery["calls"] >= 400

    def test_says_how_many_calls_it_makes(self, tmp_path: Path) -> None:
        from cannery.recorder.bundle import Bundle

        bench, trace = Bench(tmp_path, 1), tmp_path / "a.cann"
        made = run([str(bench.program), "train", "1", "30"], bench.preloaded(CANNERY_TRACE=str(trace))).figures["calls"]
        with Bundle.open(trace) as bundle:
            recorded = bundle.processes[0].counts().calls
        assert made == 30 * 24 + 3 * 2
        assert recorded == made + 2 + 1 + 4 * 6  # device and context, host memory, and what each stream needs

    def test_waits_and_wakes(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, 1)
        figures = run([str(bench.program), "wake", "3", "2"], bench.preloaded()).figures
        assert figures["wake/whole"] > 0
        assert run([str(bench.program), "waiting", "1"], bench.preloaded()).figures["waiting/processor"] >= 0

    def test_the_provider_has_a_tracepoint_for_each_function_that_is_called(self) -> None:
        names = {function.name for function in programs.called_functions()}
        assert {"aclrtRecordEvent", "aclrtMemcpyAsync", "aclrtGetDeviceCount"} <= names
        assert set(re.findall(r"EVENT\(ascend, (\w+),", programs.tracepoints())) == names
        assert set(re.findall(r"tracepoint\(ascend, (\w+),", programs.provider_source())) == names


class TestFigures:
    def test_are_compared_by_the_least_of_the_rounds(self) -> None:
        samples = Samples()
        for value, other in ((30.0, 10.0), (20.0, 50.0), (90.0, 12.0)):
            samples.add("a", value, "ns")
            samples.add("b", other, "ns")
        assert (samples.median("a"), samples.least("a")) == (30.0, 20.0)
        assert samples.ratio("a", to="b") == 2.0
        assert samples.difference("a", "b") == 10.0

    def test_are_pyperf_data(self) -> None:
        pytest.importorskip("pyperf")
        samples = Samples()
        samples.add("a", 1500.0, "ns")
        samples.add("a", 1700.0, "ns")
        (benchmark,) = samples.suite({"cpu_count": 2}).get_benchmarks()
        assert benchmark.get_name() == "a"
        assert benchmark.get_unit() == "second"
        assert benchmark.get_values() == pytest.approx((1.5e-6, 1.7e-6))
        assert benchmark.get_metadata()["cpu_count"] == 2

    def test_keep_a_limit_or_miss_it(self) -> None:
        assert Row("g", "w", 5.0, "ns").verdict == ""
        assert Row("g", "w", 5.0, "ns", Limit(most=5)).verdict == "kept"
        assert Row("g", "w", 0.8, "", Limit(least=0.9)).verdict == "MISSED"
        assert [str(Limit(most=5)), str(Limit(least=0.9))] == ["≤ 5", "≥ 0.9"]

    def test_are_shown_with_the_digits_that_say_something(self) -> None:
        assert [shown(figure, "B") for figure in (0.123, 12.34, 1234.5)] == ["0.12 B", "12.3 B", "1,234 B"]


class TestProfile:
    def test_counts_what_instructions_a_file_has_and_not_those_of_its_callees(self, tmp_path: Path) -> None:
        path = tmp_path / "callgrind.out"
        path.write_text(
            "version: 1\nevents: Ir\n\n"
            "ob=(1) /x/workload\nfl=(1) main.c\nfn=(1) main\n16 5\n+1 2\n"
            "cob=(2) /y/libcannery.so\ncfi=(2) shim.c\ncfn=(2) cannery_call\ncalls=3 20\n* 1000\n-1 4\n\n"
            "ob=(2)\nfl=(2)\nfn=(2)\n20 600\n"
            "cob=(3) /z/libpython3.11.so.1.0\ncfn=(3) PyObject_Vectorcall\ncalls=1 0\n21 400\n\n"
            "ob=(3)\nfn=(3)\n0 390\nob=(4) ???\nfn=(4) 0x1f\n0 10\n\ntotals: 1011\n"
        )
        assert by_part(path) == {"the program": 11, "shim (C)": 600, "libpython": 390, OTHER: 10}


class TestPage:
    def test_has_a_place_for_each_table(self) -> None:
        text = (ROOT / "docs" / report.PAGE).read_text()
        for name in ("machine", "field", "limits", "profile"):
            assert text.index(f"<!-- {name} -->") < text.index(f"<!-- end {name} -->")

    def test_each_way_of_the_workload_is_explained(self, tmp_path: Path) -> None:
        if shutil.which("cc") is None:
            pytest.skip("needs a C compiler")
        bench = Bench(tmp_path, 1)
        done = subprocess.run([bench.program], env=bench.preloaded(), capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert all(f"\n  {way}" in done.stderr for way in ("once", "record", "train", "live", "wake"))
