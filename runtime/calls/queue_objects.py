"""What describes queues: attributes of new ones, routes, lists of routes, queries (reference pages)."""

from typing import TYPE_CHECKING, Any, Final, TypeVar

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_RT_MEMORY_ALLOCATION, Refused, driver_fault, invalid, null, stale
from cannery.runtime.objects import Thread
from cannery.runtime.queues import DEFAULT_DEPTH, NAME_ROOM
from cannery.runtime.small_objects import SmallObject, find, keep

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

POINTER: Final = 8  # bytes
NUMBER: Final = 4
PAGE: Final = 4096

# acltdtQueueAttrType, acltdtQueueRouteParamType, acltdtQueueRouteQueryInfoParamType
NAME: Final = 0
DEPTH: Final = 1
SOURCE: Final = 0
TARGET: Final = 1
STATUS: Final = 2
MODE: Final = 0

# Status of a route.
UNBOUND: Final = 0
BOUND: Final = 1
ABNORMAL: Final = 2


class QueueAttributes(SmallObject):
    """``shown``: host memory where the program reads the name, 0 before it asks."""

    __slots__ = ("depth", "name", "shown")

    def __init__(self) -> None:
        super().__init__()
        self.name = b""
        self.depth = DEFAULT_DEPTH
        self.shown = 0


class QueueRoute(SmallObject):
    """``values``: source, target, status."""

    __slots__ = ("values",)

    def __init__(self, source: int, target: int, status: int = UNBOUND) -> None:
        super().__init__()
        self.values = [source, target, status]


class QueueRouteList(SmallObject):
    """``routes``: copies of what was added; each source, target, status."""

    __slots__ = ("routes",)

    def __init__(self) -> None:
        super().__init__()
        self.routes: list[list[int]] = []


