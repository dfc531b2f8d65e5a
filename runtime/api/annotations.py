"""What a header cannot say about a function: the role of every parameter, and how the call behaves.

One line per parameter, under its C name and in the order of the prototype; the model checks both. ``BLOCKS``: the call
may wait for something other than the snapshot lock. ``CONTEXT``: without a current context the call answers 107002.
The sources are the sections of the semantics that the headings name. A function that is not here has the roles that
its C types imply, and raw pointers.
"""

from typing import Final

from cannery.runtime.api.callbacks import CALLBACKS
from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.devices import DEVICES
from cannery.runtime.api.events import EVENTS
from cannery.runtime.api.graphs import GRAPHS
from cannery.runtime.api.kernels import KERNELS
from cannery.runtime.api.mapped_memory import MAPPED_MEMORY
from cannery.runtime.api.memory import MEMORY
from cannery.runtime.api.notifies import NOTIFIES
from cannery.runtime.api.parameters import PARAMETERS
from cannery.runtime.api.profiling import PROFILING
from cannery.runtime.api.queues import QUEUES
from cannery.runtime.api.roles import (
    CreatedHandle,
    CString,
    Handle,
    HandleOut,
    OutScalar,
    Raw,
    ReleasedHandle,
    Scalar,
)
from cannery.runtime.api.shared_memory import SHARED_MEMORY
from cannery.runtime.api.small_objects import SMALL_OBJECTS
from cannery.runtime.api.snapshots import SNAPSHOTS
from cannery.runtime.api.streams import STREAMS

__all__ = ["ANNOTATIONS", "BLOCKS", "CONTEXT", "Annotation", "call"]

ANNOTATIONS: Final = (
    # 4. Initialisation, device, context; 0.2 for the last error. What ends a context waits for its host functions.
    call("aclInit")(
        configPath=CString(),
    ),
    call("aclFinalize")(),
    call("aclFinalizeReference")(
        refCount=OutScalar("uint64_t"),
    ),
    call("aclrtGetVersion")(
        majorVersion=OutScalar("int32_t"),
        minorVersion=OutScalar("int32_t"),
        patchVersion=OutScalar("int32_t"),
    ),
    call("aclGetRecentErrMsg")(),
    call("aclrtPeekAtLastError")(
        level=Scalar("aclrtLastErrLevel"),
    ),
    call("aclrtGetLastError")(
        level=Scalar("aclrtLastErrLevel"),
    ),
    call("aclrtCreateContext", BLOCKS)(
        context=CreatedHandle("context"),
        deviceId=Scalar("int32_t"),
    ),
    call("aclrtDestroyContext", BLOCKS)(
        context=ReleasedHandle("context"),
    ),
    call("aclrtSetCurrentContext")(
        context=Handle("context"),
    ),
    call("aclrtGetCurrentContext", CONTEXT)(
        context=HandleOut("context"),
    ),
    call("aclrtSynchronizeDevice", BLOCKS, CONTEXT)(),
    call("aclrtSynchronizeDeviceWithTimeout", BLOCKS, CONTEXT)(
        timeout=Scalar("int32_t"),
    ),
    # The log: the exports format the text, so that what arrives as fmt is complete. The name of the calling function
    # stays raw: a request of the shim has room for two texts, and file and line say the same.
    call("aclAppLog")(
        logLevel=Scalar("aclLogLevel"),
        func=Raw(),
        file=CString(),
        line=Scalar("uint32_t"),
        fmt=CString(),
    ),
    call("aclAppLogWithArgs")(
        logLevel=Scalar("aclLogLevel"),
        func=Raw(),
        file=CString(),
        line=Scalar("uint32_t"),
        fmt=CString(),
        args=Raw(),
    ),
    *CALLBACKS,
    *DEVICES,
    *STREAMS,
    *EVENTS,
    *MEMORY,
    *NOTIFIES,
    *GRAPHS,
    *MAPPED_MEMORY,
    *PARAMETERS,
    *SMALL_OBJECTS,
    *QUEUES,
    *PROFILING,
    *KERNELS,
    *SHARED_MEMORY,
    *SNAPSHOTS,
)
