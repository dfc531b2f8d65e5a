"""Which functions a product has, and that what it has refuses the same as on other products."""

from typing import Any

import pytest

from cannery.runtime.api import MODEL, PRODUCTS, roles
from cannery.runtime.calls.registry import EVERYWHERE
from tests.block_values import is_block
from tests.fakes import Driver
from tests.snapshots import state

UNSUPPORTED = 207000
NUMBERS = "aclError"
#: semantics.md 0.3: null is the default stream only on chips with the newer control queue.
DIFFERENT = {product: {"aclrtSetStreamFailureMode": 107000} for product in ("310B", "310P", "910")}


def nulls(function: str) -> list[Any]:
    """Null or 0 for each argument, as handlers get it."""
    return [
        None if is_block(param) or isinstance(param.role, roles.CString | roles.InOutScalar) else 0
        for param in MODEL[function].params
    ]


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_has_the_functions_that_the_documents_say(product: str) -> None:
    driver = Driver(product=product).opened()
    before = state(driver.machine)
    for function in driver.handlers:
        if product not in MODEL[function].products and function not in EVERYWHERE:
            reply = driver.call(function, *nulls(function))
            assert reply == (UNSUPPORTED if MODEL[function].returns == NUMBERS else None), function
            if product in MODEL["aclGetRecentErrMsg"].products:
                assert f"product {product} does not have this function" in driver.message()
    assert state(driver.machine) == before


def refusals(product: str) -> dict[str, int]:
    """What each function answers to nothing but null and 0."""
    found = {}
    for function in Driver(product=product).handlers:
        if MODEL[function].returns == NUMBERS and product in MODEL[function].products:
            reply = Driver(product=product).opened().call(function, *nulls(function))
            found[function] = reply[0] if isinstance(reply, tuple) else reply
    return found


@pytest.fixture(scope="module")
def usual() -> dict[str, int]:
    return refusals("A2")


@pytest.mark.parametrize("product", PRODUCTS)
def test_products_refuse_the_same(product: str, usual: dict[str, int]) -> None:
    found = refusals(product)
    different = {name: number for name, number in found.items() if number != usual.get(name, number)}
    assert different == {name: number for name, number in DIFFERENT.get(product, {}).items() if name in found}
