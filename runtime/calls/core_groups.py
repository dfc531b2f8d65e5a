"""Groups of cores, of which a context can use one (reference pages of the functions named; 310P only).

On a card an administrator makes groups; here the product profile has them.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import ACL_ERROR_RT_GROUP_NOT_CREATE, Refused, invalid, null, out_of_range, stale
from cannery.runtime.objects import Thread
from cannery.runtime.small_objects import SmallObject, find, keep

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

MOST_GROUPS: Final = 4  # ids are below that

# aclrtGroupAttr: where a group of the profile has each attribute.
ATTRIBUTES: Final = (1, 2, 3, 4, 5, 0)
WIDTH: Final = 4  # bytes of a value


class GroupInfo(SmallObject):
    """What aclrtCreateGroupInfo gives: room for the ``groups`` that aclrtGetAllGroupInfo puts there."""

    __slots__ = ("groups",)

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[list[int]] = []


def _information(machine: "Machine", handle: int) -> GroupInfo:
    if not handle:
        raise null("groupInfo")
    information = find(machine, GroupInfo, handle)
    if information is None:
        raise stale("groupInfo", handle)
    return information


@call("aclrtSetGroup")
def set_group(machine: "Machine", thread: Thread, group_id: int) -> int:
    """No effect that shows: the model's tasks do not take longer with fewer cores."""
    machine.context_of(thread)
    if not 0 <= group_id < MOST_GROUPS:
        raise out_of_range("the argument groupId is {}; ids are from 0 to {}", group_id, MOST_GROUPS - 1)
    if all(group[0] != group_id for group in machine.profile.groups):
        raise _missing(group_id)
    return 0


def _missing(group_id: int) -> Refused:
    return Refused(
        ACL_ERROR_RT_GROUP_NOT_CREATE, "there is no group {}; see aclrtGetAllGroupInfo for those there are", group_id
    )


@call("aclrtGetGroupCount")
def get_group_count(machine: "Machine", thread: Thread, out: int) -> Any:
    if not out:
        raise null("count")
    machine.context_of(thread)
    return 0, len(machine.profile.groups)


@call("aclrtCreateGroupInfo")
def create_group_info(machine: "Machine", thread: Thread) -> int:
    """Null, and a message, without a current context."""
    try:
        machine.context_of(thread)
    except Refused as refused:
        machine.refuse(thread, "aclrtCreateGroupInfo", refused)
        return 0
    return keep(machine, GroupInfo())


@call("aclrtDestroyGroupInfo")
def destroy_group_info(machine: "Machine", thread: Thread, handle: int) -> int:
    _information(machine, handle)
    del machine.small_objects[handle]
    return 0


@call("aclrtGetAllGroupInfo")
def get_all_group_info(machine: "Machine", thread: Thread, handle: int) -> int:
    information = _information(machine, handle)
    machine.context_of(thread)
    information.groups = machine.profile.groups
    return 0


@call("aclrtGetGroupInfoDetail")
def get_group_info_detail(
    machine: "Machine", thread: Thread, handle: int, index: int, attribute: int, out: int, room: int, out_size: int
) -> Any:
    information = _information(machine, handle)
    if not out:
        raise null("attrValue")
    if not out_size:
        raise null("paramRetSize")
    machine.context_of(thread)
    count = len(machine.profile.groups)
    if not 0 <= index < count:
        raise invalid("the argument groupIndex is {}, but there are {} groups; pass an index below that", index, count)
    if not 0 <= attribute < len(ATTRIBUTES):
        raise invalid("the argument attr is {}; pass a constant of aclrtGroupAttr", attribute)
    if room < WIDTH:
        raise invalid("the argument valueLen is {}; the value has {} bytes", room, WIDTH)
    value = information.groups[index][ATTRIBUTES[attribute]] if information.groups else 0
    return 0, value.to_bytes(WIDTH, "little"), WIDTH
