"""The bytes of device memory as part of a machine's state (``state.py``): pages named by their content.

A page is ``PAGE`` bytes of a device's range, whose number is its offset divided by that. Pages that are all zero are
not listed, whether they were ever touched or not.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from xxhash import xxh3_128_digest

from cannery.runtime.memory import DEVICE_SPAN, LARGE_GRANULE, SMALL_GRANULE, SMALL_SPAN, DeviceMemory

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

PAGE: Final = 64 << 10

#: Index of the device, number of the page, digest of its bytes.
Page: TypeAlias = tuple[int, int, bytes]

_ZERO: Final = bytes(PAGE)


def pages(machine: "Machine", keep: Callable[[bytes, memoryview], None]) -> list[Page]:
    """The pages of all devices, by device and number. ``keep`` gets the digest and the bytes of each."""
    found: list[Page] = []
    for index, memory in enumerate(machine.memory.devices):
        store = memory.store
        if store is None:
            continue
        view = store.view
        for number in page_numbers(memory):
            content = view[number * PAGE : (number + 1) * PAGE]
            if content != _ZERO:
                digest = xxh3_128_digest(content)
                keep(digest, content)
                found.append((index, number, digest))
    return found


def page_numbers(memory: DeviceMemory) -> list[int]:
    """The pages of a device with a store that may have other bytes than zeros, ascending."""
    assert memory.store is not None
    ends = (memory.small.high * SMALL_GRANULE, SMALL_SPAN + memory.large.high * LARGE_GRANULE)
    numbers: list[int] = []
    after = 0
    for offset, size in memory.store.written():
        for start, end in ((0, ends[0]), (SMALL_SPAN, ends[1])):
            first = max(max(offset, start) // PAGE, after)
            after = max(after, -(-min(offset + size, end) // PAGE))
            numbers += range(first, after)
    return numbers


def install_pages(machine: "Machine", listed: Sequence[Page], content: Callable[[bytes], bytes]) -> None:
    """Give device memory, of a machine that is in the state that the pages belong to, their bytes. ``content`` finds
    those of a digest.

    Raises:
        ValueError: there is no such page.
    """
    for memory in machine.memory.devices:
        if memory.store is not None:
            for offset, size in memory.store.written():
                memory.store.discard(offset, size)
    for index, number, digest in listed:
        store = machine.memory.devices[index].store if 0 <= index < len(machine.memory.devices) else None
        if store is None or not 0 <= number < DEVICE_SPAN // PAGE:
            raise ValueError(f"device {index} has no page {number}")
        data = content(digest)
        if len(data) != PAGE:
            raise ValueError(f"a page of {len(data)} bytes")
        store.view[number * PAGE : (number + 1) * PAGE][:] = data
