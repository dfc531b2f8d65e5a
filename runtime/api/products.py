"""Product lines: the names that Cannery uses, and those of ``doc_products`` in ``abi/functions.json``."""

from collections.abc import Mapping
from functools import cache
from typing import Final

PRODUCTS: Final = ("950PR", "950DT", "A3", "A2", "310B", "310P", "910", "IPV350")
ALL: Final = frozenset(PRODUCTS)

_DOCUMENTED: Final = {
    "950": ("950PR", "950DT"),
    "200I/500A2": ("310B",),
    **{product: (product,) for product in ("950PR", "950DT", "A3", "A2", "310P", "910", "IPV350")},
}


def products_of(documented: Mapping[str, str] | None) -> frozenset[str]:
    """The products that have a function; all where the documents do not say (None)."""
    if documented is None:
        return ALL
    return _supported(tuple(name for name, answer in documented.items() if answer == "Y"))


@cache  # 514 functions share some twenty sets
def _supported(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(product for name in names for product in _DOCUMENTED[name])
