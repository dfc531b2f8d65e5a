"""Values on the wire: encoding and decoding of arguments and results by form (section 6 of the format).

The recorder encodes what a call passed and got; a replayer decodes it for its own machine. Both build one
:class:`FunctionCodec` per function from the function table.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from cannery.recorder.addresses import AddressBook
from cannery.recorder.format import MAX_ELEMENTS, TraceError
from cannery.recorder.schema import LIST, FunctionForm, ParamForm
from cannery.runtime.handles import NO_IDENTITY, handle_of, ordinal_of

Convert: TypeAlias = Callable[[Any], Any]

_TABLE_SIZE: Final = 1 << 16
_NOT_NULL: Final = 0x1000  # what a pointer of which only "is it null" was kept becomes in replay
_TOKEN_BASE: Final = 0x1000_0000
_TOKEN_STEP: Final = 16
_NAME_BASE: Final = 0x4000_0000
_NUMBERS: Final = ("i32", "u32", "size")
_BITS: Final = {"int": 32, "unsigned int": 32, "size_t": 64} | {
    f"{sign}int{bits}_t": bits for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_LIMITS: Final = {
    name: (0, (1 << bits) - 1) if name.startswith(("u", "size")) else (-1 << bits - 1, (1 << bits - 1) - 1)
    for name, bits in _BITS.items()
}


class WireError(TraceError):
    """A value in the trace does not have its form; the text names function and parameter."""


class HandleTable(dict[int, "int | bytes"]):
    """Handle -> wire value, filled when first asked and emptied when large: a look-up is as fast as Python gets."""

    __slots__ = ()

    def __missing__(self, handle: int) -> "int | bytes":
        if len(self) >= _TABLE_SIZE:
            self.clear()
        wire = self[handle] = encode_handle(handle)
        return wire


class TokenTable(dict[int, int]):
    """Pointer -> ordinal of distinct values in order of first appearance, from 1; null is 0."""

    __slots__ = ()

    def __missing__(self, pointer: int) -> int:
        if not pointer:
            return 0
        token = self[pointer] = len(self) + 1
        return token


class TokensAgain(TokenTable):
    """The tokens of replay: those that the values were decoded from."""

    __slots__ = ()

    def __missing__(self, pointer: int) -> int:
        token = self[pointer] = token_of(pointer)
        return token


class NameTable(dict[Any, int]):
    """Any value -> ordinal of distinct values in order of first appearance, from 1."""

    __slots__ = ()

    def __missing__(self, value: Any) -> int:
        name = self[value] = len(self) + 1
        return name


def encode_handle(handle: int | None) -> int | bytes:
    """0 for null, the ordinal of an object, or the 8 bytes of a value that is no handle of ours."""
    if not handle:
        return 0
    ordinal = ordinal_of(handle)
    return (handle & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "little") if ordinal is None else ordinal


def token_of(pointer: int) -> int:
    """The token that a value was decoded from; 0 for null."""
    return (pointer - _TOKEN_BASE) // _TOKEN_STEP if pointer else 0


def token_value(token: int) -> int:
    """What stands for a token in replay: some number, the same for the same token."""
    return _TOKEN_BASE + token * _TOKEN_STEP if token else 0


def name_value(name: int) -> int:
    """What stands for a name in replay: some number, the same for the same name."""
    return _NAME_BASE + name


def decode_handle(wire: Any) -> int:
    """Raises ValueError for what no handle is written as."""
    if isinstance(wire, bytes) and len(wire) == 8:
        return int.from_bytes(wire, "little")
    return handle_of(_whole(wire)) if wire else 0


class Wire:
    """The conversions of one process: its addresses, handles, tokens and names."""

    __slots__ = ("_decoders", "_encoders", "book", "handles", "names", "tokens")

    def __init__(self, book: AddressBook, tokens: TokenTable | None = None) -> None:
        """``tokens``: in replay, a :class:`TokensAgain`."""
        self.book = book
        self.handles = HandleTable()
        self.tokens = TokenTable() if tokens is None else tokens
        self.names = NameTable()
        self._encoders: dict[str, Convert | None] = {
            "number": None,
            "handle": self.handles.__getitem__,
            "address": book.wire,
            "bytes": None,
            "flag": bool,
            "token": self.tokens.__getitem__,
            "name": self.names.__getitem__,
            "raw": _encode_raw,
            "plain": None,
            "none": _nothing,
        }
        self._decoders: dict[str, Convert] = {
            "number": _number,
            "handle": decode_handle,
            "address": self._address,
            "bytes": _bytes,
            "flag": _flag,
            "token": _token,
            "name": _name,
            "raw": _raw,
            "plain": _same,
            "none": _nothing,
        }

    def encoder(self, form: str) -> Convert | None:
        """From a Python value to its wire value; None when they are the same."""
        if not form.startswith(LIST):
            return self._encoders[form]
        convert = self._encoders[form.removeprefix(LIST)] or _same

        def encode_list(values: Sequence[Any] | None) -> list[Any] | None:
            if values is None:
                return None
            if len(values) > MAX_ELEMENTS:
                raise ValueError(f"an array of {len(values)} elements is longer than the trace format allows")
            return [convert(value) for value in values]

        return encode_list

    def out_encoder(self, form: str | None) -> Convert | None:
        """The encoder of an output. nil says there that nothing was written, so a null address is ``[0, 0]``."""
        if form != "address":
            return self.encoder(form or "none")
        wire = self.book.wire

        def encode(address: int) -> Any:
            named = wire(address)
            return (0, 0) if named is None else named

        return encode

    def argument_decoder(self, param: ParamForm) -> Convert:
        """The decoder of an argument. A number is one that its C type has: a program can pass no other."""
        limits = limits_of(param.ctype)
        if limits is None or param.into.removeprefix(LIST) != "number":
            return self.decoder(param.into)
        bounded = _BOUNDED.get(limits) or partial(_bounded, *limits)
        return bounded if param.into == "number" else _list_decoder(bounded)

    def result_encoder(self, form: str) -> Convert | None:
        """The encoder of a return value. Of one that is a name nil says that it names nothing."""
        if form != "name":
            return self.encoder(form)
        names = self.names
        return lambda value: None if value == NO_IDENTITY else names[value]

    def result_decoder(self, form: str) -> Convert:
        decode = self.decoder(form)
        return decode if form != "name" else lambda wire: NO_IDENTITY if wire is None else decode(wire)

    def decoder(self, form: str) -> Convert:
        """From a wire value to a Python value. The conversion raises ValueError for a value of another form."""
        if not form.startswith(LIST):
            return self._decoders[form]
        return _list_decoder(self._decoders[form.removeprefix(LIST)])

    def function(self, form: FunctionForm) -> "FunctionCodec":
        return FunctionCodec(form, self)

    def invoked(self, function: int, signature: str, arguments: Sequence[int]) -> list[Any]:
        """The wire values of a request for a function of the program: token, signature, arguments."""
        _, forms = signature_forms(signature)
        values: list[Any] = [*arguments]
        for place, form in enumerate(forms):
            if form == "flag":
                values[place] = arguments[place] != 0  # an expression that gives either is an int when compiled
        return [self.tokens[function], signature, *values]

    def returned(self, signature: str) -> tuple[Convert, Convert]:
        """Encoder and decoder of what a function with that signature returned. A void one returned 0 to the machine."""
        form, _ = signature_forms(signature)
        encode = _nothing if form == "none" else self.out_encoder(form) or _same
        decode = self.decoder(form)
        return encode, lambda wire: decode(wire) or 0

    def _address(self, wire: Any) -> int:
        if isinstance(wire, tuple):
            region, offset = wire
            wire = _whole(region), _whole(offset)
        elif wire is not None:
            wire = _whole(wire)
        return self.book.address(wire)


def limits_of(ctype: str) -> tuple[int, int] | None:
    """The least and the greatest number of a C type, or of what it points to; None: it is no whole type with a known
    width."""
    return _LIMITS.get(ctype.replace("const", "").rstrip("* ").strip())


def signature_forms(signature: str) -> tuple[str, tuple[str, ...]]:
    """The forms of what a function of the program returns, and of its arguments: ``ptr(ptr,size)``.

    Raises:
        ValueError: the text is no signature.
    """
    result, opening, rest = signature.partition("(")
    arguments = rest.removesuffix(")").split(",")
    if not opening or not rest.endswith(")") or not {result, *arguments} <= {"void", *_NUMBERS, "ptr"}:
        raise ValueError(f"{signature!r} is no signature")
    forms = tuple("flag" if argument == "ptr" else "number" for argument in arguments)
    return {"void": "none", "ptr": "address"}.get(result, "number"), forms


class FunctionCodec:
    """Encodes and decodes the values of one function.

    ``patches`` and ``result`` are for writers that build records themselves: which parameters need a conversion, and
    that of the return value (None: none).
    """

    __slots__ = ("_in", "_out", "_result", "blank", "form", "out_patches", "patches", "result")

    def __init__(self, form: FunctionForm, wire: Wire) -> None:
        self.form = form
        self.patches = _patches([wire.encoder(param.into) for param in form.params])
        self.out_patches = _patches([wire.out_encoder(param.out) for param in form.outputs])
        self.result = wire.result_encoder(form.result)
        self.blank = (None,) * len(form.outputs)
        self._in = [wire.argument_decoder(param) for param in form.params]
        self._out = [wire.decoder(param.out or "none") for param in form.outputs]
        self._result = wire.result_decoder(form.result)

    def encode_ins(self, args: Sequence[Any]) -> list[Any]:
        """One wire value per parameter."""
        return _encode(args, self.patches)

    def encode_reply(self, reply: Any) -> list[Any]:
        """Wire values of the return value and of every output. ``reply`` is as a handler of the machine gives it."""
        if reply.__class__ is not tuple:
            outs: Sequence[Any] = self.blank
        else:
            reply, *outs = reply
        if self.result is not None and reply is not None:
            reply = self.result(reply)
        return [reply, *_encode(outs, self.out_patches)]

    def decode_ins(self, ins: Sequence[Any]) -> tuple[Any, ...]:
        """Arguments for a handler. A pointer of which only "is it null" was kept becomes some number.

        Raises:
            WireError: a value does not have its form.
        """
        return self._decode(ins, self._in, self.form.params)

    def decode_outs(self, outs: Sequence[Any]) -> tuple[Any, ...]:
        """Output values as a handler gives them, None for one that was not written. Raises WireError."""
        return self._decode(outs, [_unless_none(decode) for decode in self._out], self.form.outputs)

    def decode_result(self, ret: Any) -> Any:
        """The return value as a handler gives it. Raises WireError."""
        try:
            return self._result(ret)
        except (ValueError, TypeError):
            raise WireError(f"{self.form.name}: {ret!r} is no return value of form {self.form.result}") from None

    def _decode(
        self, values: Sequence[Any], decoders: Sequence[Convert], params: Sequence[ParamForm]
    ) -> tuple[Any, ...]:
        if len(values) != len(decoders):
            raise WireError(f"{self.form.name}: {len(values)} values stand for {len(decoders)} parameters")
        decoded = []
        for value, decode, param in zip(values, decoders, params, strict=True):
            try:
                decoded.append(decode(value))
            except (ValueError, TypeError):
                text = f"{self.form.name}({param.name}): {value!r} is not of form {param.into}"
                raise WireError(text + (f" or {param.out}" if param.out else "")) from None
        return tuple(decoded)


def _patches(encoders: Sequence[Convert | None]) -> tuple[tuple[int, Convert], ...]:
    return tuple((index, convert) for index, convert in enumerate(encoders) if convert is not None)


def _encode(values: Sequence[Any], patches: Sequence[tuple[int, Convert]]) -> list[Any]:
    row = list(values)
    for index, convert in patches:
        if row[index] is not None:
            row[index] = convert(row[index])
    return row


def _unless_none(decode: Convert) -> Convert:
    return lambda value: None if value is None else decode(value)


def _encode_raw(value: int) -> int | None:
    return value or None


def _nothing(_value: Any) -> None:
    return None


def _same(value: Any) -> Any:
    return value


def _whole(value: Any) -> int:
    if value.__class__ is not int or value < 0:
        raise ValueError("a whole number")
    return int(value)


def _list_decoder(convert: Convert) -> Convert:
    def decode_list(wire: Any) -> tuple[Any, ...] | None:
        if wire is None:
            return None
        if not isinstance(wire, tuple):
            raise ValueError("an array")
        return tuple(convert(value) for value in wire)

    return decode_list


def _bounded(least: int, most: int, value: Any) -> int | None:
    if value is None:
        return None
    if value.__class__ is not int or not least <= value <= most:
        raise ValueError("a number of that type")
    return int(value)


def _word(value: Any) -> Any:
    """As :func:`_bounded`, for numbers of 64 bits that are not below zero: no other is in msgpack."""
    if value.__class__ is int and value >= 0:
        return value
    return _bounded(0, (1 << 64) - 1, value)


def _integer(value: Any) -> Any:
    """Likewise, of 32 bits, with a sign."""
    if value.__class__ is int and -0x8000_0000 <= value <= 0x7FFF_FFFF:
        return value
    return _bounded(-0x8000_0000, 0x7FFF_FFFF, value)


def _natural(value: Any) -> Any:
    """Likewise, without one."""
    if value.__class__ is int and 0 <= value <= 0xFFFF_FFFF:
        return value
    return _bounded(0, 0xFFFF_FFFF, value)


_BOUNDED: Final[dict[tuple[int, int], Convert]] = {
    _LIMITS["size_t"]: _word, _LIMITS["int32_t"]: _integer, _LIMITS["uint32_t"]: _natural,
}  # fmt: skip
"""Made for most arguments: a replay decodes some of nearly every call."""


def _number(value: Any) -> int | float | None:
    if value is not None and value.__class__ not in (int, float):
        raise ValueError("a number")
    return value


def _bytes(value: Any) -> bytes | None:
    if value is not None and not isinstance(value, bytes):
        raise ValueError("bytes")
    return value


def _flag(value: Any) -> int:
    if value is not None and not isinstance(value, bool):
        raise ValueError("true or false")
    return _NOT_NULL if value else 0


def _token(value: Any) -> int:
    return token_value(_whole(value)) if value else 0


def _name(value: Any) -> int | None:
    return None if value is None else name_value(_whole(value))


def _raw(value: Any) -> Any:
    return 0 if value is None else _number(value)
