"""Payloads: kept once, hashed on the way, and never half."""

import os
from pathlib import Path
from typing import Any

import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cannery.recorder import payloads
from cannery.recorder.files import Folder
from cannery.recorder.format import DamagedTrace
from cannery.recorder.pack import HEADER_SIZE, Pack, frame_header
from cannery.recorder.payloads import CHUNK, PayloadStore
from cannery.recorder.policy import PolicyError


def digest(content: bytes | bytearray | memoryview) -> bytes:
    return xxhash.xxh3_128_digest(content)


class Store:
    """A payload store in a folder, and the pack that a reader finds there."""

    def __init__(self, folder: Path, policy: str = "input", limit: int | None = None) -> None:
        self.path = folder / "payloads.pack"
        self.stops: list[str] = []
        self.store = PayloadStore(str(self.path), policy, limit, self.stops.append)

    def pass_through(self, content: bytes, given: bool = True, fail_at: int | None = None) -> Any:
        """Copy content through the store; return what it says and what arrived."""
        arrived = bytearray(len(content))
        offsets: list[tuple[int, int]] = []

        def copy(offset: int, size: int) -> bool:
            if fail_at is not None and offset + size > fail_at:
                return False
            arrived[offset : offset + size] = content[offset : offset + size]
            offsets.append((offset, size))
            return True

        wire = self.store.pass_through(memoryview(arrived), copy, given)
        if fail_at is None:
            assert arrived == content
            assert sum(size for _, size in offsets) == len(content)
            assert [offset for offset, _ in offsets] == [sum(s for _, s in offsets[:n]) for n in range(len(offsets))]
        return wire

    def pack(self) -> Pack:
        return Pack(Folder(str(self.path.parent)))


POLICIES = [
    # policy, given, what short content and long content become
    ("input", True, "content", "stored"),
    ("input", False, "content", "hashed"),
    ("full", True, "content", "stored"),
    ("full", False, "content", "stored"),
    ("hash", True, "hashed", "hashed"),
    ("hash", False, "hashed", "hashed"),
    ("none", True, "size", "size"),
    ("none", False, "size", "size"),
]


@pytest.mark.parametrize(("policy", "given", "short", "long"), POLICIES)
@pytest.mark.parametrize("size", [0, 1, 32, 33, 5000, CHUNK, CHUNK + 1, 3 * CHUNK + 77, 5 << 20])
@pytest.mark.parametrize("how", ["keep", "pass_through"])
def test_what_is_kept_follows_the_policy(
    tmp_path: Path, policy: str, given: bool, short: str, long: str, size: int, how: str
) -> None:
    store = Store(tmp_path, policy)
    content = os.urandom(size)
    wire = store.store.keep(content, given) if how == "keep" else store.pass_through(content, given)
    treatment = short if size <= 32 else long
    expected = {
        "content": content,
        "stored": (size, digest(content)),
        "hashed": (size, digest(content)),
        "size": (size, None),
    }
    assert wire == expected[treatment]
    assert store.pack().content(digest(content)) == (content if treatment == "stored" else None)


def test_content_above_the_limit_is_hashed(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=CHUNK * 2)
    small, large = os.urandom(CHUNK * 2), os.urandom(CHUNK * 2 + 1)
    for content in (small, large):
        assert store.pass_through(content) == (len(content), digest(content))
        assert store.store.keep(content, True) == (len(content), digest(content))
    assert store.pack().content(digest(small)) == small
    assert store.pack().content(digest(large)) is None


def test_content_is_stored_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    contents = [os.urandom(size) for size in (100, CHUNK, 3 * CHUNK + 5, 2 << 20)]
    for content in contents:
        store.pass_through(content)
    size = store.path.stat().st_size
    for content in contents:
        store.pass_through(content)
        store.store.keep(content, True)
    assert store.path.stat().st_size == size == sum(HEADER_SIZE + len(content) for content in contents)


