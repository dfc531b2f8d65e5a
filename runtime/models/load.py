"""Finds the kernel models of a process: those in files, and those that installed packages bring."""

import importlib.machinery
import importlib.metadata
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from xxhash import xxh3_128_digest

from cannery.runtime.models.declare import DECLARED, KernelModel, ModelError

#: Packages name the modules with their models under this group of entry points.
GROUP: Final = "cannery.kernels"


class Models:
    """Kernel models by the name of the kernel. ``digests`` has the hash of each one's source file."""

    def __init__(self, models: Iterable[KernelModel] = ()) -> None:
        """Raises ModelError: two are for one kernel, or one is not usable."""
        self._models: dict[str, KernelModel] = {}
        self._digests: dict[str, bytes] = {}
        for model in models:
            before = self._models.get(model.name)
            if before is not None:
                raise ModelError(f"two kernel models for {model.name}: {before.where} and {model.where}")
            self._models[model.name] = model

    def __len__(self) -> int:
        return len(self._models)

    def find(self, name: bytes) -> KernelModel | None:
        """The model for a kernel."""
        return self._models.get(name.decode(errors="replace"))

    def without(self, others: "Models") -> list[KernelModel]:
        """Those for kernels that ``others`` has no models for."""
        return [model for name, model in self._models.items() if name not in others._models]

    def digest(self, model: KernelModel) -> bytes:
        """XXH3-128 of the file that a model stands in, as it is now; of its code, where there is none."""
        found = self._digests.get(model.file)
        if found is None:
            try:
                content = Path(model.file).read_bytes()
            except OSError:
                content = model.run.__code__.co_code
            found = self._digests[model.file] = xxh3_128_digest(content)
        return found


def load(files: Sequence[str], installed: bool = True) -> Models:
    """The models in these files, and with ``installed`` those of packages for kernels that the files have none for.

    Raises:
        ModelError: something about them is wrong; the text names file and line.
    """
    given = Models(model for path in files for model in _of_file(path))
    if files and not len(given):
        raise ModelError(f"{', '.join(files)}: no kernel models; declare some with @kernel (docs/kernels.md)")
    packaged = Models(model for entry in _entries() for model in _of_entry(entry)) if installed else Models()
    models = [*given._models.values(), *packaged.without(given)]
    if models:
        _check_types(models)
    return Models(models)


def names_any(files: Sequence[str]) -> bool:
    """Whether there is anything to load."""
    return bool(files) or bool(_entries())


def _entries() -> list[Any]:
    return sorted(importlib.metadata.entry_points(group=GROUP), key=lambda entry: entry.name)


class _Source(importlib.machinery.SourceFileLoader):
    """Neither uses nor leaves compiled files, which would stand for what the file was up to a second ago."""

    def path_stats(self, path: Any) -> Any:
        raise OSError(f"no compiled file of {path}")


def _of_file(path: str) -> Iterator[KernelModel]:
    if not Path(path).is_file():
        raise ModelError(f"{path}: no such file of kernel models")
    name = "cannery_models_" + xxh3_128_digest(str(Path(path).absolute()).encode(errors="surrogateescape")).hex()
    loader = _Source(name, path)
    specification = importlib.util.spec_from_file_location(name, path, loader=loader)
    if specification is None or not path.endswith(".py"):
        raise ModelError(f"{path}: a file of kernel models is a Python file, with a name that ends in .py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except ModelError as error:
        raise ModelError(_placed(str(error), path, error)) from None
    except SyntaxError as error:
        raise ModelError(f"{error.filename or path}:{error.lineno or 0}: {error.msg}") from None
    except BaseException as error:
        raise ModelError(_placed(_reason(error), path, error)) from None
    finally:
        del sys.modules[name]
    return iter(_models_in(module))


def _of_entry(entry: Any) -> list[KernelModel]:
    try:
        module = entry.load()
    except BaseException as error:
        raise ModelError(f"entry point {entry.name} ({entry.value}) of {GROUP}: {_reason(error)}") from None
    if not isinstance(module, ModuleType):
        raise ModelError(f"entry point {entry.name} ({entry.value}) of {GROUP} is no module")
    return _models_in(module)


def _models_in(module: ModuleType) -> list[KernelModel]:
    """What the module declares, and what it has taken from others."""
    declared: list[KernelModel] = list(vars(module).get(DECLARED, ()))
    taken = [value for value in vars(module).values() if isinstance(value, KernelModel)]
    return [*declared, *dict.fromkeys(model for model in taken if model not in declared)]


def _placed(text: str, path: str, error: BaseException) -> str:
    """``text`` with the line of the file that led to an error, unless it says so itself."""
    if text.startswith(path):
        return text
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f"{path}:{lines[-1]}: {text}" if lines else f"{path}: {text}"


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ").replace("\n", " ")


def _check_types(models: Iterable[KernelModel]) -> None:
    """Raises ModelError: numpy is not there, or does not know an element type."""
    try:
        import numpy
    except ImportError as error:
        raise ModelError(f"kernel models need numpy ({error}): pip install numpy") from None
    for model in models:
        for name, parameter in zip(model.names, model.parameters, strict=True):
            try:
                itemsize = numpy.dtype(parameter.dtype).itemsize
            except (TypeError, ValueError, SyntaxError) as error:
                raise ModelError(f"{model.where}: the type {parameter.dtype!r} of {name}: {error}") from None
            if numpy.dtype(parameter.dtype).hasobject or not itemsize:
                raise ModelError(f"{model.where}: the type {parameter.dtype!r} of {name} is none of plain memory")
