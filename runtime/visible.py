"""Which devices a process sees: ASCEND_RT_VISIBLE_DEVICES, as its reference page and the runtime have it."""

from collections.abc import Sequence


def visible_devices(text: str | None, count: int) -> tuple[Sequence[int], str]:
    """The ids of the visible devices, in the order in which the program counts them, and if there are none, why.

    The list is read up to the first part that is not the id of a device, so ``1, 2`` (with a space) is only 1. Ids
    have to ascend; with one that repeats or descends the process sees no device at all.
    """
    if not count:
        return (), "the simulated machine has none; choose another number with --devices"
    if text is None:
        return range(count), ""
    chosen: list[int] = []
    for part in text.split(","):
        if not (part.isascii() and part.isdigit() and len(part) < 10) or int(part) >= count:
            break
        if chosen and int(part) <= chosen[-1]:
            return (), f"ASCEND_RT_VISIBLE_DEVICES={text!r} has to list ids in ascending order, each once"
        chosen.append(int(part))
    if not chosen:
        return (), f"ASCEND_RT_VISIBLE_DEVICES={text!r} begins with no id of a device; there are 0 to {count - 1}"
    return chosen, ""
