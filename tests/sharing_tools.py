"""Pairs of processes that share, for tests of the machine."""

from typing import Any

from tests.fake_session import Member, Session
from tests.fakes import OUT, Driver, FakeHost

SCHEDULES = ("asap", "late", "seed:1", "seed:9")
IPC = 0x40
TO_HOST, TO_DEVICE = 2, 1
MIB = 1 << 20


class Process(Driver):
    """One of a session, on its device 0 unless told otherwise."""

    def __init__(self, session: Session, device: int = 0, **settings: Any) -> None:
        self.member: Member = session.join()
        super().__init__(FakeHost(exchange=self.member), **settings)
        self.opened(device)


class Pair:
    """Two processes of one session."""

    def __init__(self, session: Session | None = None, **settings: Any) -> None:
        self.session = session or Session()
        self.one = Process(self.session, **settings)
        self.two = Process(self.session, **settings)

    def notify(self) -> tuple[int, int]:
        """A notify of the first, and what the second has of it."""
        handle = self.one.ok("aclrtCreateNotify", OUT, 0)
        key = self.one.ok("aclrtNotifyGetExportKey", handle, OUT, 65, 2)
        return handle, self.two.ok("aclrtNotifyImportByKey", OUT, key, 0)

    def event(self) -> tuple[int, int]:
        """An event of the first, and what the second has of it."""
        event = self.one.event(IPC, ex=True)
        return event, self.two.ok("aclrtIpcOpenEventHandle", self.one.ok("aclrtIpcGetEventHandle", event, OUT), OUT)

    def memory(self, content: bytes) -> tuple[int, int]:
        """Memory of the first with that content, and where the second has it."""
        address = self.one.device_memory(len(content))
        put(self.one, address, content)
        key = self.one.ok("aclrtIpcMemGetExportKey", address, len(content), OUT, 65, 1)
        return address, self.two.ok("aclrtIpcMemImportByKey", OUT, key, 0)


def put(driver: Driver, address: int, content: bytes) -> None:
    driver.ok("aclrtMemcpy", address, len(content), driver.host.give(content), len(content), TO_DEVICE)


def get(driver: Driver, address: int, size: int) -> bytes:
    target = driver.host.give(bytes(size))
    driver.ok("aclrtMemcpy", target, size, address, size, TO_HOST)
    return driver.host.peek(target, size)


def busy(driver: Driver, stream: int) -> bool:
    """Whether a stream has work left after a time in which all happens that can."""
    driver.pace(200)
    driver.signal()
    driver.pace(200)
    return driver.ok("aclrtStreamQuery", stream, OUT) == 1


def physical(driver: Driver, size: int = 2 * MIB) -> int:
    return int(driver.ok("aclrtMallocPhysical", OUT, size, (0, 0, 4, (0, 1), 0), 0))
