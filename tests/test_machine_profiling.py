"""Profiling: when marks are possible, how they nest, and those in streams."""

from tests.fakes import OUT, Driver

MARKS = 0x80  # ACL_PROF_MSPROFTX
START, END = 0, 1


def running() -> Driver:
    driver = Driver().opened()
    driver.ok("aclprofInit", b"folder", 6)
    driver.ok("aclprofStart", driver.call("aclprofCreateConfig", (0, 1), 2, 1, 0, MARKS))
    return driver


def test_stamps_need_a_profiler_that_runs() -> None:
    driver = Driver().opened()
    assert driver.call("aclprofCreateStamp") == 0
    assert driver.message().startswith("aclprofCreateStamp: profiling does not run")
    driver.ok("aclprofStart", 0)  # which initialises it too
    assert driver.call("aclprofInit", b"folder", 6) == 100002
    stamp = driver.call("aclprofCreateStamp")
    assert stamp != 0
    driver.ok("aclprofMark", stamp)
    driver.ok("aclprofStop", 0)
    assert driver.call("aclprofMark", stamp) == -1
    driver.ok("aclprofFinalize")
    driver.ok("aclprofFinalize")
    driver.ok("aclprofStop", 0)
    driver.ok("aclprofInit", b"folder", 6)
    assert driver.call("aclprofCreateStamp") == 0  # initialised, not started


def test_pushes_nest() -> None:
    driver = running()
    outer, inner = driver.call("aclprofCreateStamp"), driver.call("aclprofCreateStamp")
    driver.ok("aclprofSetStampTraceMessage", outer, b"outer", 5)
    driver.ok("aclprofPush", outer)
    driver.ok("aclprofPush", inner)
    driver.ok("aclprofPop")
    driver.ok("aclprofPop", thread=2)  # one stack for all threads
    assert driver.call("aclprofPop") == -1


def test_ranges_are_known_by_the_numbers_of_their_stamps() -> None:
    driver = running()
    stamps = [driver.call("aclprofCreateStamp") for _ in range(3)]
    assert [driver.ok("aclprofRangeStart", stamp, OUT) for stamp in reversed(stamps)] == [2, 1, 0]
    driver.ok("aclprofRangeStop", 1)
    driver.ok("aclprofRangeStop", 0, thread=2)
    driver.call("aclprofDestroyStamp", stamps[1])
    assert driver.call("aclprofRangeStop", 1) == -1
    assert driver.ok("aclprofRangeStart", driver.call("aclprofCreateStamp"), OUT) == 1
    other = driver.call("aclprofCreateStamp")
    assert driver.call("aclprofRangeStop", 3) == -1
    assert driver.ok("aclprofRangeStart", other, OUT) == 3


def test_there_are_a_hundred_stamps() -> None:
    driver = running()
    stamps = [driver.call("aclprofCreateStamp") for _ in range(100)]
    assert all(stamps)
    assert driver.call("aclprofCreateStamp") == 0
    driver.call("aclprofDestroyStamp", stamps[40])
    assert driver.call("aclprofCreateStamp") != 0


def test_marks_in_streams_take_their_turn() -> None:
    driver = running()
    stream = driver.stream()
    task = driver.ok("aclrtGetThreadLastTaskId", OUT)
    driver.ok("aclprofMarkEx", b"x" * 127, 127, stream)
    step = driver.call("aclprofCreateStepInfo")
    driver.ok("aclprofGetStepTimestamp", step, END, stream)
    driver.ok("aclprofGetStepTimestamp", step, START, 0)  # null: the default stream
    assert driver.ok("aclrtGetThreadLastTaskId", OUT) == task + 3
    driver.ok("aclrtSynchronizeStream", stream)
    assert driver.call("aclprofGetStepTimestamp", step, END, stream) == 100000
    driver.call("aclprofDestroyStepInfo", step)
    assert driver.call("aclprofGetStepTimestamp", step, END, stream) == 107017


def test_ids_of_texts() -> None:
    """29 and 131 are the steps of the two halves, and bytes have signs."""
    driver = Driver()
    assert driver.call("aclprofStr2Id", b"") == 0
    assert driver.call("aclprofStr2Id", b"A") == 65 << 32 | 65
    assert driver.call("aclprofStr2Id", b"AB") == (65 * 29 + 66) << 32 | (65 * 131 + 66)
    assert driver.call("aclprofStr2Id", b"\xff") == 0xFFFF_FFFF_FFFF_FFFF
