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
    from cannery.runtime.places import Imported
    from cannery.runtime.ports import DeviceStore

PAGE: Final = 64 << 10

#: Index of the device, number of the page, digest of its bytes.
Page: TypeAlias = tuple[int, int, bytes]
Keep: TypeAlias = Callable[[bytes, memoryview], None]
Content: TypeAlias = Callable[[bytes], bytes]

_ZERO: Final = bytes(PAGE)


def pages(machine: "Machine", keep: Keep) -> list[Page]:
    """The pages of all devices, by device and number. ``keep`` gets the digest and the bytes of each."""
    found: list[Page] = []
    for index, memory in enumerate(machine.memory.devices):
        if memory.store is not None:
            found += _pages(index, memory.store, DEVICE_SPAN, page_numbers(memory), keep)
    return found


def imported_pages(imports: "Sequence[Imported]", keep: Keep) -> list[Page]:
    """Likewise the pages of memory that other processes have, as this one saw it last. Their first number is the place
    in ``imports``, and the last one of each may be shorter."""
    found: list[Page] = []
    for place, imported in enumerate(imports):
        ends = ((0, imported.size),)
        found += _pages(place, imported.store, imported.size, _numbers(imported.store, ends), keep)
    return found


def page_numbers(memory: DeviceMemory) -> list[int]:
    """The pages of a device with a store that may have other bytes than zeros, ascending."""
    assert memory.store is not None
    large = SMALL_SPAN + memory.large.high * LARGE_GRANULE
    return _numbers(memory.store, ((0, memory.small.high * SMALL_GRANULE), (SMALL_SPAN, large)))


def _numbers(store: "DeviceStore", parts: Sequence[tuple[int, int]]) -> list[int]:
    """The pages of a store that were written and lie in some parts of it, each from its start to its end."""
    numbers: list[int] = []
    after = 0
    for offset, size in store.written():
        for start, end in parts:
            first = max(max(offset, start) // PAGE, after)
            after = max(after, -(-min(offset + size, end) // PAGE))
            numbers += range(first, after)
    return numbers


def _pages(index: int, store: "DeviceStore", span: int, numbers: list[int], keep: Keep) -> list[Page]:
    found: list[Page] = []
    for number in numbers:
        content = store.view[number * PAGE : min((number + 1) * PAGE, span)]
        if content != _ZERO[: len(content)]:
            digest = xxh3_128_digest(content)
            keep(digest, content)
            found.append((index, number, digest))
    return found


def install_pages(machine: "Machine", listed: Sequence[Page], content: Content) -> None:
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
        if store is None:
            raise ValueError(f"there is no memory of device {index}")
        _install(store, DEVICE_SPAN, number, content(digest))


def install_imported(imports: "Sequence[Imported]", listed: Sequence[Page], content: Content) -> None:
    """Likewise give memory of other processes, whose stores are new, its bytes. Raises ValueError."""
    for place, number, digest in listed:
        if not 0 <= place < len(imports):
            raise ValueError(f"there is no memory {place} of other processes")
        _install(imports[place].store, imports[place].size, number, content(digest))


def _install(store: "DeviceStore", span: int, number: int, content: bytes) -> None:
    start = number * PAGE
    if not 0 <= start < span:
        raise ValueError(f"there is no page {number}")
    if len(content) != min(PAGE, span - start):
        raise ValueError(f"a page of {len(content)} bytes")
    store.view[start : start + len(content)][:] = content
