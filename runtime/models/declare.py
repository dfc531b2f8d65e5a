"""How a kernel model is declared. A wrong declaration raises where it stands; nothing here needs numpy."""

import inspect
import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

#: Where a module keeps the models that it declares.
DECLARED: Final = "__kernel_models__"
POINTER_SIZE: Final = 8


class ModelError(Exception):
    """A kernel model, or a file of them, cannot be used; the text says which and why."""


class Launched(NamedTuple):
    """What a model is told of the launch: the kernel's name, the number of blocks, the device's id."""

    name: str
    blocks: int
    device: int


class Parameter:
    """One argument of a kernel. ``dtype`` is anything that numpy takes for one, ``at`` the offset of the argument in
    the block of arguments; None: behind the one before it, aligned as a C compiler would."""

    def __init__(self, dtype: Any, at: int | None) -> None:
        if at is not None and (at.__class__ is not int or at < 0):
            raise ModelError(f"at={at!r}: expected an offset in bytes")
        self.dtype = dtype
        self.at = at


class Scalar(Parameter):
    """A number, or a struct of a numpy dtype, by value."""

    def __init__(self, dtype: Any, *, at: int | None = None) -> None:
        super().__init__(dtype, at)


class Array(Parameter):
    """A pointer to memory, which the model sees as a one-dimensional array. ``count`` is the number of elements, or the
    name of the parameter that has it; None: as many as there are up to the end of the allocation. ``optional``: the
    pointer may be null, and the model then gets None."""

    writes = False

    def __init__(
        self, dtype: Any, count: int | str | None = None, *, at: int | None = None, optional: bool = False
    ) -> None:
        super().__init__(dtype, at)
        if not (count is None or isinstance(count, str) or (count.__class__ is int and count >= 0)):
            raise ModelError(f"count {count!r}: expected a number of elements, or the name of a parameter")
        self.count = count
        self.optional = optional


class In(Array):
    """Memory that the kernel reads; the array cannot be written."""


class Out(Array):
    """Memory that the kernel writes. The array has what was there before, for kernels that also read it."""

    writes = True


class KernelModel:
    """A function that does what a kernel does. Called, it is that function.

    ``relative`` and ``absolute``: how far results of another run may be off, as in ``numpy.isclose``. ``where`` says in
    which file and line it stands.
    """

    def __init__(
        self, name: str, parameters: tuple[Parameter, ...], run: Callable[..., None], relative: float, absolute: float
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.run = run
        self.relative = relative
        self.absolute = absolute
        code = inspect.unwrap(run).__code__
        self.file = code.co_filename
        self.where = f"{code.co_filename}:{code.co_firstlineno}"
        self.names = self._names()

    def __call__(self, *arguments: Any) -> None:
        self.run(*arguments)

    def _names(self) -> tuple[str, ...]:
        """The names that the function gives its parameters. Raises ModelError: it does not take as many."""
        count = len(self.parameters)
        signature = inspect.signature(self.run)
        try:
            bound = signature.bind(*range(1 + count))
        except TypeError:
            expected = f"the launch and {count} argument{'s' * (count != 1)}"
            raise ModelError(
                f"{self.where}: the model of {self.name} has to take {expected}, and takes {signature}"
            ) from None
        names: list[str] = []
        for name, value in bound.arguments.items():
            several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            names += [f"{name}[{place}]" for place in range(len(value))] if several else [name]
        names = names[1 : 1 + count]
        scalars = {
            name for name, parameter in zip(names, self.parameters, strict=False) if isinstance(parameter, Scalar)
        }
        for parameter in self.parameters:
            counted = parameter.count if isinstance(parameter, Array) else None
            if isinstance(counted, str) and counted not in scalars:
                known = ", ".join(sorted(scalars)) or "none"
                raise ModelError(
                    f"{self.where}: the count {counted!r} is no scalar parameter of the model of {self.name} ({known})"
                )
        return tuple(names)


def kernel(
    name: str, *parameters: Parameter, relative: float = 0.0, absolute: float = 0.0
) -> Callable[[Callable[..., None]], KernelModel]:
    """Declare the function below as the model of the kernels of that name.

    It is called with a :class:`Launched` and one value for each parameter, and returns nothing. Without a tolerance,
    another run has to give the same bits.

    Raises:
        ModelError: the declaration is wrong, or the function has other parameters.
    """

    def declare(run: Callable[..., None]) -> KernelModel:
        run = run.run if isinstance(run, KernelModel) else run
        if not callable(run) or not hasattr(inspect.unwrap(run), "__code__"):
            raise ModelError(f"the model of {name} is {run!r}, and no Python function")
        model = KernelModel(name, parameters, run, *tolerance)
        namespace: dict[str, Any] = getattr(inspect.unwrap(run), "__globals__", {})
        namespace.setdefault(DECLARED, []).append(model)
        return model

    if not isinstance(name, str) or not name:
        raise ModelError(f'a kernel is called {name!r}: expected a name, as in @kernel("add", ...)')
    for parameter in parameters:
        if not isinstance(parameter, Parameter):
            raise ModelError(f"the model of {name} has the parameter {parameter!r}: expected In, Out or Scalar")
    tolerance = tuple(float(part) for part in (relative, absolute))
    if not all(part >= 0 and math.isfinite(part) for part in tolerance):
        raise ModelError(f"the model of {name} has the tolerance {relative}, {absolute}: expected numbers from 0 up")
    return declare
