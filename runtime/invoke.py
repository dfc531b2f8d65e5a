"""Functions of the program that the machine asks the driver to run (docs/architecture.md, "Functions of the program").

The machine knows them as numbers and never calls one: it runs without any lock of the engine, on a thread of the
program or of the runtime, and what it returns is an input of a later step.
"""

from typing import Final

from cannery.runtime.kept import Kept

#: What functions take and return, by name; the number is the shim's (enum cannery_signature).
SIGNATURES: Final = {
    "void(ptr)": 1,
    "u32(i32,ptr)": 2,
    "ptr(ptr,size)": 3,
    "void(ptr,ptr)": 4,
    "i32(i32,i32,u32,ptr)": 5,
    "void(ptr,i32,ptr)": 6,
    "void(i32,i32,ptr)": 7,
}


class Invoke(Kept):
    """``function`` (an address) is to be called with ``arguments`` (ints), as ``signature`` says."""

    __slots__ = ("arguments", "function", "signature")

    def __init__(self, function: int, arguments: tuple[int, ...], signature: str) -> None:
        assert signature in SIGNATURES, signature
        self.function = function
        self.arguments = arguments
        self.signature = signature


#: Stands for one that was shown, and compared, before a replay began in the middle.
SHOWN: Final = Invoke(0, (), "void(ptr)")


class Errand(Kept):
    """What the runtime's own thread ``worker`` has to run."""

    __slots__ = ("invoke", "worker")

    def __init__(self, worker: int, invoke: Invoke) -> None:
        self.worker = worker
        self.invoke = invoke
