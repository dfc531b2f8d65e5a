"""Captures: what they keep, how streams join them, how they end and break, which calls they forbid, task groups.

Scripts are those of ``graph_tools.Script``. Sections are those of semantics.md; "documents" are the reference documents
on model running instances, "implementation" is the reference implementation where both say nothing.
"""

from itertools import product

import pytest

from tests.fakes import OUT
from tests.graph_tools import GLOBAL, RELAXED, SIZE, THREAD_LOCAL, GraphDriver, Script, opened

SCRIPTS: list[tuple[str, str, str]] = []


def script(section: str, title: str, text: str) -> None:
    SCRIPTS.append((section, title, text))


script(
    "7", "an empty capture", "begin s \n status s -> ACTIVE \n end s = m \n status s -> NONE \n execute m s \n sync s"
)
script(
    "7",
    "nothing runs in capture",
    """
    put pin 1
    put mem 2
    begin s
    async mem pin s
    pace 50
    bytes mem -> 2
    sync-device -> 107027
    end s = m
    sync s
    pace 50
    bytes mem -> 2
""",
)
script(
    "7",
    "copies read what is there when they run",
    """
    begin s
    async mem1 pin s
    async mem2 mem1 s
    end s = m
    put pin 3
    execute m s
    sync s
    bytes mem2 -> 3
    put pin 4
    execute m s0
    sync s0
    bytes mem2 -> 4
""",
)
script(
    "7",
    "a capture can begin again, into another instance",
    """
    put pin 5
    begin s
    async mem1 pin s
    end s = m
    begin s
    async mem2 pin s
    end s = n
    execute n s
    sync s
    bytes mem1 -> 0
    bytes mem2 -> 5
    execute m s
    sync s
    bytes mem1 -> 5
""",
)
script(
    "7",
    "work queued before a capture goes on beside it",
    """
    put pin 6
    wait s old
    async mem pin s
    begin s
    bytes mem -> 0
    record old s1
    sync s1
    pace 200
    bytes mem -> 6
    end s = m
""",
)

# Fork and join (7).

script(
    "7",
    "a stream joins by waiting, and with it what it does",
    """
    put pin 7
    begin s
    record e s
    status s2 -> NONE
    wait s2 e
    status s2 -> ACTIVE
    async mem pin s2
    record e2 s2
    wait s e2
    end s = m
    status s2 -> NONE
    bytes mem -> 0
    execute m s3
    sync s3
    bytes mem -> 7
""",
)
script(
    "7",
    "the last task of a stream that joined has to be a record",
    """
    begin s
    record e s
    wait s2 e
    record e2 s2
    wait s e2
    async mem pin s2
    end s -> 107025
    status s -> NONE
    status s2 -> NONE
""",
)
script(
    "7",
    "a stream that joined and did nothing is not joined back",
    "begin s \n record e s \n wait s2 e \n end s -> 107025",
)
script(
    "7",
    "a record that nobody waits for joins nothing",
    """
    begin s
    record e s
    wait s2 e
    record e2 s2
    end s -> 107025
""",
)
script(
    "7",
    "an earlier record does not count when a later one is not waited for",
    """
    begin s
    record e s
    wait s2 e
    record e2 s2
    wait s e2
    record e2 s2
    end s -> 107025
""",
)
script(
    "7",
    "a wait is for the record that was the latest then",
    """
    begin s
    record e s
    wait s2 e
    record e2 s2
    record e2 s2
    wait s e2
    end s = m
""",
)
script(
    "7",
    "streams may join over another one",
    """
    begin s
    record e s
    wait s2 e
    record e s2
    wait s3 e
    record e3 s3
    wait s2 e3
    record e2 s2
    wait s e2
    end s = m
""",
)
script(
    "7",
    "one of the last records has to be waited for by the stream of the beginning",
    """
    begin s
    record e s
    wait s2 e
    wait s3 e
    record e2 s2
    wait s3 e2
    record e3 s3
    wait s2 e3
    end s -> 107025
""",
)
script(
    "7",
    "a wait of a stream for its own record joins nothing and does no harm",
    """
    begin s
    record e s
    wait s e
    end s = m
    execute m s
    sync s
""",
)
script(
    "7",
    "a record made anew forks from there",
    """
    put pin 8
    begin s
    record e s
    async mem pin s
    record e s
    wait s2 e
    async mem2 mem s2
    record e2 s2
    wait s e2
    end s = m
    execute m s
    sync s
    bytes mem2 -> 8
""",
)
script(
    "1.9",
    "a stream has to be of the current context to join",
    """
    begin s
    record e s
    value s2
    current ctx
    wait s2 e -> 107003
    status s2 -> NONE
""",
)
script(
    "implementation",
    "a stream of another context can join",
    """
    current primary
    put pin 3
    begin s
    record e s
    current ctx
    wait s2 e
    async mem pin s2
    record e2 s2
    current primary
    wait s e2
    end s = m
    execute m s
    sync s
    bytes mem -> 3
""",
)
script(
    "1.9",
    "the default stream cannot join",
    """
    begin s
    record e s
    wait null e -> 107031
    status s -> ACTIVE
    end s = m
""",
)