class QueueRouteQuery(SmallObject):
    """``values``: mode, source and target, None for what was not set."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        super().__init__()
        self.values: list[int | None] = [None, None, None]


T = TypeVar("T", bound=SmallObject)


def _found(machine: "Machine", kind: type[T], argument: str, handle: int) -> T:
    """The object that an argument names.

    Raises:
        Refused: 100000, or 107017 where the reference implementation crashes.
    """
    if not handle:
        raise null(argument)
    found = find(machine, kind, handle)
    if found is None:
        raise stale(argument, handle)
    return found


def attributes_named(machine: "Machine", handle: int) -> QueueAttributes:
    return _found(machine, QueueAttributes, "attr", handle)


def list_named(machine: "Machine", handle: int, argument: str = "qRouteList") -> QueueRouteList:
    return _found(machine, QueueRouteList, argument, handle)


def query_named(machine: "Machine", handle: int) -> QueueRouteQuery:
    return _found(machine, QueueRouteQuery, "queryInfo", handle)


def _destroy(machine: "Machine", one: SmallObject) -> int:
    del machine.small_objects[one.handle]
    return 0


def _check_length(length: int, room: int) -> None:
    """As the reference implementation copies a value: it may be shorter than its place, but not longer."""
    if length > room:
        raise invalid("the argument len is {}; the value has {} bytes", length, room)


def _patched(old: int, content: bytes) -> int:
    """A 32-bit number whose lower bytes were replaced."""
    return int.from_bytes(content + old.to_bytes(NUMBER, "little")[len(content) :], "little")


def _unknown_type(value: int) -> Refused:
    return invalid("the argument type is {}, which is no constant of its type", value)


# Attributes.


@call("acltdtCreateQueueAttr")
def create_queue_attr(machine: "Machine", thread: Thread) -> int:
    return keep(machine, QueueAttributes())


@call("acltdtDestroyQueueAttr")
def destroy_queue_attr(machine: "Machine", thread: Thread, handle: int) -> int:
    attributes = attributes_named(machine, handle)
    if attributes.shown:
        machine.port.pinned_free(attributes.shown)
    return _destroy(machine, attributes)


@call("acltdtSetQueueAttr")
def set_queue_attr(
    machine: "Machine", thread: Thread, handle: int, kind: int, length: int, content: bytes | None
) -> int:
    """For a name, ``content`` is its address."""
    attributes = attributes_named(machine, handle)
    if content is None:
        raise null("param")
    if kind == NAME:
        _check_length(length, POINTER)
        address = int.from_bytes(content, "little")
        if not address:
            raise null("*param")
        attributes.name = _text(machine, address)
    elif kind == DEPTH:
        _check_length(length, NUMBER)
        attributes.depth = _patched(attributes.depth, content)
    else:
        raise _unknown_type(kind)
    return 0


def _text(machine: "Machine", address: int) -> bytes:
    """A text of the program, up to its end.

    Raises:
        Refused: 100000, it is too long, or not readable.
    """
    text = b""
    while len(text) < NAME_ROOM and b"\0" not in text:
        start = address + len(text)
        part = bytearray(min(NAME_ROOM - len(text), PAGE - start % PAGE))  # what lies behind may not be readable
        if not machine.port.read(start, memoryview(part)):
            raise driver_fault("the name at *param ({:#x}) is not readable", address)
        text += bytes(part)
    name, end, _ = text.partition(b"\0")
    if not end:
        raise invalid("the name of the queue is longer than {} bytes", NAME_ROOM - 1)
    return name


@call("acltdtGetQueueAttr")
def get_queue_attr(
    machine: "Machine", thread: Thread, handle: int, kind: int, length: int, out_size: int, out: int
) -> Any:
    attributes = attributes_named(machine, handle)
    if not out:
        raise null("param")
    if not out_size:
        raise null("paramRetSize")
    if kind == NAME:
        _check_room(length, POINTER)
        return 0, POINTER, _shown_name(machine, attributes).to_bytes(POINTER, "little")
    if kind == DEPTH:
        _check_room(length, NUMBER)
        return 0, NUMBER, attributes.depth.to_bytes(NUMBER, "little")
    raise _unknown_type(kind)


def _check_room(length: int, size: int) -> None:
    if length < size:
        raise invalid("the argument len is {}; the value has {} bytes", length, size)


def _shown_name(machine: "Machine", attributes: QueueAttributes) -> int:
    """Where the program can read the name."""
    if not attributes.shown:
        attributes.shown = machine.port.pinned_alloc(NAME_ROOM)
        if not attributes.shown:
            raise Refused(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has no memory left for the name of a queue")
    machine.port.write(attributes.shown, memoryview(attributes.name.ljust(NAME_ROOM, b"\0")))
    return attributes.shown


# Routes and lists of them.


@call("acltdtCreateQueueRoute")
def create_queue_route(machine: "Machine", thread: Thread, source: int, target: int) -> int:
    return keep(machine, QueueRoute(source, target))


@call("acltdtDestroyQueueRoute")
def destroy_queue_route(machine: "Machine", thread: Thread, handle: int) -> int:
    return _destroy(machine, _found(machine, QueueRoute, "route", handle))


@call("acltdtGetQueueRouteParam")
def get_queue_route_param(
    machine: "Machine", thread: Thread, handle: int, kind: int, length: int, out_size: int, out: int
) -> Any:
    route = _found(machine, QueueRoute, "route", handle)
    if not out:
        raise null("param")
    if not out_size:
        raise null("paramRetSize")
    if kind not in (SOURCE, TARGET, STATUS):
        raise _unknown_type(kind)
    _check_room(length, NUMBER)
    return 0, NUMBER, route.values[kind].to_bytes(NUMBER, "little")


@call("acltdtCreateQueueRouteList")
def create_queue_route_list(machine: "Machine", thread: Thread) -> int:
    return keep(machine, QueueRouteList())


@call("acltdtDestroyQueueRouteList")
def destroy_queue_route_list(machine: "Machine", thread: Thread, handle: int) -> int:
    return _destroy(machine, list_named(machine, handle, "routeList"))


@call("acltdtAddQueueRoute")
def add_queue_route(machine: "Machine", thread: Thread, handle: int, route: int) -> int:
    routes = list_named(machine, handle, "routeList")
    routes.routes.append([*_found(machine, QueueRoute, "route", route).values])
    return 0


@call("acltdtGetQueueRoute")
def get_queue_route(machine: "Machine", thread: Thread, handle: int, index: int, route: int) -> int:
    """Fills the route that the program made."""
    routes = list_named(machine, handle, "routeList").routes
    filled = _found(machine, QueueRoute, "route", route)
    if index >= len(routes):
        raise invalid("the argument index is {}, but the list has {} routes", index, len(routes))
    filled.values = [*routes[index]]
    return 0


@call("acltdtGetQueueRouteNum")
def get_queue_route_num(machine: "Machine", thread: Thread, handle: int) -> int:
    try:
        return len(list_named(machine, handle, "routeList").routes)
    except Refused as refused:
        machine.refuse(thread, "acltdtGetQueueRouteNum", refused)
        return 0


# Queries.


@call("acltdtCreateQueueRouteQueryInfo")
def create_queue_route_query_info(machine: "Machine", thread: Thread) -> int:
    return keep(machine, QueueRouteQuery())


@call("acltdtDestroyQueueRouteQueryInfo")
def destroy_queue_route_query_info(machine: "Machine", thread: Thread, handle: int) -> int:
    return _destroy(machine, _found(machine, QueueRouteQuery, "info", handle))


@call("acltdtSetQueueRouteQueryInfo")
def set_queue_route_query_info(
    machine: "Machine", thread: Thread, handle: int, kind: int, length: int, content: bytes | None
) -> int:
    query = _found(machine, QueueRouteQuery, "param", handle)
    if content is None:
        raise null("value")
    if not MODE <= kind < len(query.values):
        raise _unknown_type(kind)
    _check_length(length, NUMBER)
    query.values[kind] = _patched(query.values[kind] or 0, content)
    return 0
