"""For which function bytes pass: that of the call, or of the call that queued the task, however much later it runs."""

from collections.abc import Callable
from typing import Any

import pytest

from cannery.runtime.settings import Settings
from tests import scenarios
from tests.live import HOST_BASE, Live

SIZE = 4096


def watched(live: Live) -> list[str]:
    """What ``moving`` says whenever bytes pass, from now on."""
    names: list[str] = []

    def watch(name: str) -> None:
        real: Callable[..., Any] = getattr(live.host, name)

        def method(*args: Any) -> Any:
            names.append(live.machine.moving())
            return real(*args)

        setattr(live.host, name, method)

    for name in ("read", "write", "move", "file"):
        watch(name)
    return names


@pytest.fixture(params=["asap", "late"])
def live(request: pytest.FixtureRequest) -> Live:
    live = Live(Settings(devices=2, schedule=request.param))
    live.machine.tell_functions()
    live.ok("aclrtSetDevice", 0)
    return live


def memory(live: Live) -> tuple[int, int]:
    """A device address and a pinned one."""
    return live.create("aclrtMalloc", SIZE, 0), live.create("aclrtMallocHost", SIZE)


def test_a_copy_at_once_is_for_its_own_call(live: Live) -> None:
    device, pinned = memory(live)
    names = watched(live)
    live.ok("aclrtMemcpy", device, SIZE, pinned, SIZE, 1)
    live.ok("aclrtMemcpy", pinned, SIZE, device, SIZE, 2)
    assert names == ["aclrtMemcpy", "aclrtMemcpy"]


def test_a_copy_of_a_stream_is_for_the_call_that_queued_it(live: Live) -> None:
    device, pinned = memory(live)
    stream = live.create("aclrtCreateStream")
    names = watched(live)
    live.ok("aclrtMemcpyAsync", device, SIZE, pinned, SIZE, 1, stream)
    live.ok("aclrtMemcpyAsync", pinned, SIZE, device, SIZE, 2, stream)
    live.ok("aclrtSynchronizeStream", stream)
    live.ok("aclrtMemcpy", pinned, SIZE, device, SIZE, 2)
    assert names == ["aclrtMemcpyAsync", "aclrtMemcpyAsync", "aclrtMemcpy"]


def test_a_call_goes_on_with_its_own_bytes_after_it_ran_others(live: Live) -> None:
    """The copy on the default stream waits for what is queued there."""
    device, pinned = memory(live)
    names = watched(live)
    live.ok("aclrtMemcpyAsync", device, SIZE, pinned, SIZE, 1, 0)
    live.ok("aclrtMemcpyAsync", device, SIZE, HOST_BASE, SIZE, 1, 0)  # pageable
    assert names == ["aclrtMemcpyAsync", "aclrtMemcpyAsync"]
    live.ok("aclrtMemcpy", pinned, SIZE, device, SIZE, 2)
    assert names[2:] == ["aclrtMemcpy"]


def test_a_captured_copy_is_for_the_call_that_was_captured(live: Live) -> None:
    device, pinned = memory(live)
    stream = live.create("aclrtCreateStream")
    live.ok("aclmdlRICaptureBegin", stream, 2)
    live.ok("aclrtMemcpyAsync", device, SIZE, pinned, SIZE, 1, stream)
    _, model = live.call("aclmdlRICaptureEnd", stream, 0x1000)
    names = watched(live)
    for _ in range(2):
        live.ok("aclmdlRIExecuteAsync", model, stream)
        live.ok("aclrtSynchronizeStream", stream)
    assert names == ["aclrtMemcpyAsync"] * 2


@pytest.mark.parametrize("name", [*scenarios.ALL])
def test_bytes_never_pass_for_nobody(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names: set[str] = set()
    real = Live.__init__

    def init(live: Live, *args: Any, **more: Any) -> None:
        real(live, *args, **more)
        live.machine.tell_functions()
        for method in ("read", "write", "move", "file"):
            monkeypatch.setattr(live.host, method, wrapped(live, getattr(live.host, method)))

    def wrapped(live: Live, method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any) -> Any:
            names.add(live.machine.moving())
            return method(*args)

        return noted

    monkeypatch.setattr(Live, "__init__", init)
    scenarios.ALL[name]()
    assert "" not in names
    assert not {each for each in names if each.startswith(("aclrtSynchronize", "aclrtQuery", "aclrtStreamQuery"))}