# How captures end (7).

script(
    "7",
    "the end on a stream that joined is no end",
    """
    begin s
    record e s
    wait s2 e
    end s2 -> 107036
    status s -> ACTIVE
    record e2 s2
    wait s e2
    end s = m
""",
)
for mode, number in (("GLOBAL", 107038), ("THREAD_LOCAL", 107038), ("RELAXED", 0)):
    script(
        "7",
        f"another thread ends a capture of {mode}",
        f"""
        select 2
        begin s {mode}
        end s -> {number} @2
        status s -> NONE
        end s -> 107029
        memset mem
    """,
    )
script("7", "a second end finds nothing", "begin s \n end s = m \n end s -> 107029")
script(
    "1.7",
    "two captures mix by a record",
    """
    begin s
    begin s2
    record e s
    record e s2 -> 107032
    status s -> ACTIVE
    status s2 -> ACTIVE
    end s -> 507903
    end s2 -> 507903
    status s -> NONE
""",
)
script(
    "1.9",
    "two captures mix by a wait",
    """
    begin s
    begin s2
    record e s
    wait s2 e -> 107032
    end s -> 507903
    end s2 -> 507903
""",
)
script(
    "implementation",
    "nobody joins a capture that broke",
    """
    begin s
    begin s2
    record e s
    record e s2 -> 107032
    wait s3 e -> 507000
    status s3 -> NONE
    end s -> 507903
""",
)
script(
    "1.7",
    "refusals of events leave a capture as it is",
    """
    record e s3
    begin s
    record old s -> 207000
    record default s -> 207000
    wait s old -> 207000
    wait s e -> 107024
    status s -> ACTIVE
    end s = m
""",
)
script(
    "observed",
    "refusals of calls that would wait leave a capture as it is",
    """
    begin s GLOBAL
    record e s
    sync s -> 107027
    query s -> 107027
    drop s -> 107027
    sync-event e -> 107028
    query-event e -> 107028
    memset mem -> 107030
    async mem page s -> 107000
    async mem page s2 -> 107041
    end s = m
""",
)
script(
    "7",
    "an event is as others again when its capture ended",
    """
    begin s
    record e s
    query-event e -> 107028
    end s = m
    query-event e
    sync-event e
    record e s
    wait s2 e
    sync s2
""",
)
script(
    "7",
    "an event that was destroyed in capture",
    """
    put pin 9
    begin s
    record e s
    wait s2 e
    forget e
    async mem pin s2
    record e2 s2
    wait s e2
    forget e2
    end s = m
    execute m s
    sync s
    bytes mem -> 9
""",
)
script(
    "7",
    "what an event recorded before does not end with a capture",
    """
    wait s3 old
    record e s3
    begin s
    record e s
    end s = m
    elapsed e e -> 107006
    query-event e
    record old s2
    sync s3
    elapsed e e
""",
)
script(
    "1.9",
    "a wait for an event that was never recorded passes",
    """
    begin s
    wait s e
    end s = m
    execute m s
    sync s
""",
)
script(
    "1.7",
    "an event that nothing can wait for is recorded without effect",
    """
    begin s
    record progress s
    query-event progress
    wait s2 progress -> 207000
    end s = m
""",
)
script(
    "7",
    "a capture of another context",
    """
    current ctx
    begin s
    memset mem
    end s = m
    begin s2 GLOBAL
    memset mem -> 107030
    current ctx2
    memset mem
    current ctx
    end s2 = n
""",
)

