"""A small function table with every form, strategies for its records, and bundles written with it."""

import os
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from cannery.recorder import format
from cannery.recorder.addresses import AddressBook
from cannery.recorder.claim import ProcessFolder, join_bundle
from cannery.recorder.codec import Wire
from cannery.recorder.create import create_bundle
from cannery.recorder.packing import pack
from cannery.recorder.payloads import PayloadStore
from cannery.recorder.records import (
    Call,
    Effect,
    Enter,
    Errand,
    Exit,
    Expire,
    Invoke,
    Note,
    Pace,
    Payload,
    Record,
    Returned,
    ThreadEnd,
)
from cannery.recorder.rows import RowMaker
from cannery.recorder.schema import LIST, FunctionForm, ParamForm, Schema
from cannery.recorder.sheet import pack_sheet, unpack_sheet
from cannery.recorder.stream import Head, layouts_of, read_head, read_window
from cannery.recorder.writer import StreamWriter
from cannery.runtime.invoke import SIGNATURES

settings.register_profile("trace", deadline=None)  # the machine may be busy
settings.load_profile("trace")

BASE = 0x2000_0000_0000
SPAN = 1 << 40
SESSION = "a test"


def param(into: str, out: str | None = None) -> ParamForm:
    return ParamForm(f"{into}_{out}".replace(":", "_"), "T", "role", into, out)


def _functions() -> list[FunctionForm]:
    shapes: list[tuple[str, str, list[ParamForm]]] = [
        ("use", "number", [param("handle")]),
        ("pair", "number", [param("handle"), param("handle")]),
        ("sizes", "number", [param("number"), param("handle"), param("bytes")]),
        ("make", "number", [param("flag", "handle"), param("number")]),
        ("copy", "number", [param("address"), param("number"), param("address"), param("handle")]),
        ("place", "address", [param("flag", "address"), param("number")]),
        ("name", "bytes", []),
        ("nothing", "none", []),
        ("hook", "number", [param("token"), param("flag")]),
        ("many", "handle", [param(f"{LIST}handle"), param("flag", f"{LIST}number"), param("plain"), param("raw")]),
        ("change", "number", [param("number", "number"), param("bytes", "bytes")]),
    ]
    return [
        FunctionForm(number, name, "aclError" if result == "number" else "T", result, tuple(params))
        for number, (name, result, params) in enumerate(shapes)
    ]


SCHEMA = Schema(_functions(), {"color": {"RED": 0, "BLUE": 1}})
LAYOUTS = layouts_of(SCHEMA)

# Strategies of wire values and records

numbers = st.one_of(
    st.integers(-(1 << 63), (1 << 64) - 1), st.floats(allow_nan=False), st.sampled_from([0, 127, 128, -32, -33])
)
handles = st.one_of(st.integers(0, (1 << 36) - 1), st.binary(min_size=8, max_size=8))
addresses = st.one_of(st.none(), st.integers(0, SPAN - 1), st.tuples(st.integers(1, 1 << 40), st.integers(0, 1 << 40)))
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.binary(max_size=40)),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=8,
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "number": st.one_of(st.none(), numbers),
    "handle": handles,
    "address": addresses,
    "bytes": st.one_of(st.none(), st.binary(max_size=60)),
    "flag": st.booleans(),
    "token": st.integers(0, 1 << 20),
    "raw": st.one_of(st.none(), st.integers(1, (1 << 64) - 1)),
    "plain": plain,
    "none": st.none(),
}


def values(form: str) -> st.SearchStrategy[Any]:
    if not form.startswith(LIST):
        return VALUES[form]
    return st.one_of(st.none(), st.lists(VALUES[form.removeprefix(LIST)], max_size=4).map(tuple))


payloads = st.one_of(
    st.binary(max_size=format.SHORT).map(lambda content: Payload(len(content), None, content)),
    st.builds(Payload, st.integers(0, 1 << 50), st.one_of(st.none(), st.binary(min_size=16, max_size=16)), st.none()),
)
effects = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["read", "write", "move", "file"]), payloads).map(lambda p: Effect(p[0], True, p[1])),
        st.sampled_from(sorted(format.EFFECT_KINDS.values())).map(lambda kind: Effect(kind, False)),
        st.just(Effect("fill", True)),
        st.integers(1, 1 << 40).map(lambda region: Effect("alloc", True, None, region)),
        st.tuples(st.integers(1, 1 << 40), st.integers(0, 99)).map(lambda p: Effect("thread", True, None, 0, *p)),
    ),
    max_size=3,
).map(tuple)
signatures = st.sampled_from(sorted(SIGNATURES))
threads = st.integers(0, 5000)
functions = st.sampled_from(SCHEMA.functions)
notes = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.binary(max_size=9), st.text(max_size=9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=5), st.binary(max_size=5)), inner, max_size=3),
    ),
    max_leaves=5,
)


