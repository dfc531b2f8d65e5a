"""Options that several verbs share, each also an environment variable ``CANNERY_<NAME>``."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from cannery.tools.errors import suggestion

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:
    from cannery.runtime.models.load import Models

    class Word(click.ParamType[str]): ...

    class Number(click.ParamType[int]): ...
else:  # generic only since click 8.4
    Word = Number = click.ParamType


class OneOf(Word):
    """One of a few words, any case; a misspelt one gets the nearest suggested."""

    name = "word"

    def __init__(self, *words: str) -> None:
        self.words = words

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "|".join(self.words)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        for word in self.words:
            if word.lower() == str(value).lower():
                return word
        near = suggestion(str(value), [*self.words])
        return self.fail(f"'{value}' is none of {', '.join(self.words)}{near}", param, ctx)


class Whole(Number):
    """A whole number from ``least`` to ``most``, or without an upper limit."""

    name = "number"

    def __init__(self, least: int = 0, most: int | None = None) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if text.isascii() and text.isdigit() and len(text) < 19:
            number = int(text)
            if number >= self.least and (self.most is None or number <= self.most):
                return number
        end = "" if self.most is None else f" to {self.most}"
        return self.fail(f"'{text}' is no whole number from {self.least}{end or ' on'}", param, ctx)


class Target(click.Path):
    """Where to write. An empty name is a variable of a script that was not set, and no wish for the default."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail("the name is empty", param, ctx)
        return super().convert(value, param, ctx)


class Size(Number):
    """A number of bytes with an optional unit, as in 64M."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from cannery.recorder.sizes import SizeError, parse_size

        try:
            return parse_size(str(value))
        except SizeError as error:
            self.fail(str(error), param, ctx)


class Payload(Word):
    """What to keep of bytes: words, with rules by size and function. Functions are looked up only when one is named."""

    name = "policy"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from cannery.recorder.format import POLICIES
        from cannery.recorder.policy import PolicyError, parse_policy

        try:
            policy = parse_policy(str(value))
        except PolicyError as error:
            word = str(value).rpartition(",")[2].rpartition("=")[2].strip()
            near = suggestion(word, [*POLICIES]) if word not in POLICIES else ""
            self.fail(f"{error}{near}", param, ctx)
        if policy.names_functions:
            from cannery.runtime.api import MODEL

            known = [function.name for function in MODEL.functions]
            for pattern in policy.strangers(known):
                self.fail(f"no function of the API is called '{pattern}'{suggestion(pattern, known)}", param, ctx)
        return str(policy)


class Selection(Word):
    """A set of calls to record, as every verb reads it; functions are looked up only when one is named."""

    name = "set"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from cannery.tools.callset import CallSet, CallSetError, matching

        try:
            chosen = CallSet.parse(str(value))
            if chosen.patterns:
                from cannery.runtime.api import MODEL

                matching(chosen.patterns, [function.name for function in MODEL.functions])
        except CallSetError as error:
            self.fail(str(error), param, ctx)
        ranges = [f"{each.first}-{'' if each.last is None else each.last}/{each.step}" for each in chosen.ranges]
        return ",".join([*(text.removesuffix("/1") for text in ranges), *chosen.patterns])


class Length(Word):
    """How much of the end of a trace to keep, in calls or time."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from cannery.recorder.tail import Keep, KeepError

        try:
            return str(Keep.parse(str(value)))
        except KeepError as error:
            self.fail(str(error), param, ctx)


class Functions(Word):
    """Name of a function of the API, or a pattern; which ones are looked up when it is used."""

    name = "function"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from cannery.runtime.api import MODEL
        from cannery.tools.callset import CallSetError, matching

        try:
            matching([str(value)], [function.name for function in MODEL.functions])
        except CallSetError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class Product(Word):
    """A product line of the runtime's product table; the table is read only when the option is given."""

    name = "product"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from cannery.runtime.products import PRODUCTS

        for name in PRODUCTS:
            if name.lower() == str(value).lower():
                return name
        known = list(PRODUCTS)
        return self.fail(f"'{value}' is none of {', '.join(known)}{suggestion(str(value), known)}", param, ctx)