# Task groups (documents, aclmdlRICaptureTaskGrpBegin).

script("documents", "an empty group", "begin s \n group s \n ungroup s = g \n end s = m \n execute m s \n sync s")
script(
    "documents",
    "only kernels can be in a group",
    """
    begin s
    group s
    async mem pin s -> 507009
    ungroup s = g
    async mem pin s
    end s = m
""",
)
script(
    "implementation",
    "a record that a group does not take breaks the capture",
    """
    begin s
    group s
    record e s -> 507009
    ungroup s -> 507903
    end s -> 507903
""",
)
script("0.1", "a capture cannot end with an open group", "begin s \n group s \n end s -> 107033 \n ungroup s -> 107029")
script(
    "0.1",
    "a group is broken by what goes to another stream of the capture",
    """
    begin s
    record e s
    wait s2 e
    group s
    async mem pin s2 -> 107034
    ungroup s -> 107034
    group s
    ungroup s -> 107034
    end s -> 507903
""",
)
script(
    "implementation",
    "a group of a capture that broke has no handle",
    """
    begin s
    begin s2
    record e s
    group s
    record e s2 -> 107032
    ungroup s -> 507903
    ungroup s -> 107033
    end s -> 507903
""",
)
script(
    "documents",
    "a group is updated",
    """
    begin s
    group s
    ungroup s = g
    end s = m
    update s2 g
    async mem pin s2 -> 507009
    update s2 g -> 107033
    update s3 g -> 107033
    begin s2 -> 107033
    updated s2
    updated s2 -> 107033
    begin s2
    end s2 = n
""",
)
script(
    "documents",
    "a group goes with its instance",
    """
    begin s
    group s
    ungroup s = g
    end s = m
    destroy m
    update s g -> 107017
""",
)


@pytest.mark.parametrize("schedule", ["asap", "late", "seed:3"])
@pytest.mark.parametrize(("section", "title", "text"), SCRIPTS, ids=[title for _, title, _ in SCRIPTS])
def test_captures(section: str, title: str, text: str, schedule: str) -> None:
    Script(opened(schedule=schedule)).play(text)


# Modes (7; documents, aclmdlRICaptureThreadExchangeMode). Whether a call that acts at once is forbidden, by the mode of
# the capture, the mode of the thread that calls, and whether that thread began the capture.

FORBIDDEN = {
    (GLOBAL, GLOBAL): "both",
    (GLOBAL, THREAD_LOCAL): "own",
    (GLOBAL, RELAXED): "none",
    (THREAD_LOCAL, GLOBAL): "own",
    (THREAD_LOCAL, THREAD_LOCAL): "own",
    (THREAD_LOCAL, RELAXED): "none",
    (RELAXED, GLOBAL): "none",
    (RELAXED, THREAD_LOCAL): "none",
    (RELAXED, RELAXED): "none",
}


