"""What a model instance has, as a file that viewers of Chrome traces show (reference page of aclmdlRIDebugJsonPrint).

Names of keys are those of the reference implementation. Times are those of the cost model, one task after the other.
"""

from typing import TYPE_CHECKING, Any, Final

from cannery.runtime.calls.graphs import live_graph, own_graph
from cannery.runtime.calls.registry import call
from cannery.runtime.errors import null, out_of_range
from cannery.runtime.graphs import Graph
from cannery.runtime.kernels import Launch
from cannery.runtime.lanes import BoundLane
from cannery.runtime.objects import Stream, Thread
from cannery.runtime.tasks import Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine

VERBOSE: Final = 0x1  # ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE
WORD: Final = 8
MICROSECOND: Final = 1000  # ns


@call("aclmdlRIDebugJsonPrint")
def debug_json_print(machine: "Machine", thread: Thread, handle: int, path: bytes | None, flags: int) -> int:
    """Of ``flags`` the reference implementation looks at one bit, and refuses none (model_aclgraph.cc, stream.cc)."""
    if not handle:
        raise null("modelRI")
    if path is None:
        raise null("path")
    graph = live_graph(machine, handle)
    own_graph(machine, thread, graph)
    if not machine.port.write_file(path, _text(graph, flags & VERBOSE != 0).encode()):
        raise out_of_range(
            "the file {} named by the argument path cannot be written; its folder has to be there",
            path.decode(errors="replace"),
        )
    return 0


def _text(graph: Graph, verbose: bool) -> str:
    """An event per line. Without the number of the process, which would be another one in every run."""
    import json  # not needed to import the machine

    events = [event for stream in graph.streams for event in _events(graph, stream, verbose)]
    return "[\n" + ",\n".join(json.dumps(event) for event in events) + "\n]\n"


def _events(graph: Graph, stream: Stream, verbose: bool) -> list[dict[str, Any]]:
    lane = stream.lane
    tasks = lane.tasks if isinstance(lane, BoundLane) else [task for task in graph.tasks if task.stream is stream]
    found = []
    begin = 0
    for number, task in enumerate(tasks):
        about = {
            "Model Id": graph.number,
            "Stream Id": stream.id.number,
            "Task Id": number,
            "Task Type": task.what.upper().replace(" ", "_"),
            **_kernel(task, verbose),
        }
        if task in graph.extended:
            about["ExtendInfo"] = graph.extended[task].decode(errors="replace")
        found.append(
            {
                "name": task.kernel.name.decode(errors="replace") if isinstance(task, Launch) else task.what,
                "pid": "aclGraph", "tid": f"stream{stream.id.number}",
                "ts": begin / MICROSECOND, "dur": task.cost / MICROSECOND, "ph": "X", "args": about,
            }
        )  # fmt: skip
        begin += task.cost
    return found


def _kernel(task: Task, verbose: bool) -> dict[str, Any]:
    """What is said of launches whose kernel has a model; of others there is nothing to tell but that they are there."""
    if not isinstance(task, Launch):
        return {}
    told: dict[str, Any] = {"Numblocks": task.blocks}
    if verbose and task.block is not None:
        words = [task.block[at : at + WORD] for at in range(0, len(task.block) - WORD + 1, WORD)]
        told["Kernel Args"] = " ".join(f"0x{int.from_bytes(word, 'little'):016x}" for word in words)
        told["Kernel Args Size"] = len(task.block)
    return told
