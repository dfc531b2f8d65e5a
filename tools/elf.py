"""Why a program cannot be preloaded: read from its ELF header, before it starts.

``LD_PRELOAD`` is an instruction to the dynamic loader of the C library. It does nothing for programs that are linked
statically, belong to another architecture or word size or another C library, or run with more rights than their user
(ld.so(8), "secure-execution mode").
"""

import os
import stat
import struct
from pathlib import Path
from typing import Final

_MAGIC: Final = b"\x7fELF"
_PT_INTERP: Final = 3
_MACHINES: Final = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}  # e_machine, elf.h
_HEAD: Final = 4096  # the program headers stand behind the ELF header in every file that a linker makes


def obstacle(path: Path) -> str | None:
    """Say why preloading does not reach the program at ``path``, as the end of a sentence; None when it does.

    A script is judged by its interpreter. A file that cannot be read is not judged.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            mode = os.fstat(file.fileno())
    except OSError:
        return None
    if head.startswith(b"#!"):
        words = head[2:].split(b"\n", 1)[0].split()
        interpreter = Path(os.fsdecode(words[0])) if words else path
        return None if interpreter == path else obstacle(interpreter)
    if not head.startswith(_MAGIC):
        return None
    return _rights(path, mode) or _format(head)


def _rights(path: Path, mode: os.stat_result) -> str | None:
    if mode.st_mode & stat.S_ISUID and mode.st_uid != os.getuid():
        return "it is setuid, and the loader ignores LD_PRELOAD for such programs"
    if mode.st_mode & stat.S_ISGID and mode.st_mode & stat.S_IXGRP and mode.st_gid != os.getgid():
        return "it is setgid, and the loader ignores LD_PRELOAD for such programs"
    try:
        capable = bool(os.getxattr(path, "security.capability"))
    except OSError:
        return None
    if capable and os.getuid() != 0:
        return "it has file capabilities, and the loader ignores LD_PRELOAD for such programs"
    return None


def _format(head: bytes) -> str | None:
    """Judge the ELF header and the program headers in ``head`` (layouts: elf(5))."""
    if len(head) < 64 or head[5] != 1:  # both architectures that Cannery supports are little-endian
        return "it is not a program for this machine"
    machine = _MACHINES.get(struct.unpack_from("<H", head, 18)[0], "another architecture")
    if head[4] != 2:
        return f"it is a 32-bit program ({machine}), and Cannery is 64-bit"
    if machine != os.uname().machine:
        return f"it is built for {machine}, and this machine is {os.uname().machine}"
    offset = struct.unpack_from("<Q", head, 32)[0]
    size, count = struct.unpack_from("<HH", head, 54)
    for index in range(count):
        start = offset + index * size
        if start + 56 > len(head):
            return None
        kind, _, where, _, _, length = struct.unpack_from("<IIQQQQ", head, start)
        if kind == _PT_INTERP:
            loader = os.fsdecode(head[where : where + length].rstrip(b"\0"))
            return "it is linked against musl, and Cannery needs glibc" if "ld-musl" in loader else None
    return "it is linked statically, so there is no loader to preload anything"
