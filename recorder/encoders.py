"""The hot path of recording: one specialised closure per function.

A call whose parameters are numbers and at most two handles, and which has no outputs, is encoded without a loop; those
are the calls that programs make in tight loops (record, wait, query, launch). Everything else takes the general path.
All of them write what section 5 of the format says, and what :meth:`StreamWriter.append_step` would write.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from cannery.recorder.codec import FunctionCodec
from cannery.recorder.format import MAX_EFFECTS
from cannery.recorder.window import reason

if TYPE_CHECKING:
    from cannery.recorder.writer import StreamWriter

Effects: TypeAlias = Sequence[tuple[Any, ...]]
"""Wire effects of a step: ``(code,)``, ``(code, payload)``, ``(ALLOC, region)``; see ``format`` and ``payloads``."""

Encoder: TypeAlias = Callable[[int, int, Sequence[Any], Any, Effects], None]
"""``encode(thread, now, args, reply, effects)``; ``args`` and ``reply`` as a handler takes and gives them."""


def make_encoder(writer: "StreamWriter", codec: FunctionCodec) -> Encoder:
    """The encoder of a function for completed calls: ``encode(thread, now, args, reply, effects)``."""
    form = codec.form
    if not form.outputs and codec.result is None:
        forms = [param.into for param in form.params]
        if forms == ["handle"]:
            return _one_handle(writer, codec)
        if forms == ["handle", "handle"]:
            return _two_handles(writer, codec)
        if forms.count("handle") <= 1 and set(forms) <= {"number", "bytes", "plain", "handle"}:
            return _numbers(writer, codec, forms.index("handle") if "handle" in forms else None)
    return _general(writer, codec)


def _one_handle(writer: "StreamWriter", codec: FunctionCodec) -> Encoder:
    index, handles, pack = codec.form.number, writer.wire.handles, writer.pack
    general = _general(writer, codec)

    def encode(thread: int, now: int, args: Sequence[Any], reply: Any, effects: Effects) -> None:
        if effects:
            return general(thread, now, args, reply, effects)
        (first,) = args
        try:
            writer.append(pack((index, thread, now - writer.time, reply, handles[first])))
        except Exception as error:
            return writer.stop(reason(error))
        writer.time = now
        writer.calls += 1
        return None

    return encode


def _two_handles(writer: "StreamWriter", codec: FunctionCodec) -> Encoder:
    index, handles, pack = codec.form.number, writer.wire.handles, writer.pack
    general = _general(writer, codec)

    def encode(thread: int, now: int, args: Sequence[Any], reply: Any, effects: Effects) -> None:
        if effects:
            return general(thread, now, args, reply, effects)
        first, second = args
        try:
            writer.append(pack((index, thread, now - writer.time, reply, handles[first], handles[second])))
        except Exception as error:
            return writer.stop(reason(error))
        writer.time = now
        writer.calls += 1
        return None

    return encode


def _numbers(writer: "StreamWriter", codec: FunctionCodec, handle: int | None) -> Encoder:
    """Parameters that stand in the record as they are, but for one handle."""
    index, handles, pack = codec.form.number, writer.wire.handles, writer.pack
    general = _general(writer, codec)
    place = None if handle is None else 4 + handle

    def encode(thread: int, now: int, args: Sequence[Any], reply: Any, effects: Effects) -> None:
        if effects:
            return general(thread, now, args, reply, effects)
        try:
            row = [index, thread, now - writer.time, reply, *args]
            if place is not None:
                row[place] = handles[row[place]]
            writer.append(pack(row))
        except Exception as error:
            return writer.stop(reason(error))
        writer.time = now
        writer.calls += 1
        return None

    return encode


def _general(writer: "StreamWriter", codec: FunctionCodec) -> Encoder:
    index, pack = codec.form.number, writer.pack
    book = writer.wire.book
    first_out = 4 + len(codec.form.params)
    patches = [(4 + place, convert) for place, convert in codec.patches]
    patches += [] if codec.result is None else [(3, codec.result)]
    patches += [(first_out + place, convert) for place, convert in codec.out_patches]
    blank = codec.blank

    def encode(thread: int, now: int, args: Sequence[Any], reply: Any, effects: Effects) -> None:
        try:
            if reply.__class__ is tuple:
                row = [index, thread, now - writer.time, reply[0], *args, *reply[1:]]
            else:
                row = [index, thread, now - writer.time, reply, *args, *blank]
            for place, convert in patches:
                if row[place] is not None:
                    row[place] = convert(row[place])
            if book.fresh or book.leaving or len(effects) > MAX_EFFECTS:
                writer.append_step(row, effects)
            else:
                row += effects
                writer.append(pack(row))
        except Exception as error:
            return writer.stop(reason(error))
        writer.time = now
        writer.calls += 1
        return None

    return encode
