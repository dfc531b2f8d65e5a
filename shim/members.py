"""Which processes a session has, read from its control file without the engine: for ``cannery doctor`` and ``cannery
run``, and for the process that begins a session and removes what others left. The layout is that of engine.h."""

import os
from struct import Struct
from typing import Final, NamedTuple

from cannery.shim import commons

MAGIC: Final = b"cannery\0"
VERSION: Final = 1
MEMBERS: Final = 256
HEAD: Final = Struct("<8sIIQIIQQ64s16x")  # magic, version, members used, lock, sleepers, segments, serial, space, name
MEMBER: Final = Struct("<IIIIQ2048x")  # pid, bell, signalling, reserved, born, what it holds
CONTROL_SIZE: Final = HEAD.size + MEMBERS * MEMBER.size


class Found(NamedTuple):
    """A session's folder: the session's name, and its processes that live."""

    folder: str
    session: str
    living: tuple[int, ...]


def look(runtime: int, name: str, folder: int) -> Found:
    """What the control file of a session says; a session without a readable one has no processes.

    Raises:
        OSError: it cannot be opened.
    """
    try:
        descriptor = os.open(commons.CONTROL, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return Found(name, name, ())
    try:
        content = os.read(descriptor, CONTROL_SIZE)
    finally:
        os.close(descriptor)
    if len(content) < CONTROL_SIZE or not content.startswith(MAGIC):
        return Found(name, name, ())
    session = HEAD.unpack_from(content)[8].rstrip(b"\0").decode(errors="replace")
    living = []
    for slot in range(MEMBERS):
        pid, *_, born = MEMBER.unpack_from(content, HEAD.size + slot * MEMBER.size)
        if pid and commons.born(pid) == born:
            living.append(pid)
    return Found(name, session, tuple(living))


def left_over(runtime: int) -> list[Found]:
    """Sessions none of whose processes lives. One that somebody is just joining counts as alive."""
    found = []
    for name in commons.sessions(runtime):
        try:
            with commons.locked_session(runtime, name, make=False, wait=False) as folder:
                each = look(runtime, name, folder)
        except OSError:
            continue
        if not each.living:
            found.append(each)
    return found


def remove_dead(runtime: int, name: str) -> bool:
    """Remove a session's folder if none of its processes lives. False: one does, or it cannot be removed."""
    try:
        with commons.locked_session(runtime, name, make=False, wait=False) as folder:
            if look(runtime, name, folder).living:
                return False
            commons.remove_session(runtime, name, folder)
    except OSError:
        return False
    return True
