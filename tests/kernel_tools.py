"""Kernel binaries that are only names, argument blocks, and models for them."""

import struct
from typing import Any

import numpy

from cannery.runtime.models import In, KernelModel, Launched, Out, Scalar, kernel
from cannery.runtime.models.load import Models

CODE = 16  # bytes of each function
TEXT = 64  # where they begin
FUNCTION, OBJECT, LOCAL, GLOBAL = 2, 1, 0, 1 << 4


def elf(*names: str, kind: int = FUNCTION | GLOBAL, address: int | None = None) -> bytes:
    """An ELF file that defines a function of each name; with ``address``, a linked one whose code lies there."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    symbols = bytes(24)
    at = 1
    for index, name in enumerate(names):
        symbols += struct.pack("<IBBHQQ", at, kind, 0, 1, (address or 0) + index * CODE, CODE)
        at += len(name) + 1
    code = bytes(range(16)) * len(names)
    sections = bytes(64)
    start = TEXT
    for section, (content, link, entry) in zip(
        (1, 2, 3), ((code, 0, 0), (symbols, 3, 24), (strings, 0, 0)), strict=True
    ):
        where = (address or 0) if section == 1 else 0
        sections += struct.pack("<IIQQQQIIQQ", 0, section, 0, where, start, len(content), link, 0, 1, entry)
        start += len(content)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 2 if address is not None else 1, 62, 1, 0, 0, start, 0, 64, 0, 0, 64, 4, 0)
    return head + code + symbols + strings + sections


def block(*values: int, number: int | None = None) -> bytes:
    """Arguments: pointers, and a 32-bit number behind them."""
    content = struct.pack(f"<{len(values)}Q", *values)
    return content if number is None else content + struct.pack("<I", number)


@kernel("add", In("float32", "n"), In("float32", "n"), Out("float32", "n"), Scalar("uint32"), relative=1e-6)
def add(launch: Launched, x: Any, y: Any, z: Any, n: int) -> None:
    with numpy.errstate(over="ignore"):
        z[:] = x + y


@kernel("double", Out("int32"))
def double(launch: Launched, x: Any) -> None:
    """In place, up to the end of the allocation."""
    x *= 2


@kernel("blocks", Out("uint32", 1))
def blocks(launch: Launched, x: Any) -> None:
    x[0] = launch.blocks


@kernel("raises", Out("int32", 4), Scalar("uint32"))
def raises(launch: Launched, x: Any, n: int) -> None:
    x[:] = 7
    raise ValueError(f"no {n}")


def models(*chosen: KernelModel) -> Models:
    return Models(chosen or (add, double, blocks, raises))
