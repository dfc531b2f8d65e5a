"""A broken rule of the model shows when a trace from before is replayed: the yardstick of what replay is worth."""

from collections.abc import Callable
from typing import Any

import pytest

from cannery.replayer.report import Difference
from cannery.runtime import memory, schedule
from cannery.runtime.calls import events
from cannery.runtime.calls import memory as memory_calls
from cannery.runtime.calls.registry import HANDLERS
from cannery.runtime.memory import Memory
from cannery.runtime.tasks import Copy
from tests import scenarios

RECORDED = {name: scenario() for name, scenario in scenarios.ALL.items()}
Break = Callable[[pytest.MonkeyPatch], None]


def handler(name: str, change: Callable[[Any], Any]) -> Break:
    """Replace the handler of a function by ``change(handler)``."""
    return lambda patch: patch.setitem(HANDLERS, name, change(HANDLERS[name]))


def reply(name: str, change: Callable[[Any], Any]) -> Break:
    """Change what a function answers when it succeeds."""

    def changed(original: Any) -> Any:
        def call(*args: Any) -> Any:
            answer = original(*args)
            return change(answer) if isinstance(answer, tuple) else answer

        return call

    return handler(name, changed)


def constant(module: Any, name: str, value: Any) -> Break:
    return lambda patch: patch.setattr(module, name, value)


def fill_wrongly(patch: pytest.MonkeyPatch) -> None:
    original = Memory.fill
    wrongly = lambda self, place, pattern, size: original(self, place, bytes((pattern[0] ^ 1,)), size)  # noqa: E731
    patch.setattr(Memory, "fill", wrongly)


def copy_short(patch: pytest.MonkeyPatch) -> None:
    original = Memory.copy
    patch.setattr(Memory, "copy", lambda self, to, of, size: original(self, to, of, max(size - 1, 1)))


def copies_do_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Copy, "effect", lambda self, machine: None)


def newest_first(patch: pytest.MonkeyPatch) -> None:
    """A stream that runs its newest task first."""
    original = schedule.Asap.submit

    def submit(self: Any, task: Any) -> None:
        original(self, task)
        queue = task.stream.queue
        if len(queue) > 2:
            queue[-2], queue[-1] = queue[-1], queue[-2]

    patch.setattr(schedule.Asap, "submit", submit)


def cleared_only_by_reset(original: Any) -> Any:
    return HANDLERS["aclrtPeekAtLastError"]


def without_effect(original: Any) -> Any:
    return lambda machine, thread, *args: 0


# What is broken, how, and in which call it shows first (None: any).
BROKEN: dict[str, tuple[Break, str, str | None]] = {
    "a record captures nothing": (handler("aclrtRecordEvent", without_effect), "waits", "aclrtSynchronizeStream"),
    "a wait ignores its event": (
        handler("aclrtStreamWaitEvent", without_effect), "waits", "aclrtSynchronizeStreamWithTimeout",
    ),
    "allocations are rounded otherwise": (constant(memory, "SMALL_GRANULE", 1024), "memory", None),
    "the last error stays": (handler("aclrtGetLastError", cleared_only_by_reset), "objects", "aclrtGetLastError"),
    "elapsed time has the other sign": (
        reply("aclrtEventElapsedTime", lambda answer: (answer[0], -answer[1])), "objects", "aclrtEventElapsedTime",
    ),
    "a stream query says the opposite": (
        reply("aclrtStreamQuery", lambda answer: (answer[0], 1 - answer[1])), "objects", "aclrtStreamQuery",
    ),
    "a stream is no queue": (newest_first, "memory", None),
    "memset sets another byte": (fill_wrongly, "memory", "aclrtMemcpy"),
    "a copy is one byte short": (copy_short, "memory", "aclrtMemcpy"),
    "exhaustion has another number": (
        constant(memory_calls, "ACL_ERROR_RT_MEMORY_ALLOCATION", 207005), "memory", "aclrtMalloc",
    ),
    "queued copies do nothing": (copies_do_nothing, "memory", None),
    "a stale handle is accepted": (handler("aclrtDestroyEvent", without_effect), "objects", "aclrtDestroyEvent"),
    "an event without a record is waited for": (
        constant(events, "DEFAULT_FLAGS", 0x0F), "objects", "aclrtStreamWaitEvent",
    ),
    "free does not free": (handler("aclrtFree", without_effect), "memory", "aclrtFree"),
}  # fmt: skip


def first_difference(name: str) -> Difference:
    differences = RECORDED[name].replay().compared.differences
    assert differences, "the trace of a working model replays on a broken one"
    return differences[0]


@pytest.mark.parametrize(("broken", "scenario", "where"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_caught(
    broken: Break, scenario: str, where: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert RECORDED[scenario].replay().compared.differences == []
    broken(monkeypatch)
    difference = first_difference(scenario)
    assert where is None or difference.function == where
