"""Routes between queues: binding, unbinding, asking (reference pages and implementation of the functions named)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from cannery.runtime.calls.queue_objects import (
    ABNORMAL,
    BOUND,
    UNBOUND,
    QueueRouteList,
    QueueRouteQuery,
    list_named,
    query_named,
)
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_FAILURE, Refused, invalid, null
from cannery.runtime.objects import Thread
from cannery.runtime.queues import Queues

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# acltdtQueueRouteQueryMode, and which of source and target each needs.
BY_SOURCE: Final = 0
BY_TARGET: Final = 1
BY_BOTH: Final = 2
BY_STATUS: Final = 100
NEEDS: Final = {BY_SOURCE: (1,), BY_TARGET: (2,), BY_BOTH: (1, 2), BY_STATUS: ()}
NAMES: Final = ("mode", "source queue", "destination queue")


@call("acltdtBindQueueRoutes")
def bind_queue_routes(machine: "Machine", thread: Thread, handle: int) -> int:
    """Each route of the list tells afterwards whether it was bound; one that was not makes the call fail."""
    routes = list_named(machine, handle)
    queues = machine.context_of(thread).device.queues
    failed = _each(routes, queues.bind, BOUND, ABNORMAL)
    queues.hand_on()
    if failed:
        raise _some_failed(failed, "bound", "its queues have to exist, and routes to make no circle")
    return 0


@call("acltdtUnbindQueueRoutes")
def unbind_queue_routes(machine: "Machine", thread: Thread, handle: int) -> int:
    routes = list_named(machine, handle)
    queues = machine.context_of(thread).device.queues
    failed = _each(routes, queues.unbind, UNBOUND, ABNORMAL)
    if failed:
        raise _some_failed(failed, "unbound", "it has to be bound")
    return 0


def _each(routes: QueueRouteList, change: Callable[[int, int], bool], done: int, failed: int) -> int:
    """How many routes of a list could not be changed; their status says which."""
    count = 0
    for route in routes.routes:
        changed = change(route[0], route[1])
        route[2] = done if changed else failed
        count += not changed
    return count


def _some_failed(count: int, what: str, why: str) -> Refused:
    return Refused(
        ACL_ERROR_FAILURE, "{} routes of the list could not be {}; see the status of each: {}", count, what, why,
        remembered=False,
    )  # fmt: skip


@call("acltdtQueryQueueRoutes")
def query_queue_routes(machine: "Machine", thread: Thread, query_handle: int, list_handle: int) -> int:
    """What was in the list is gone. Routes that exist are bound: none is abnormal."""
    if not list_handle:
        raise null("qRouteList")
    query = query_named(machine, query_handle)
    routes = list_named(machine, list_handle)
    mode = query.values[0]
    if mode is None:
        raise _missing(0)
    if mode not in NEEDS:
        raise invalid("the mode of queryInfo is {}; set a constant of acltdtQueueRouteQueryMode", mode)
    for needed in NEEDS[mode]:
        if query.values[needed] is None:
            raise _missing(needed)
    queues = machine.context_of(thread).device.queues
    routes.routes = [] if mode == BY_STATUS else _matching(queues, query, NEEDS[mode])
    return 0


def _matching(queues: Queues, query: QueueRouteQuery, needed: tuple[int, ...]) -> list[list[int]]:
    found = []
    for source, targets in queues.routes.items():
        for target in targets:
            route = [source, target, BOUND]
            if all(route[place - 1] == query.values[place] for place in needed):
                found.append(route)
    return found


def _missing(place: int) -> Refused:
    return invalid("the argument queryInfo has no {}; set it with acltdtSetQueueRouteQueryInfo", NAMES[place])