class Schedule(Word):
    """``asap``, ``late`` or ``seed:N``."""

    name = "schedule"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word, _, seed = str(value).partition(":")
        if value in ("asap", "late") or (word == "seed" and seed.isascii() and seed.isdigit()):
            return str(value)
        near = suggestion(word, ["asap", "late", "seed:1"])
        return self.fail(f"'{value}' is none of asap, late, seed:N{near}", param, ctx)


class Behaviour(Word):
    """A set of switches, and values for single ones; the switches are read only when the option is given."""

    name = "behaviour"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from cannery.runtime.behaviours import behaviour
        from cannery.runtime.settings import SettingError

        try:
            behaviour(str(value))
        except SettingError as error:
            self.fail(str(error), param, ctx)
        return str(value)


process: Final = click.option(
    "--process", type=Whole(1), metavar="N", help="Only this process of the trace (see 'cannery info')."
)
"""Which of a trace's processes a verb is about."""

_PRODUCT: Final = click.option(
    "--product",
    type=Product(),
    envvar="CANNERY_PRODUCT",
    metavar="LINE",
    help="Product line to simulate: 950PR, 950DT, A3, A2, 310B, 310P, 910 or IPV350. [default: A2]",
)
_SCHEDULE: Final = click.option(
    "--schedule",
    type=Schedule(),
    envvar="CANNERY_SCHEDULE",
    metavar="asap|late|seed:N",
    help="When queued work runs: as soon as it can, only when something waits for it (shows missing"
    " synchronisation), or at a random legal time, the same for the same N. [default: asap]",
)
_BEHAVIOUR: Final = click.option(
    "--behaviour",
    type=Behaviour(),
    envvar="CANNERY_BEHAVIOUR",
    metavar="documented|observed[,SWITCH=VALUE]",
    help="Where the documents and the reference implementation differ, which one to follow.",
)


def kernels(text: str) -> Callable[[F], F]:
    """Files of kernel models."""
    return click.option("--kernels", multiple=True, type=click.Path(), metavar="FILE", help=text)


def what_if(command: F) -> F:
    """The settings that a replay may change."""
    for option in (_BEHAVIOUR, _SCHEDULE, _PRODUCT):
        command = option(command)
    return command


def settings(command: F) -> F:
    """Every setting that influences what a call returns."""
    for option in (
        click.option("--acl-api", type=OneOf("1.17"), envvar="CANNERY_ACL_API",
                     help="Argument forms of this API version, for binaries built against it."),
        click.option("--virtualised", type=OneOf("0", "1"), envvar="CANNERY_VIRTUALISED",
                     help="1: the devices are instances of virtualised ones, which refuse what only whole devices can."
                     " [default: 0]"),
        click.option("--strict", is_flag=True, default=None, envvar="CANNERY_STRICT",
                     help="Refuse to launch kernels that have no model, instead of doing nothing for them."),
        click.option("--clock", type=OneOf("real", "virtual"), envvar="CANNERY_CLOCK",
                     help="Let time pass, or advance it by a fixed amount per call so that two runs of a"
                     " single-threaded program give equal traces. [default: real]"),
        click.option("--devices", type=Whole(0, 64), envvar="CANNERY_DEVICES", metavar="N",
                     help="Number of devices. [default: 8]"),
    ):  # fmt: skip
        command = option(command)
    return what_if(command)


def variables(options: Mapping[str, Any]) -> dict[str, str]:
    """The ``CANNERY_*`` variables that say the same as ``options`` (parameter name -> value, None when not given)."""
    return {
        f"CANNERY_{name.upper()}": str(int(value) if isinstance(value, bool) else value)
        for name, value in options.items()
        if value is not None
    }


def load_models(files: Sequence[str], installed: bool) -> "Models":
    """The kernel models in files, and with ``installed`` those that packages bring. Raises Failure."""
    from cannery.runtime.models.declare import ModelError
    from cannery.runtime.models.load import load
    from cannery.tools.errors import Failure

    try:
        return load(files, installed)
    except ModelError as error:
        raise Failure(f"--kernels: {error}" if files else str(error)) from None
