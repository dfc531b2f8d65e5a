"""JSON lines: records there and back, without loss."""

import json
from typing import Any

import pytest
from hypothesis import given

from cannery.recorder import format
from cannery.recorder.bundle import Bundle
from cannery.recorder.jsonl import JsonError, dump_lines, load_lines
from cannery.recorder.packing import pack
from cannery.recorder.records import Call, Effect, Note, Payload, Record
from cannery.recorder.rows import RowMaker
from cannery.recorder.stream import committed
from tests.make_corpus import TRACES

from .trace_tools import streams


@given(streams())
def test_records_come_back_as_they_were(records: list[Record]) -> None:
    lines = list(dump_lines(records))
    assert all("\n" not in line for line in lines)
    back = list(load_lines(lines))
    assert [(type(record), record) for record in back] == [(type(record), record) for record in records]
    assert list(dump_lines(back)) == lines


def test_a_line_is_readable() -> None:
    payload = Payload(40, bytes(range(16)), None)
    record = Call(7, 1, 850, "use", 0, (5, b"\x01\x02"), (), (Effect("read", True, payload),))
    (line,) = dump_lines([record])
    assert json.loads(line) == {
        "record": "call",
        "number": 7,
        "thread": 1,
        "time": 850,
        "function": "use",
        "ret": 0,
        "ins": [5, {"hex": "0102"}],
        "outs": [],
        "effects": [{"kind": "read", "ok": True, "payload": {"size": 40, "digest": {"hex": bytes(range(16)).hex()}}}],
        "supported": True,
    }


@pytest.mark.parametrize(
    "value", [float("inf"), float("-inf"), -0.0, 1e300, (1 << 64) - 1, -(1 << 63), {b"k": (None, {})}, "ä\n\u2028"]
)
def test_values_that_json_has_no_word_for(value: Any) -> None:
    (back,) = load_lines(dump_lines([Note("host", value)]))
    assert repr(back) == repr(Note("host", value))


def test_a_value_that_is_no_number_stays_none() -> None:
    (back,) = load_lines(dump_lines([Note("host", float("nan"))]))
    assert isinstance(back, Note)
    assert back.value != back.value


def test_blank_lines_are_skipped() -> None:
    assert list(load_lines(["", '{"record":"pace","time":5,"effects":[]}', "  \n"])) != []


@pytest.mark.parametrize(
    "line",
    [
        "text",
        "5",
        "[]",
        "{}",
        '{"record":"fall"}',
        '{"record":"pace"}',
        '{"record":"pace","time":5,"effects":[{"kind":"read"}]}',
        '{"record":"pace","time":5,"effects":[],"more":1}',
        '{"record":"note","topic":"host","value":{"hex":"zz"}}',
        '{"record":"note","topic":"host","value":{"odd":1}}',
        '{"record":"note","topic":"host","value":{}}',
    ],
)
def test_what_is_no_record_is_refused_with_its_line(line: str) -> None:
    lines = ['{"record":"pace","time":5,"effects":[]}', line]
    with pytest.raises(JsonError, match="line 2"):
        list(load_lines(lines))


@pytest.mark.parametrize("name", ["machine", "killed", "policies", "redacted"])
def test_lines_give_the_bytes_of_the_trace_back(name: str) -> None:
    """Records of every kind, under every payload policy, selected and redacted."""
    with Bundle.open(TRACES / f"v{format.VERSION}-{name}") as bundle:
        for stream in bundle.processes:
            (content,) = (content for _, content in stream.windows())
            rows = RowMaker(bundle.schema)
            back = [row for record in load_lines(dump_lines(stream.records())) for row in rows.rows(record)]
            written = b"".join(map(pack, [(format.WINDOW, 1, 0, 0), *back]))
            assert written == content[: committed(content, "")]
