"""Conditional tasks of captures: which child instance runs is decided by a number in device memory when the task runs.

A capture makes conditions, each with 8 bytes of device memory (reference page of aclmdlRICondHandleCreate). A task of
the capture is tied to one and gets its child instances, which are captured by themselves
(aclmdlRICaptureToModelRIBegin) and run as part of the instance: their tasks are queued on their own streams when the
task takes effect, and a gate behind it opens when the last of them is done.

    stream of the instance:    ... branch      gate (waits for the tail)  ...
    stream of the child:                 tasks ... end  tail

Which child it is: of "if" the first where the number is not 0, else the second, if there is one; of "while" the only
one, as long as the number is not 0; of "switch" that with the number as its place, if there is one.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from cannery.runtime import graphs, kept
from cannery.runtime.errors import ACL_ERROR_RT_MODEL_EXECUTE, Refused
from cannery.runtime.flow import MOST_JUMPS
from cannery.runtime.graphs import Flow, Graph
from cannery.runtime.memory_tasks import gone
from cannery.runtime.tasks import Gated, Record, Task

if TYPE_CHECKING:
    from cannery.runtime.machine import Machine
    from cannery.runtime.places import Allocation
    from cannery.runtime.reach import Walk

# aclmdlRICondTaskType
IF: Final = 0
WHILE: Final = 1
SWITCH: Final = 2

SIZE: Final = 8  # bytes of the number


class Condition(kept.Kept):
    """What a conditional task looks at. ``graph``: the instance that it belongs to. ``assigned``: each run sets it to
    ``default`` first. ``children``: the instances of its task, none before there is one, which is of that ``kind``."""

    __slots__ = ("allocation", "assigned", "children", "default", "graph", "handle", "kind")

    def __init__(self, handle: int, graph: Graph, allocation: "Allocation", default: int, assigned: bool) -> None:
        self.handle = handle
        self.graph: Graph | None = graph
        self.allocation = allocation
        self.default = default
        self.assigned = assigned
        self.kind = IF
        self.children: list[Graph] = []

    def chosen(self, number: int) -> Graph | None:
        """The child that runs for a number."""
        if self.kind == SWITCH:
            place = number
        elif number:
            place = 0
        else:
            place = 1 if self.kind == IF else len(self.children)
        return self.children[place] if place < len(self.children) else None


def every(graph: Graph) -> Iterator[Condition]:
    """The conditions of an instance and of all below it."""
    for condition in graph.conditions:
        yield condition
        for child in condition.children:
            yield from every(child)


def close(machine: "Machine", graph: Graph) -> None:
    """End an instance, which is not running, and what is below it."""
    for condition in graph.conditions:
        del machine.conditions[condition.handle]
        for child in condition.children:
            child.condition = None
            close(machine, child)
        condition.children = []
        condition.graph = None
        if condition.allocation.live:
            machine.memory.free(condition.allocation)
    graph.conditions = []
    graphs.close(machine, graph)


class Assign(Task):
    """Sets a condition to its default when a run begins."""

    __slots__ = ("condition",)

    writes = True
    what = "default of a condition"

    condition: Condition

    def effect(self, machine: "Machine") -> Refused | None:
        condition = self.condition
        place = machine.memory.place(condition.allocation.address)
        if not place.holds(SIZE):
            return gone(self.what, SIZE, place)
        machine.memory.store(place, condition.default.to_bytes(SIZE, "little"))
        return None


def assignments(graph: Graph) -> list[Task]:
    """What each run of an instance does before its tasks."""
    found: list[Task] = []
    for condition in every(graph):
        if condition.assigned:
            assign = Assign()
            assign.condition = condition
            assign.cost = 0
            assign.stream = graph.heads[0]
            found.append(assign)
    return found


def decide(machine: "Machine", task: Flow, condition: Condition, gate: "Join | None") -> Refused | None:
    """Queue the child that the number asks for now; open the gate if there is none."""
    place = machine.memory.place(condition.allocation.address)
    child = None
    failure = None
    if not place.holds(SIZE):
        failure = gone("condition", SIZE, place)
    else:
        content = machine.memory.load(place, SIZE)
        assert content is not None, "device memory that is there is readable"
        child = condition.chosen(int.from_bytes(content, "little"))
    if gate is None:
        return failure  # it was dropped
    if child is None:
        _open(machine, gate, task)
        return failure
    return _start(machine, task, condition, child, gate)


def _open(machine: "Machine", gate: "Join", task: Task) -> None:
    """Let the stream of a conditional task go on. Where ``task``, which takes effect just now, is directly before the
    gate, that is not waiting yet."""
    gate.branch = gate.tail = None
    if task.stream is not gate.stream:
        machine.schedule.opened(gate, task.finish)


def _start(machine: "Machine", task: Flow, condition: Condition, child: Graph, gate: "Join") -> Refused | None:
    run = task.run
    gate.rounds += 1
    if gate.rounds > MOST_JUMPS:
        _open(machine, gate, task)
        return Refused(
            ACL_ERROR_RT_MODEL_EXECUTE,
            "a loop in a run of the model instance {:#x} went round {} times; Cannery ends it there",
            run.graph.handle, MOST_JUMPS,
        )  # fmt: skip
    tail = Tail()
    tail.run = run
    tail.condition = condition
    tail.gate = gate
    tail.cost = 0
    tail.stream = child.heads[0]
    gate.branch = None
    gate.tail = tail
    run.tasks = [one for one in run.tasks if not one.done]
    for stream in child.heads:
        stream.serves = run
    records: dict[Record, Record] = {}
    for each in child.tasks:
        made = graphs.again(machine, run, each, records, child)
        if made is not None:
            made.stream = each.stream
            run.tasks.append(made)
            machine.schedule.follow(made, task)
    run.tasks.append(tail)
    machine.schedule.follow(tail, task)
    return None


class Branch(Flow):
    """aclmdlRIAddCondTask: begins the child that the condition asks for. ``gate`` is directly behind it; ``made`` is,
    of a task that an instance keeps, the gate that the next task of the run will be."""

    __slots__ = ("condition", "gate", "made")

    what = "conditional task"

    condition: Condition
    gate: "Join | None"
    made: "Join | None"

    def effect(self, machine: "Machine") -> Refused | None:
        gate, self.gate = self.gate, None
        return decide(machine, self, self.condition, gate)

    def happened(self, walk: "Walk") -> None:
        """What it begins is not followed."""
        walk.done.add(self.number)

    def dropped(self, machine: "Machine") -> None:
        self.gate = None

    def again(self, machine: "Machine", records: dict[Record, Record]) -> "Branch":
        """With its gate: some schedules run a task before the one behind it is queued."""
        made = Branch()
        made.condition = self.condition
        made.cost = self.cost
        made.made = None
        made.gate = self.made = gate = Join()
        gate.stream = self.stream
        gate.cost = 0
        gate.open = False
        gate.limit = gate.rounds = 0
        gate.branch = made
        gate.tail = None
        return made


class Join(Gated):
    """Holds its stream until what ``branch`` began is done: ``tail`` is the last of it. Both are None once that is so.
    ``rounds``: how often a child was begun."""

    __slots__ = ("branch", "rounds", "tail")

    inert = True
    what = "end of a conditional task"

    branch: Branch | None
    rounds: int
    tail: "Tail | None"

    def closed(self) -> bool:
        return self.branch is not None or self.tail is not None

    def enrol(self) -> None:
        pass  # who opens it knows it

    def needs(self) -> Sequence[Task]:
        return () if self.tail is None else (self.tail,)

    def may_open(self, walk: "Walk") -> bool:
        if self.tail is None:
            return self.branch is not None and self.branch.number in walk.done
        walk.visit(self.tail.stream)
        return self.tail.number in walk.done

    def again(self, machine: "Machine", records: dict[Record, Record]) -> "Join":
        assert self.branch is not None, "kept, and so never queued"
        made, self.branch.made = self.branch.made, None
        assert made is not None, "made before this"
        return made

    def dropped(self, machine: "Machine") -> None:
        if self.branch is not None:
            self.branch.gate = None
        if self.tail is not None:
            self.tail.gate = None
        self.branch = self.tail = None


class Tail(Flow):
    """Behind the end of a child: begins it again, or lets the stream of the conditional task go on."""

    __slots__ = ("condition", "gate")

    what = "end of a child instance"

    condition: Condition
    gate: Join | None

    def effect(self, machine: "Machine") -> Refused | None:
        gate, self.gate = self.gate, None
        if self.condition.kind == WHILE:
            return decide(machine, self, self.condition, gate)
        if gate is not None:
            _open(machine, gate, self)
        return None

    def happened(self, walk: "Walk") -> None:
        walk.done.add(self.number)

    def dropped(self, machine: "Machine") -> None:
        if self.gate is not None:
            self.gate.tail = None
            machine.schedule.returned(self.gate)
            self.gate = None
