"""Length expressions of buffers: sums of products of parameters and whole numbers, such as ``pitch * height + 16``. A
factor ``kind=2`` is 1 where the parameter has that value, and 0 elsewhere."""

from collections.abc import Mapping


class Length:
    """A parsed length expression.

    Raises:
        ValueError: the text is not a sum of products of names and whole numbers.
    """

    __slots__ = ("names", "terms", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.terms = tuple(tuple(factor.strip() for factor in term.split("*")) for term in text.split("+"))
        factors = [factor for term in self.terms for factor in term]
        for factor in factors:
            name, equals, value = factor.partition("=")
            if not (factor.isdecimal() or (name.isidentifier() and (not equals or value.isdecimal()))):
                raise ValueError(f"{text!r} is not a sum of products of parameters and whole numbers")
        self.names = tuple(factor.partition("=")[0] for factor in factors if not factor.isdecimal())

    def __call__(self, values: Mapping[str, int]) -> int:
        """The length for these parameter values, in units of what is measured (bytes or elements)."""
        total = 0
        for term in self.terms:
            product = 1
            for factor in term:
                product *= _factor(factor, values)
            total += product
        return total

    def __repr__(self) -> str:
        return f"Length({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Length) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)


def _factor(factor: str, values: Mapping[str, int]) -> int:
    if factor.isdecimal():
        return int(factor)
    name, equals, value = factor.partition("=")
    return int(values[name] == int(value)) if equals else values[name]
