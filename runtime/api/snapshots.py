"""The roles of the snapshot calls (semantics.md 10; see ``annotations.py``)."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, Annotation, call
from cannery.runtime.api.roles import FunctionPointer, Identity, Reserved, Scalar, UserData

_PROCESS: Final = Identity(Scalar("int"), "process")

# All wait while another snapshot call or callback is in the way; a backup also waits for the work of all contexts.
SNAPSHOTS: Final[tuple[Annotation, ...]] = (
    call("aclrtSnapShotProcessLock", BLOCKS)(
        pid=_PROCESS,
        reserve=Reserved(),
    ),
    call("aclrtSnapShotProcessUnlock", BLOCKS)(
        pid=_PROCESS,
        reserve=Reserved(),
    ),
    call("aclrtSnapShotProcessBackup", BLOCKS)(
        pid=_PROCESS,
        args=Reserved(),
    ),
    call("aclrtSnapShotProcessRestore", BLOCKS)(
        pid=_PROCESS,
        args=Reserved(),
    ),
    call("aclrtSnapShotCallbackRegister", BLOCKS)(
        stage=Scalar("aclrtSnapShotStage"),
        callback=FunctionPointer(),
        args=UserData(),
    ),
    call("aclrtSnapShotCallbackUnregister", BLOCKS)(
        stage=Scalar("aclrtSnapShotStage"),
        callback=FunctionPointer(),
    ),
)
