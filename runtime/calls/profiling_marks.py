"""Marks that the program leaves in streams for a profiler (reference page of aclrtProfTrace).

They take their turn and have no effect; what they say is in the trace.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import named_stream, submission_stream
from cannery.runtime.errors import null, out_of_range
from cannery.runtime.memory_tasks import Turn
from cannery.runtime.objects import Thread

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

LONGEST: Final = 18  # bytes


@call("aclrtProfTrace")
def prof_trace(machine: "Machine", thread: Thread, data: bytes | None, length: int, stream_handle: int) -> int:
    if data is None:
        raise null("userdata")
    machine.hold()
    if not 0 < length <= LONGEST:
        raise out_of_range("the argument length is {}; a mark has from 1 to {} bytes", length, LONGEST)
    named = named_stream(machine, stream_handle)
    stream = submission_stream(machine, machine.context_of(thread), stream_handle, named)
    task = Turn()
    task.cost = machine.profile.event_ns
    task.stream = stream
    machine.schedule.submit(task)
    return 0
