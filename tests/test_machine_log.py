"""Messages of the program in the runtime's log."""

import pytest

from tests.fakes import Driver


@pytest.mark.parametrize(("function", "more"), [("aclAppLog", ()), ("aclAppLogWithArgs", (0x1000,))])
def test_a_message_is_handed_on_as_it_is(function: str, more: tuple[int, ...]) -> None:
    driver = Driver()  # no device, no aclInit
    driver.call(function, 3, 0x2000, b"a.c", 12, b"text", *more)
    driver.call(function, -1, 0, None, 0, None, *more)
    assert driver.host.logged == [(3, b"a.c", 12, b"text"), (-1, b"", 0, b"")]
