"""Every released format version's sample still opens and reads as it did; see ``make_trace_sample.py``."""

import shutil
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.jsonl import load_lines
from cannery.recorder.seal import finish

TRACES = Path(__file__).parent / "data" / "traces"
SAMPLES = sorted(path.name for path in TRACES.iterdir() if path.is_dir())


def test_there_is_a_sample_of_the_present_version() -> None:
    assert "v0-small" in SAMPLES


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_reads_as_it_did(name: str) -> None:
    bundle = Bundle.open(TRACES / name)
    assert bundle.version == int(name[1:].partition("-")[0])
    for stream in bundle.processes:
        expected = list(load_lines((TRACES / f"{name}.p{stream.ordinal:04d}.jsonl").read_text().splitlines()))
        assert list(stream.records()) == expected
        assert expected
    assert len(bundle.processes) == 2


def test_the_rest_of_the_sample_of_version_0() -> None:
    bundle = Bundle.open(TRACES / "v0-small")
    sealed, unsealed = bundle.processes
    assert (bundle.end, sealed.end, unsealed.end) == ({"status": 3}, {"status": 3}, None)
    assert (sealed.finished, unsealed.finished) == (True, False)
    assert (sealed.alive, unsealed.alive) == (False, False)
    assert (sealed.counts().calls, sealed.counts().failures) == (246, 42)
    assert sealed.counts()[:4] == unsealed.counts()[:4]
    assert [(call.thread, call.function.name, call.args) for call in unsealed.inflight()] == [(1, "pair", (5, 6))]
    assert sorted(sealed.payload_sizes().values()) == [100, 200, 300]
    assert all(bundle.payload(digest) for stream in bundle.processes for digest in stream.payload_sizes())
    assert unsealed.header["parent"] == 1


def test_the_sample_can_be_sealed(tmp_path: Path) -> None:
    shutil.copytree(TRACES / "v0-small", tmp_path / "copy.cann")
    before = [list(stream.records()) for stream in Bundle.open(TRACES / "v0-small").processes]
    finish(tmp_path / "copy.cann")
    bundle = Bundle.open(tmp_path / "copy.cann")
    assert all(stream.finished for stream in bundle.processes)
    assert [list(stream.records()) for stream in bundle.processes] == before
