"""The state of a machine as a value, so that two states can be compared."""

from collections import deque
from typing import Any

from cannery.runtime.machine import Machine

# What a refused call may change (messages, the last error), and what is no state of the model.
CHANGING = {"last_error", "messages", "caller", "calling", "now", "due"}
# The flag that records and waits of an event are bound to stays, even if that call fails (semantics.md 1.7).
BOUND = {"record_flag", "wait_flag", "plain", "plain_wait"}
IGNORED = CHANGING | BOUND | {"known_as", "port", "store", "handlers", "settings", "profile", "behaviour"}
ATOMS = (int, float, str, bytes, bool, type(None))


def state(machine: Machine, besides: frozenset[str] = frozenset()) -> Any:
    """Everything reachable from a machine, but attributes ``besides``. Objects that were met before stand as numbers,
    so sharing counts."""
    ignored = IGNORED | besides
    known: dict[int, int] = {}
    kept: list[Any] = []

    def walk(value: Any) -> Any:
        if isinstance(value, ATOMS):
            return value
        if isinstance(value, (list, tuple, deque)):
            return [walk(item) for item in value]
        if isinstance(value, dict):
            return [(walk(key), walk(item)) for key, item in value.items()]
        if callable(value) or isinstance(value, (memoryview, range)):
            return repr(type(value))
        if id(value) in known:
            return ("seen", known[id(value)])
        known[id(value)] = len(known)
        kept.append(value)
        names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        names += list(getattr(value, "__dict__", ()))
        fields = [(name, walk(getattr(value, name))) for name in sorted(set(names) - ignored) if hasattr(value, name)]
        return (type(value).__name__, fields)

    return walk(machine)
