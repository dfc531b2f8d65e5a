"""The roles of functions about events (semantics.md 1; see ``annotations.py``)."""

from typing import Final

from cannery.runtime.api.declare import BLOCKS, CONTEXT, Annotation, call
from cannery.runtime.api.roles import (
    OUT,
    CreatedHandle,
    Handle,
    Identity,
    OutScalar,
    ReleasedHandle,
    Scalar,
    Struct,
    StructByValue,
)

EVENTS: Final[tuple[Annotation, ...]] = (
    # 1. Events. What queues a task waits while its stream is full; a record also while no event id is free (1.7).
    call("aclrtCreateEvent", CONTEXT)(
        event=CreatedHandle("event"),
    ),
    call("aclrtCreateEventWithFlag", CONTEXT)(
        event=CreatedHandle("event"),
        flag=Scalar("uint32_t"),
    ),
    call("aclrtCreateEventExWithFlag", CONTEXT)(
        event=CreatedHandle("event"),
        flag=Scalar("uint32_t"),
    ),
    call("aclrtDestroyEvent")(
        event=ReleasedHandle("event"),
    ),
    call("aclrtRecordEvent", BLOCKS, CONTEXT)(
        event=Handle("event"),
        stream=Handle("stream"),
    ),
    call("aclrtRecordEventWithFlag", BLOCKS, CONTEXT)(
        event=Handle("event"),
        stream=Handle("stream"),
        flag=Scalar("uint32_t"),
    ),
    call("aclrtResetEvent", BLOCKS, CONTEXT)(
        event=Handle("event"),
        stream=Handle("stream"),
    ),
    call("aclrtStreamWaitEvent", BLOCKS, CONTEXT)(
        stream=Handle("stream"),
        event=Handle("event"),
    ),
    call("aclrtStreamWaitEventWithTimeout", BLOCKS, CONTEXT)(
        stream=Handle("stream"),
        event=Handle("event"),
        timeout=Scalar("int32_t"),
    ),
    call("aclrtStreamWaitEventWithFlag", BLOCKS, CONTEXT)(
        stream=Handle("stream"),
        event=Handle("event"),
        timeout=Scalar("uint32_t"),
        flag=Scalar("uint32_t"),
    ),
    call("aclrtSetOpWaitTimeout")(
        timeout=Scalar("uint32_t"),
    ),
    call("aclrtQueryEvent")(
        event=Handle("event"),
        status=OutScalar("aclrtEventStatus"),
    ),
    call("aclrtQueryEventStatus")(
        event=Handle("event"),
        status=OutScalar("aclrtEventRecordedStatus"),
    ),
    call("aclrtQueryEventWaitStatus")(
        event=Handle("event"),
        status=OutScalar("aclrtEventWaitStatus"),
    ),
    call("aclrtSynchronizeEvent", BLOCKS)(
        event=Handle("event"),
    ),
    call("aclrtSynchronizeEventWithTimeout", BLOCKS)(
        event=Handle("event"),
        timeout=Scalar("int32_t"),
    ),
    call("aclrtEventElapsedTime")(
        ms=OutScalar("float"),
        startEvent=Handle("event"),
        endEvent=Handle("event"),
    ),
    call("aclrtEventGetTimestamp")(
        event=Handle("event"),
        timestamp=OutScalar("uint64_t"),
    ),
    call("aclrtGetEventId")(
        event=Handle("event"),
        eventId=OutScalar("uint32_t"),
    ),
    call("aclrtGetEventAvailNum", CONTEXT)(
        eventCount=OutScalar("uint32_t"),
    ),
    call("aclrtIpcGetEventHandle")(
        event=Handle("event"),
        handle=Identity(Struct("aclrtIpcEventHandle", OUT), "key"),
    ),
    call("aclrtIpcOpenEventHandle", CONTEXT)(
        handle=Identity(StructByValue("aclrtIpcEventHandle", 64), "key"),
        event=CreatedHandle("event"),
    ),
)