def test_content_that_differs_only_after_the_first_chunk_is_stored_too(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = os.urandom(3 << 20)
    second = first[:-1] + bytes([first[-1] ^ 1])
    for content in (first, second, first, second):
        assert store.pass_through(content) == (len(content), digest(content))
    assert store.pack().content(digest(first)) == first
    assert store.pack().content(digest(second)) == second
    assert store.path.stat().st_size == 2 * (HEADER_SIZE + len(first))


def test_content_kept_before_is_not_stored_again_by_a_copy(tmp_path: Path) -> None:
    store = Store(tmp_path)
    content = os.urandom(2 << 20)
    store.store.keep(content, True)
    size = store.path.stat().st_size
    store.pass_through(content)
    assert store.path.stat().st_size == size
    after = os.urandom(500)
    store.store.keep(after, True)
    assert store.pack().content(digest(after)) == after


@pytest.mark.parametrize("fail_at", [1, CHUNK + 1, 3 * CHUNK])
def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, fail_at: int) -> None:
    store = Store(tmp_path)
    before, after = os.urandom(100), os.urandom(200)
    store.store.keep(before, True)
    size = store.path.stat().st_size
    assert store.pass_through(os.urandom(4 * CHUNK), fail_at=fail_at) is None
    assert store.path.stat().st_size == size
    store.store.keep(after, True)
    assert [store.pack().content(digest(content)) for content in (before, after)] == [before, after]
    assert store.pass_through(os.urandom(50), fail_at=10) is None
    assert store.stops == []