@pytest.mark.parametrize(("mode", "threads", "thread"), [*product(range(3), range(3), (1, 2))])
def test_modes_forbid(mode: int, threads: int, thread: int) -> None:
    driver = opened()
    driver.ok("aclrtSetDevice", 0, thread=2)
    memory, pinned, pageable = driver.device_memory(SIZE), driver.pinned(bytes(SIZE)), driver.host.give(bytes(SIZE))
    stream, other = driver.stream(), driver.stream()
    driver.begin(stream, mode)
    assert driver.ok("aclmdlRICaptureThreadExchangeMode", threads, thread=thread) == GLOBAL
    who = FORBIDDEN[mode, threads]
    forbidden = who == "both" or (who == "own" and thread == 1)
    calls = {
        ("aclrtMemset", memory, SIZE, 0, SIZE): 107030,
        ("aclrtMemcpy", memory, SIZE, pageable, SIZE, 4): 107030,
        ("aclrtMemcpy", pageable, SIZE, pinned, SIZE, 4): 107030,
        ("aclrtMemcpyAsync", memory, SIZE, pageable, SIZE, 4, other): 107041,
        ("aclrtMemcpyAsync", memory, SIZE, pageable, SIZE, 4, 0): 107041,
        ("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 4, other): None,
        ("aclrtMemcpyAsync", memory, SIZE, pinned, SIZE, 4, stream): None,
        ("aclrtMemcpy", memory, SIZE, memory, SIZE, 4): None,
        ("aclrtFree", driver.device_memory(SIZE)): None,
    }
    for (function, *arguments), number in calls.items():
        assert driver.call(function, *arguments, thread=thread) == (number if forbidden and number else 0), function
    assert driver.ok("aclmdlRICaptureThreadExchangeMode", GLOBAL, thread=thread) == threads
    driver.end(stream)
    driver.ok("aclrtMemset", memory, SIZE, 0, SIZE)


def test_the_strictest_of_several_captures_counts() -> None:
    driver = opened()
    driver.ok("aclrtSetDevice", 0, thread=2)
    memory, relaxed, strict = driver.device_memory(SIZE), driver.stream(), driver.stream()
    driver.begin(relaxed, RELAXED)
    driver.begin(strict, THREAD_LOCAL, thread=2)
    driver.ok("aclrtMemset", memory, SIZE, 0, SIZE)
    assert driver.call("aclrtMemset", memory, SIZE, 0, SIZE, thread=2) == 107030
    driver.end(strict, thread=2)
    driver.begin(strict, GLOBAL, thread=2)
    assert driver.call("aclrtMemset", memory, SIZE, 0, SIZE) == 107030
    assert "ACL_MODEL_RI_CAPTURE_MODE_GLOBAL" in driver.message()
    driver.end(strict, thread=2)
    driver.ok("aclrtMemset", memory, SIZE, 0, SIZE, thread=2)
    driver.end(relaxed)


@pytest.mark.parametrize("breaking", ["sync s", "query s", "drop s", "sync-event e", "memset mem", "memcpy mem pin"])
def test_documented_a_refused_call_breaks_the_capture(breaking: str) -> None:
    """Section 11, capture-after-refusal."""
    for behaviour, end in (("documented", "end s -> 507903"), ("observed", "end s"), ("default", "end s")):
        script = Script(opened(behaviour=behaviour))
        script.play("begin s GLOBAL \n record e s")
        with pytest.raises(AssertionError):
            script.step(breaking)
        script.play(f"status s -> ACTIVE \n {end} \n status s -> NONE")


# Streams that captures need for themselves (documents, aclmdlRICaptureBegin).


def fill(driver: GraphDriver, left: int) -> list[int]:
    """Take streams of the device until ``left`` are left."""
    device = driver.machine.devices[0]
    return [driver.stream() for _ in range(driver.machine.profile.streams - device.streams - left)]


def test_no_stream_left_for_a_capture() -> None:
    driver = opened()
    stream, side, event = driver.stream(), driver.stream(), driver.ex()
    spare = fill(driver, 0)
    assert driver.call("aclmdlRICaptureBegin", stream, RELAXED) == 207008
    assert driver.status(stream) == 0
    driver.ok("aclrtDestroyStream", spare.pop())
    driver.begin(stream)
    driver.ok("aclrtRecordEvent", event, stream)
    assert driver.call("aclrtStreamWaitEvent", side, event) == 207008
    assert driver.status(side) == 0
    driver.fails(stream, 507903)
    driver.ok("aclmdlRICaptureBegin", stream, RELAXED)
    driver.ok("aclmdlRIDestroy", driver.end(stream))
    assert driver.stream()


def test_a_long_capture_takes_more_streams_and_breaks_without() -> None:
    driver = opened(product="A2")
    memory, pinned = driver.device_memory(8), driver.pinned(bytes(8))
    driver.machine.depth = 100
    stream = driver.stream()

    def capture(tasks: int) -> None:
        driver.begin(stream)
        for _ in range(tasks):
            driver.ok("aclrtMemcpyAsync", memory, 8, pinned, 8, 1, stream)

    capture(300)
    model = driver.end(stream)
    assert driver.ok("aclmdlRIGetStreams", model, 0, 0)[1] == 4
    driver.run(model)
    driver.ok("aclmdlRIDestroy", model)
    fill(driver, 1)
    capture(92)
    assert driver.status(stream) == 1
    assert driver.call("aclrtMemcpyAsync", memory, 8, pinned, 8, 1, stream) == 207008
    assert driver.status(stream) == 2, "INVALIDATED"
    driver.fails(stream, 507903)


# What ends captures from outside.


def test_a_capture_ends_with_its_context() -> None:
    driver = opened()
    other = driver.other_context()
    driver.ok("aclrtSetCurrentContext", other)
    stream, side, memory = driver.stream(), driver.stream(), driver.device_memory(SIZE)
    driver.begin(stream, GLOBAL)
    event = driver.crossing(stream, side)
    model = driver.model_of(stream)
    driver.ok("aclrtDestroyContext", other)
    assert not driver.machine.captures
    assert driver.call("aclmdlRIDestroy", model) == 107017
    assert driver.call("aclmdlRICaptureEnd", stream, OUT) == 107017
    driver.ok("aclrtSetDevice", 0)
    driver.ok("aclrtMemset", memory, SIZE, 0, SIZE)
    driver.ok("aclrtSynchronizeEvent", event)


def test_a_capture_ends_with_its_device() -> None:
    driver = opened()
    stream = driver.stream()
    driver.begin(stream, GLOBAL)
    driver.crossing(stream, driver.stream())
    driver.ok("aclrtResetDevice", 0)
    assert not driver.machine.captures and not driver.machine.graphs and not driver.machine.streams
    driver.ok("aclrtSetDevice", 0)
    assert driver.machine.devices[0].streams == 1


def test_captured_streams_do_not_fill() -> None:
    """A capture takes more tasks than a queue has room for (documents)."""
    driver = opened()
    driver.machine.depth = 20
    memory, pinned, stream = driver.device_memory(8), driver.pinned(b"12345678"), driver.stream()
    gate = driver.gate(stream)
    for _ in range(18):
        driver.ok("aclrtMemcpyAsync", memory, 8, pinned, 8, 1, stream)
    driver.begin(stream)
    for _ in range(50):
        driver.ok("aclrtMemcpyAsync", memory, 8, pinned, 8, 1, stream)
    model = driver.end(stream)
    driver.ok("aclrtRecordEvent", gate, 0)
    driver.run(model, stream)
    assert driver.get(memory, 8) == b"12345678"


@pytest.mark.parametrize("product", ["310B", "910"])
def test_products_without_capture(product: str) -> None:
    """Section 8."""
    driver = opened(product=product)
    stream = driver.stream()
    assert driver.call("aclmdlRICaptureBegin", stream, RELAXED) == 207000
    assert driver.call("aclmdlRICaptureBegin", 0, RELAXED) == 207000
    assert driver.call("aclmdlRICaptureEnd", stream, OUT) == 207000
    assert driver.call("aclmdlRICaptureGetInfo", stream, OUT, OUT) == 207000


@pytest.mark.parametrize("product", ["950PR", "950DT", "A3", "A2", "310P"])
def test_products_with_capture(product: str) -> None:
    driver = opened(product=product)
    memory, pinned, stream = driver.device_memory(8), driver.pinned(b"12345678"), driver.stream()
    driver.begin(stream)
    driver.ok("aclrtMemcpyAsync", memory, 8, pinned, 8, 1, stream)
    driver.run(driver.end(stream))
    assert driver.get(memory, 8) == b"12345678"
