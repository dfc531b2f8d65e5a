"""Kernel models: what kernels compute, said in Python (docs/kernels.md).

from cannery.runtime.models import In, Out, Scalar, kernel

@kernel("add", In("float32", "n"), In("float32", "n"), Out("float32", "n"), Scalar("uint32"), relative=1e-6)
def add(launch, x, y, z, n):
    z[:] = x + y
"""

from cannery.runtime.models.declare import In, KernelModel, Launched, ModelError, Out, Scalar, kernel

__all__ = ["In", "KernelModel", "Launched", "ModelError", "Out", "Scalar", "kernel"]
