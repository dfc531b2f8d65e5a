"""What classes tell mypyc. Not compiled itself: mypyc reads the marks, and nothing needs mypyc's package to run."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:

    def mypyc_attr(**_: Any) -> Any:
        """No effect on the Python form of a class."""
        return lambda cls: cls