def invokes(thread: int) -> st.SearchStrategy[Invoke]:
    args = st.lists(st.one_of(st.booleans(), numbers), max_size=4).map(tuple)
    functions = st.integers(1, 1 << 20)
    return st.one_of(
        st.tuples(st.integers(0, 1 << 30), functions, signatures, args).map(lambda p: Invoke(p[0], thread, 0, *p[1:])),
        st.tuples(st.integers(1, 99), functions, signatures, args).map(lambda p: Invoke(None, None, *p)),
    )


@st.composite
def streams(draw: st.DrawFn, max_size: int = 12) -> list[Record]:
    """Records as one stream may have them: call numbers count up, times are sums of what passed."""
    records: list[Record] = []
    number = time = 0
    for kind in draw(st.lists(st.sampled_from("cccueexptnsifrk"), max_size=max_size)):
        form = draw(functions)
        ins = tuple(draw(values(p.into)) for p in form.params)
        outs = tuple(draw(st.one_of(st.none(), values(p.out or "none"))) for p in form.outputs)
        ret = draw(values(form.result))
        thread = draw(threads)
        if kind not in "xnsik":
            time += draw(st.integers(-5, 1 << 40))
        if kind == "c":
            records.append(Call(number, thread, time, form.name, ret, ins, outs, draw(effects)))
        elif kind == "u":
            records.append(Call(number, thread, time, form.name, ret, ins, (None,) * len(outs), (), False))
        elif kind == "e":
            records.append(Enter(number, thread, time, form.name, ins, draw(effects)))
        elif kind == "x":
            records.append(Exit(draw(st.integers(0, 1 << 30)), thread, form.name, ret, outs))
        elif kind == "p":
            records.append(Pace(time, draw(effects)))
        elif kind == "t":
            records.append(Expire(thread, time, draw(effects)) if draw(st.booleans()) else ThreadEnd(thread, time))
        elif kind == "i":
            records.append(draw(invokes(thread)))
        elif kind == "f":
            records.append(Returned(draw(st.integers(0, 1 << 30)), thread, time, draw(plain), draw(effects)))
        elif kind == "r":
            records.append(Errand(draw(st.integers(1, 99)), time, draw(plain), draw(effects)))
        elif kind == "k":
            records.append(Note("skipped", draw(st.integers(1, 1 << 20))))
            number += records[-1].value  # type: ignore[union-attr]
        elif kind == "n":
            records.append(Note(draw(st.sampled_from(["host", "clock"])), draw(notes)))
        else:
            records.append(Note("region", (draw(st.integers(1, 99)), draw(st.integers(0, 1 << 47)), 4096)))
        number += kind in "cue"
    return records


# Windows and bundles


def window(records: list[Record], head: Head | None = None) -> bytes:
    """The bytes of a window with these records."""
    head = head or Head(1, 0, 0)
    maker = RowMaker(SCHEMA, head.time)
    return b"".join([pack((format.WINDOW, *head)), *(pack(row) for record in records for row in maker.rows(record))])


def read(content: bytes, journal: bool = False) -> list[Record]:
    """The records of a window."""
    head = read_head(content, "w", journal=journal)
    return [] if head is None else list(read_window(content, head, LAYOUTS, "w", journal=journal))


class Recording:
    """A process that records into a bundle."""

    def __init__(
        self, path: Path, *, policy: str = "input", window_size: int = format.WINDOW_SIZE, **more: Any
    ) -> None:
        self.path = path
        self.stops: list[str] = []
        if not path.exists():
            os.close(create_bundle(str(path), SESSION, SCHEMA.pack(), tool="test"))
        self.folder: ProcessFolder = join_bundle(
            str(path),
            SESSION,
            SCHEMA.pack(),
            settings={"product": "A2"},
            start=1000,
            device_base=BASE,
            device_span=SPAN,
            payload=policy,
            **more,
        )
        self.wire = Wire(AddressBook(BASE, SPAN))
        self.writer = StreamWriter(
            self.folder.path, SCHEMA.functions, self.wire, self.stops.append, start=1000, window_size=window_size
        )
        self.store = PayloadStore(self.folder.pack, policy, None, self.writer.stop)
        self.now = 1000

    def call(self, name: str, args: tuple[Any, ...], reply: Any = 0, effects: Any = (), thread: int = 1) -> None:
        self.now += 100
        self.writer.encoder(SCHEMA[name].number)(thread, self.now, args, reply, effects)

    def die(self) -> None:
        """End as a killed process does: nothing more is written, and nobody finds it alive."""
        os.close(self.folder.lock)
        sheet = Path(self.folder.path, format.PROCESS)
        content, _ = unpack_sheet(sheet.read_bytes(), "process")
        content["host"]["born"] = 0
        sheet.write_bytes(pack_sheet(content))
        self.writer.close()
        self.store.close()
