"""Bundles of every format version from 1 on still open, read and replay as they did; see ``make_trace_sample.py`` for
those of a function table with every form, and ``make_corpus.py`` for those of programs. Version 0 is refused."""

import json
import shutil
from pathlib import Path

import pytest

from cannery.recorder.bundle import Bundle
from cannery.recorder.format import VERSION
from cannery.recorder.jsonl import load_lines
from cannery.recorder.repair import repair
from cannery.recorder.seal import finish
from tests.make_corpus import MADE, told

TRACES = Path(__file__).parent / "data" / "traces"
PAST = TRACES / "v0-small"
SAMPLES = sorted(path.name for path in TRACES.glob("*-small") if path != PAST)
CORPUS = sorted(path.stem for path in TRACES.glob("*.json"))


def test_there_are_bundles_of_the_present_version() -> None:
    made = {f"v{VERSION}-{name}" for name in ("small", *MADE)}
    assert made <= {*SAMPLES, *CORPUS}
    assert {path.name for path in TRACES.iterdir() if path.is_dir()} == {*SAMPLES, *CORPUS, PAST.name}


@pytest.mark.parametrize("name", CORPUS)
def test_a_bundle_of_the_corpus_replays_as_it_did(name: str) -> None:
    with Bundle.open(TRACES / name) as bundle:
        assert bundle.version == int(name[1:].partition("-")[0])
        found = [told(bundle, stream) for stream in bundle.processes]
    assert found == json.loads((TRACES / f"{name}.json").read_text())


@pytest.mark.parametrize("name", CORPUS)
def test_a_bundle_of_the_corpus_can_be_repaired_and_replays_then(name: str, tmp_path: Path) -> None:
    shutil.copytree(TRACES / name, tmp_path / "copy.cann")
    found = repair(tmp_path / "copy.cann")
    assert found.lost == ()
    assert bool(found.done) == (name.endswith("-killed"))
    with Bundle.open(tmp_path / "copy.cann") as bundle:
        assert [told(bundle, stream) for stream in bundle.processes] == json.loads(
            (TRACES / f"{name}.json").read_text()
        )


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_reads_as_it_did(name: str) -> None:
    bundle = Bundle.open(TRACES / name)
    assert bundle.version == int(name[1:].partition("-")[0])
    for stream in bundle.processes:
        expected = list(load_lines((TRACES / f"{name}.p{stream.ordinal:04d}.jsonl").read_text().splitlines()))
        assert list(stream.records()) == expected
        assert expected
    assert len(bundle.processes) == 2


def test_the_rest_of_the_sample_of_version_1() -> None:
    bundle = Bundle.open(TRACES / "v1-small")
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
    shutil.copytree(TRACES / "v1-small", tmp_path / "copy.cann")
    before = [list(stream.records()) for stream in Bundle.open(TRACES / "v1-small").processes]
    finish(tmp_path / "copy.cann")
    bundle = Bundle.open(tmp_path / "copy.cann")
    assert all(stream.finished for stream in bundle.processes)
    assert [list(stream.records()) for stream in bundle.processes] == before
