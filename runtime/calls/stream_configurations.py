"""Streams made from a configuration: its values, and the stream (reference pages of the functions named).

Only IPV350 has these calls. Its public implementation gives a stream the priority alone: the flags have no effect, and
the work memory is for loaded models, which are not part of the runtime API.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime import lifecycle
from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import GREATEST_PRIORITY, LEAST_PRIORITY, created
from cannery.runtime.errors import invalid, null, stale
from cannery.runtime.objects import Thread
from cannery.runtime.small_objects import SmallObject, find, keep

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# aclrtStreamConfigAttr, and how many bytes the value of each has.
WORK_ADDRESS: Final = 0
WORK_SIZE: Final = 1
FLAG: Final = 2
PRIORITY: Final = 3
SIZES: Final = {WORK_ADDRESS: 8, WORK_SIZE: 8, FLAG: 8, PRIORITY: 4}


class StreamConfiguration(SmallObject):
    """What a stream is to be made with, as far as it has an effect."""

    __slots__ = ("priority",)

    def __init__(self) -> None:
        super().__init__()
        self.priority = GREATEST_PRIORITY


def _named(machine: "Machine", handle: int) -> StreamConfiguration:
    """The configuration of that handle, which is not null.

    Raises:
        Refused: 107017, where the reference implementation reads freed memory.
    """
    found = find(machine, StreamConfiguration, handle)
    if found is None:
        raise stale("handle", handle)
    return found


@call("aclrtCreateStreamConfigHandle")
def create_stream_config_handle(machine: "Machine", thread: Thread) -> int:
    return keep(machine, StreamConfiguration())


@call("aclrtDestroyStreamConfigHandle")
def destroy_stream_config_handle(machine: "Machine", thread: Thread, handle: int) -> int:
    """Streams that were made from it stay."""
    if not handle:
        raise null("handle")
    del machine.small_objects[_named(machine, handle).handle]
    return 0


@call("aclrtSetStreamConfigOpt")
def set_stream_config_opt(
    machine: "Machine", thread: Thread, handle: int, attribute: int, value: bytes | None, size: int
) -> int:
    if not handle:
        raise null("handle")
    if value is None:
        raise null("attrValue")
    expected = SIZES.get(attribute)
    if expected is None:
        raise invalid("the argument attr is {}; pass 0 to {}, as aclrtStreamConfigAttr has them", attribute, PRIORITY)
    configuration = _named(machine, handle)
    if size != expected:
        raise invalid("the argument valueSize is {}; a value of attribute {} has {} bytes", size, attribute, expected)
    if attribute == PRIORITY:
        priority = int.from_bytes(value, "little")
        if priority > LEAST_PRIORITY:
            raise invalid("the priority is {}; pass 0 (the greatest) to {}", priority, LEAST_PRIORITY)
        configuration.priority = priority
    return 0


@call("aclrtCreateStreamV2")
def create_stream_v2(machine: "Machine", thread: Thread, out: int, handle: int) -> Any:
    """``handle`` may be null: no configuration. Its values are read now; later changes do not matter."""
    if not out:
        raise null("stream")
    priority = _named(machine, handle).priority if handle else GREATEST_PRIORITY
    context = machine.context_of(thread)
    stream = lifecycle.open_stream(machine, context, lifecycle.take_stream_id(context.device), priority)
    return created(machine, thread, "aclrtCreateStreamV2", stream)
