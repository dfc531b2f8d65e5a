"""Threads of the program for what loaded models have done on the host (reference pages of the functions named).

Only IPV350 has these calls, for models that are loaded by ``aclmdl*`` functions outside of the runtime API. So streams
can be subscribed, but nothing is ever handed to a thread here: a wait for it ends with its limit. Numbers and the order
of checks are those of the public implementation for that product.
"""

from typing import TYPE_CHECKING, Final

from cannery.runtime.calls.registry import call
from cannery.runtime.calls.streams import live_stream
from cannery.runtime.errors import (
    ACL_ERROR_RT_REPORT_TIMEOUT,
    ACL_ERROR_RT_STREAM_SUBSCRIBE,
    Refused,
    out_of_range,
)
from cannery.runtime.objects import Stream, Thread
from cannery.runtime.waits import Given, Reply, Until

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

ENDLESS: Final = -1


def _named(machine: "Machine", handle: int) -> Stream:
    """The stream of that handle. Null does not stand for the default stream here.

    Raises:
        Refused: 107000, 107017.
    """
    if not handle:
        raise out_of_range("the argument exeStream is null; pass a stream that aclrtCreateStreamV2 made")
    return live_stream(machine, handle)


@call("aclrtSubscribeHostFunc")
def subscribe_host_func(machine: "Machine", thread: Thread, thread_id: int, handle: int) -> int:
    """Beside a subscription for callbacks, which is another one."""
    stream = _named(machine, handle)
    if stream.host_thread is not None:
        raise Refused(
            ACL_ERROR_RT_STREAM_SUBSCRIBE,
            "the stream {:#x} is subscribed already; call aclrtUnSubscribeHostFunc with the thread it has first",
            handle,
        )
    stream.host_thread = thread_id
    return 0


@call("aclrtUnSubscribeHostFunc")
def unsubscribe_host_func(machine: "Machine", thread: Thread, thread_id: int, handle: int) -> int:
    stream = _named(machine, handle)
    if stream.host_thread != thread_id:
        raise Refused(
            ACL_ERROR_RT_STREAM_SUBSCRIBE,
            "the stream {:#x} is not subscribed for that thread; pass the id that aclrtSubscribeHostFunc got",
            handle,
        )
    stream.host_thread = None
    return 0


class Never(Until):
    """Nothing that the runtime API has brings it about."""

    __slots__ = ()

    def holds(self, machine: "Machine") -> bool:
        return False


@call("aclrtProcessHostFunc")
def process_host_func(machine: "Machine", thread: Thread, timeout: int) -> Reply:
    """``timeout`` in ms, -1 for none. A thread that no stream is subscribed for waits like any other."""
    if timeout < ENDLESS or not timeout:
        raise out_of_range("the argument timeout is {}; pass -1 for no limit, or milliseconds above 0", timeout)
    expired = Refused(
        ACL_ERROR_RT_REPORT_TIMEOUT,
        "nothing was to be run within {} ms: only a loaded model (aclmdlExecuteV2) brings something, and Cannery "
        "executes none",
        timeout,
    )
    return machine.wait_until(thread, "aclrtProcessHostFunc", Never(), Given(0), timeout, expired)
