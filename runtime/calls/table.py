"""The table of calls: which handler answers which function.

The modules beside this one have the handlers, by chapter; importing one registers its handlers. A handler is a function
``(machine, thread, *arguments)`` with one argument per C parameter, registered under the C name. It makes its checks in
the order of semantics.md, raises ``Refused`` for the first that fails, and changes the model only after the last check,
so that a refused call leaves it as it was. Its reply is the return value, or a tuple of it and one value per output
parameter, or a ``Wait``.
"""

from typing import TYPE_CHECKING

from cannery.runtime.calls import (
    allocators,
    architectures,
    batches,
    binaries,
    binary_functions,
    building,
    cache,
    callbacks,
    capture,
    channels,
    conditional_tasks,
    contexts,
    copies,
    copies_2d,
    copies_indirect,
    core_groups,
    counting,
    data_buffers,
    data_types,
    datasets,
    device_attributes,
    device_ids,
    device_state,
    devices,
    errors,
    event_queries,
    event_records,
    events,
    exceptions,
    flow,
    graph_json,
    graph_tasks,
    graphs,
    host_memory,
    host_threads,
    initialisation,
    ipc_events,
    ipc_memory,
    kernel_arguments,
    last_tasks,
    launches,
    limits,
    log,
    memory,
    memory_info,
    notifies,
    overflow,
    parameters,
    peers,
    pools,
    profiling,
    profiling_marks,
    queue_objects,
    queue_routes,
    queues,
    random_numbers,
    recovery,
    setting,
    shareable_memory,
    shared_buffers,
    sharing,
    snapshots,
    state_callbacks,
    stream_attributes,
    stream_configurations,
    stream_memory,
    streams,
    symbols,
    task_updates,
    versions,
    virtual_memory,
)
from cannery.runtime.calls.registry import EVERYWHERE, HANDLERS, absent, bound, told

if TYPE_CHECKING:
    from cannery.runtime.machine import Handler, Machine

__all__ = [
    "HANDLERS",
    "allocators",
    "architectures",
    "batches",
    "binaries",
    "binary_functions",
    "bind",
    "building",
    "cache",
    "callbacks",
    "capture",
    "channels",
    "conditional_tasks",
    "contexts",
    "copies",
    "copies_2d",
    "copies_indirect",
    "core_groups",
    "counting",
    "data_buffers",
    "data_types",
    "datasets",
    "device_attributes",
    "device_ids",
    "device_state",
    "devices",
    "errors",
    "event_queries",
    "event_records",
    "events",
    "exceptions",
    "flow",
    "graph_json",
    "graph_tasks",
    "graphs",
    "host_memory",
    "host_threads",
    "initialisation",
    "ipc_events",
    "ipc_memory",
    "kernel_arguments",
    "last_tasks",
    "launches",
    "limits",
    "log",
    "memory",
    "memory_info",
    "notifies",
    "overflow",
    "parameters",
    "peers",
    "pools",
    "profiling",
    "profiling_marks",
    "queue_objects",
    "queue_routes",
    "queues",
    "random_numbers",
    "recovery",
    "setting",
    "shareable_memory",
    "shared_buffers",
    "sharing",
    "snapshots",
    "state_callbacks",
    "stream_attributes",
    "stream_configurations",
    "stream_memory",
    "streams",
    "symbols",
    "task_updates",
    "tell",
    "versions",
    "virtual_memory",
]


def bind(machine: "Machine") -> "list[Handler | None]":
    """One handler per function of the API model, in its order; None where there is no implementation."""
    from cannery.runtime.api import MODEL  # takes longer to import than all of the machine

    handlers: list[Handler | None] = []
    for function in MODEL.functions:
        handler = HANDLERS.get(function.name)
        absent_here = machine.profile.name not in function.products and function.name not in EVERYWHERE
        if handler is not None and absent_here:
            handler = absent(function.returns)
        handlers.append(None if handler is None else bound(machine, function.name, handler, len(function.params)))
    return handlers


def tell(machine: "Machine") -> None:
    """Have each handler of the machine say its name."""
    from cannery.runtime.api import MODEL

    for function in MODEL.functions:
        handler = machine.handlers[function.index]
        if handler is not None:
            machine.handlers[function.index] = told(machine, function.name, handler)