@given(st.lists(st.integers(0, 3), max_size=12), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
def test_a_pack_reads_the_same_whatever_order_filled_it(tmp_path: Path, picks: list[int], data: st.DataObject) -> None:
    contents = [bytes([n]) * size for n, size in enumerate((40, CHUNK + 9, (1 << 20) + 1, 700))]
    (tmp_path / "payloads.pack").unlink(missing_ok=True)
    store = Store(tmp_path)
    for pick in picks:
        if data.draw(st.booleans()):
            store.pass_through(contents[pick])
        else:
            store.store.keep(contents[pick], True)
    assert store.pack().stored.keys() == {digest(contents[pick]) for pick in picks}
    assert all(store.pack().content(digest(contents[pick])) == contents[pick] for pick in picks)


def test_a_frame_that_a_kill_tore_is_the_end_of_the_pack(tmp_path: Path) -> None:
    store = Store(tmp_path)
    contents = [os.urandom(size) for size in (50, 300, 33)]
    for content in contents:
        store.store.keep(content, True)
    whole = store.path.read_bytes()
    ends = [0, 82, 82 + 332, 82 + 332 + 65]
    for cut in range(len(whole) + 1):
        store.path.write_bytes(whole[:cut])
        pack = store.pack()
        assert pack.damage is None
        assert len(pack.stored) == sum(1 for end in ends[1:] if end <= cut)


def test_large_content_counts_only_with_its_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill before the header: the room is allocated, the content is there, the header is zero."""
    store = Store(tmp_path)
    store.store.keep(bytes(range(200)), True)
    monkeypatch.setattr(payloads.PayloadStore, "_commit", lambda *_: None)
    store.pass_through(os.urandom(2 << 20))
    pack = store.pack()
    assert (len(pack.stored), pack.damage, pack.end) == (1, None, HEADER_SIZE + 200)


def test_bytes_that_are_no_frame_are_damage_and_what_is_before_can_be_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first, second = os.urandom(100), os.urandom(100)
    for content in (first, second):
        store.store.keep(content, True)
    data = bytearray(store.path.read_bytes())
    data[HEADER_SIZE + 100 + 9] ^= 1  # the size in the second header
    store.path.write_bytes(data)
    pack = store.pack()
    assert pack.damage is not None
    assert pack.damage.offset == HEADER_SIZE + 100
    assert pack.content(digest(first)) == first


def test_altered_content_is_not_handed_out(tmp_path: Path) -> None:
    store = Store(tmp_path)
    content = os.urandom(100)
    store.store.keep(content, True)
    data = bytearray(store.path.read_bytes())
    data[HEADER_SIZE + 50] ^= 1
    store.path.write_bytes(data)
    with pytest.raises(DamagedTrace) as caught:
        store.pack().content(digest(content))
    assert caught.value.path == "payloads.pack"


def test_a_size_beyond_the_file_is_never_allocated(tmp_path: Path) -> None:
    path = tmp_path / "payloads.pack"
    path.write_bytes(frame_header(1 << 62, bytes(16)) + b"x" * 100)
    pack = Pack(Folder(str(tmp_path)))
    assert pack.stored == {}


class TestTrouble:
    @pytest.mark.parametrize("size", [100, 2 << 20])
    def test_a_full_disk_stops_once_and_hashes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
    ) -> None:
        store = Store(tmp_path)

        def full(*_: Any) -> int:
            raise OSError(28, os.strerror(28))

        monkeypatch.setattr(os, "pwritev", full)
        content = os.urandom(size)
        for _ in range(3):
            assert store.pass_through(content) == (size, digest(content))
        assert store.stops == ["payloads cannot be written: No space left on device"]

    def test_a_write_that_is_cut_short_goes_on(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store = Store(tmp_path)
        real = os.pwritev

        def short(descriptor: int, parts: list[Any], offset: int) -> int:
            return real(descriptor, [memoryview(b"".join(parts))[:10]], offset)

        monkeypatch.setattr(os, "pwritev", short)
        contents = [os.urandom(100), os.urandom(2 << 20)]
        for content in contents:
            store.pass_through(content)
        assert [store.pack().content(digest(content)) for content in contents] == contents

    def test_a_program_that_closes_our_file_and_opens_its_own_keeps_it(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        first, second = os.urandom(100), os.urandom(100)
        store.store.keep(first, True)
        ours = store.store._descriptor
        own = os.open(tmp_path / "own", os.O_RDWR | os.O_CREAT)
        os.dup2(own, ours)
        store.store.keep(second, True)
        assert (tmp_path / "own").read_bytes() == b""
        assert [store.pack().content(digest(content)) for content in (first, second)] == [first, second]
        os.close(own)
        os.close(ours)

    def test_a_closed_store_writes_nothing(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        store.store.keep(os.urandom(100), True)
        size = store.path.stat().st_size
        store.store.close()
        content = os.urandom(100)
        assert store.store.keep(content, True) == (100, digest(content))
        assert store.path.stat().st_size == size

    def test_an_unknown_policy_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(PolicyError, match="everything"):
            Store(tmp_path, "everything")


@pytest.mark.parametrize("pass_through", [False, True])
def test_a_rule_holds_for_sizes_and_functions(tmp_path: Path, pass_through: bool) -> None:
    store = Store(tmp_path, f"full,other=none,mine=hash,>{CHUNK + 5}=none,mine>{CHUNK + 9}=full")

    def kept(function: str | None, size: int, given: bool = False) -> str:
        if function is not None:
            store.store.serve(function)
        content = os.urandom(size)
        view = memoryview(content)
        wire = store.pass_through(content, given) if pass_through else store.store.keep(view, given)
        if isinstance(wire, bytes):
            return "content"
        if wire[1] is None:
            return "size"
        return "stored" if store.pack().content(wire[1]) == content else "hashed"

    assert [kept(None, size) for size in (5, 100, CHUNK + 5, CHUNK + 6)] == ["content", "stored", "stored", "size"]
    assert [kept("mine", size) for size in (5, CHUNK, CHUNK + 6, CHUNK + 10)] == ["hashed", "hashed", "size", "stored"]
    assert [kept("other", size, True) for size in (5, 100)] == ["size", "size"]
    assert kept("any", 100) == "stored"
    assert kept("", 100) == "stored"
    assert store.stops == []


def test_forgetting_what_is_stored_costs_room_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "_REMEMBERED", 2)
    store = Store(tmp_path)
    contents = [os.urandom(100) for _ in range(3)]
    for content in (*contents, *contents):
        store.store.keep(content, True)
    assert [store.pack().content(digest(content)) for content in contents] == contents
