"""Which chips run each other's operators: those of one architecture (public sources: the chips' platform files)."""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.errors import out_of_range
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

# A whole name, or what names begin with.
WHOLE: Final = {
    b"Ascend910A": 1001, b"Ascend910B": 1001, b"Ascend910ProA": 1001, b"Ascend910ProB": 1001,
    b"Ascend910PremiumA": 1001,
}  # fmt: skip
BEGINNINGS: Final = (
    (b"Ascend910B", 2201),
    (b"Ascend910_93", 2201),
    (b"Ascend310P", 2002),
    (b"Ascend310B", 3002),
    (b"Ascend950PR", 3510),
    (b"Ascend950DT", 3510),
    (b"Ascend350", 3510),
)


def architecture(name: bytes) -> int | None:
    """The number of the architecture that a chip of that name has; None if that is not known."""
    found = WHOLE.get(name)
    if found is None:
        for beginning, architecture in BEGINNINGS:
            if name.startswith(beginning):
                return architecture
    return found


@call("aclrtCheckArchCompatibility")
def check_arch_compatibility(machine: "Machine", thread: Thread, soc_version: bytes | None, out: int) -> Any:
    if soc_version is None:
        raise out_of_range("the argument socVersion is null; pass the name of a chip, such as Ascend910B1")
    if not out:
        raise out_of_range("the argument canCompatible is null; pass the address of a number")
    asked = architecture(soc_version)
    if asked is None:
        raise out_of_range(
            "the argument socVersion is {!r}, which is no known chip", soc_version.decode("utf-8", "replace")
        )
    return 0, int(asked == architecture(machine.profile.soc_name.encode()))
