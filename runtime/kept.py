"""What a machine's state is made of."""

from cannery.runtime.marks import mypyc_attr


@mypyc_attr(serializable=True)
class Kept:
    """The base of all classes whose objects are part of a machine's state (``state.py``), from which they can be made
    again without a constructor: compiled classes that are not ``serializable`` would call theirs.

    The price, with mypyc 2.4: compiled code constructs them as ever, but what is not compiled, and a call with ``*`` or
    of a class that is held by a variable, gets objects without any attribute set. ``tests/test_kept.py`` finds those.
    """

    __slots__ = ()
