"""The kernel models of a program: loaded when it first looks a kernel up, and run when it launches one."""

import os
from typing import TYPE_CHECKING

from cannery.shim.messages import say

if TYPE_CHECKING:
    from cannery.runtime.kernels import KernelRun
    from cannery.runtime.models.declare import KernelModel
    from cannery.runtime.models.load import Models
    from cannery.runtime.models.run import Outcome, ReadHost, WriteHost


class LiveModels:
    """``files`` as in ``CANNERY_KERNELS``: paths, with colons between them."""

    def __init__(self, files: str) -> None:
        # the program may go to another folder before it looks a kernel up
        self.files = [os.path.abspath(path) for path in files.split(os.pathsep) if path]
        self._models: Models | None = None
        self._told: set[bytes] = set()

    def _loaded(self) -> "Models":
        if self._models is None:
            from cannery.runtime.models.declare import ModelError
            from cannery.runtime.models.load import Models, load

            try:
                self._models = load(self.files)
            except ModelError as error:
                say(f"{error}; running without kernel models")
                self._models = Models()
        return self._models

    def find(self, name: bytes) -> "tuple[str, bytes] | None":
        """Name and source hash of the model for a kernel."""
        models = self._loaded()
        model = models.find(name)
        return None if model is None else (model.name, models.digest(model))

    def run(self, launch: "KernelRun", read: "ReadHost", write: "WriteHost") -> "Outcome":
        """Run the model of a launch, which there is. Raises Failure."""
        from cannery.runtime.models.run import run

        model: KernelModel | None = self._loaded().find(launch.name)
        assert model is not None, "found when the kernel was looked up"
        return run(model, launch, read, write)

    def tell(self, name: bytes) -> None:
        """A kernel without a model is launched: say so, once for each name."""
        if name not in self._told:
            self._told.add(name)
            say(f"the kernel {name.decode(errors='replace')} has no model: its launches do nothing (docs/kernels.md)")
