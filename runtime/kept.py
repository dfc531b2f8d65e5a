"""What a machine's state is made of."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_: Any) -> Any:
        """For mypyc only."""
        return lambda cls: cls


@mypyc_attr(serializable=True)
class Kept:
    """The base of all classes whose objects are part of a machine's state (``state.py``), from which they can be made
    again without a constructor: compiled classes that are not ``serializable`` would call theirs."""

    __slots__ = ()
