"""How a function is declared in the API model: ``call(name, behaviour)(parameter=role)``."""

from typing import Final, NamedTuple

from cannery.runtime.api.roles import Role

BLOCKS: Final = "blocks"
CONTEXT: Final = "context"


class Annotation(NamedTuple):
    name: str
    can_block: bool
    needs_context: bool
    roles: dict[str, Role]
    identity: str = ""


class call:  # noqa: N801 - reads as the head of a declaration: call(name, behaviour)(parameter=role)
    """First half of an :class:`Annotation`, apart from the second so that any parameter name is free. ``identity``: the
    return value names one of these (a thread), as :class:`roles.Identity` does."""

    def __init__(self, name: str, *behaviour: str, identity: str = "") -> None:
        self.name = name
        self.behaviour = behaviour
        self.identity = identity

    def __call__(self, **roles: Role) -> Annotation:
        return Annotation(self.name, BLOCKS in self.behaviour, CONTEXT in self.behaviour, roles, self.identity)
