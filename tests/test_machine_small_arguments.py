"""Calls about allocators, data buffers, faults of devices, architectures, random numbers and marks with arguments they
refuse, as in ``test_machine_arguments.py``."""

from struct import pack

import pytest

from cannery.runtime.api import MODEL
from tests.fakes import OUT, Driver
from tests.test_machine_arguments import A, R, Row, World, check_refused

PAGE, CODE = "reference page", "reference implementation"
NO_FAULT = (1, 0, bytes(2), 0, bytes(2568))  # aclrtErrorInfo
FLOAT, INT32, INT8 = 0, 3, 2
DROPOUT, UNIFORM, NORMAL = 0, 1, 2

ROWS: list[Row] = []


def rows(section: str, function: str, *cases: tuple[object, ...], thread: int = 1) -> None:
    for *arguments, number, layer in cases:
        ROWS.append((section, function, tuple(arguments), int(str(number)), bool(layer), thread))


# Allocators. What is no description is refused with 107017, where the reference implementation crashes.

for function in ("Obj", "AllocFunc", "FreeFunc", "AllocAdviseFunc", "GetAddrFromBlockFunc"):
    rows(
        CODE, f"aclrtAllocatorSet{function}ToDesc",
        ("null", "null", 100000, A), ("null", "function", 100000, A), ("description", "null", 100000, A),
        ("stream", "function", 107017, R), ("gone description", "null", 107017, R), ("nowhere", "function", 107017, R),
    )  # fmt: skip
rows(CODE, "aclrtAllocatorDestroyDesc", ("null", 100000, A), ("gone description", 107017, R), ("buffer", 107017, R))
rows(
    CODE, "aclrtAllocatorRegister",
    ("null", "null", 100000, A), ("stream", "null", 100000, A), ("null", "full description", 100000, A),
    ("stream", "gone description", 107017, R), ("stream", "description", 100000, A),
)  # fmt: skip
rows(CODE, "aclrtAllocatorUnregister", ("null", 100000, A))
rows(
    CODE, "aclrtAllocatorGetByStream",
    ("null", "null", *["out"] * 5, 100000, A), ("stream", "null", *["out"] * 5, 100000, A),
    ("null", *["out"] * 6, 100000, A), ("stream", *["out"] * 6, 100000, A), ("gone stream", *["out"] * 6, 100000, A),
)  # fmt: skip

# Data buffers.

rows(CODE, "aclDestroyDataBuffer", ("null", 100000, A), ("gone buffer", 107017, R), ("description", 107017, R))
rows(
    CODE, "aclUpdateDataBuffer",
    ("null", "memory", 4, 100000, A), ("gone buffer", "memory", 4, 107017, R), ("stream", 0, 0, 107017, R),
)  # fmt: skip

# Faults of devices; architectures; access by tables.

rows(
    CODE, "aclrtGetMemUceInfo",
    (0, "null", 1, "out", 100000, A), (9, "out", 1, "null", 100000, A), (2, "out", 1, "out", 107001, R),
    (-1, "out", 0, "out", 107001, R),
)  # fmt: skip
rows(
    CODE, "aclrtMemUceRepair",
    (0, None, 0, 100000, A), (0, (), 129, 100000, A), (9, ((True, 8, (0,) * 13 + (1,)),), 1, 100000, A),
    (2, (), 0, 107001, R), (0, ((True, 8, (0,) * 14),), 1, 107000, R),
)  # fmt: skip
rows(CODE, "aclrtGetErrorVerbose", (0, "null", 100000, A), (2, "out", 107001, R), (-1, "out", 107001, R))
rows(
    CODE, "aclrtRepairError",
    (0, None, 100000, A), (9, (0, *NO_FAULT[1:]), 107000, R), (2, NO_FAULT, 107001, R),
    (0, (1, 0, bytes(2), 1, bytes(2568)), 107000, R),
)  # fmt: skip
rows(
    CODE, "aclrtCheckArchCompatibility",
    (None, "out", 107000, R), (None, "null", 107000, R), (b"Ascend910B1", "null", 107000, R), (b"", "out", 107000, R),
    (b"Ascend", "out", 107000, R), (b"\xff", "out", 107000, R),
)  # fmt: skip
rows(
    CODE, "aclrtMemP2PMap",
    ("null", 4, 1, 0, 100000, A), ("memory", 0, 9, 0, 100000, A), ("memory", 4, 9, 1, 100000, A),
    ("memory", 4, 2, 0, 107001, R), ("memory", 4, -1, 0, 107001, R), ("freed", 4, 1, 0, 507899, R),
    ("memory", 1 << 20, 1, 0, 507899, R), ("pageable", 4, 1, 0, 507899, R), ("memory", 4, 1, 0, 507899, R),
)  # fmt: skip

# Marks.

rows(
    CODE, "aclrtProfTrace",
    (None, 1, 0, 100000, A), (None, 99, "gone stream", 100000, A), (b"", 0, "gone stream", 107000, R),
    (b"", -1, 0, 107000, R), (b"x" * 19, 19, 0, 107000, R), (b"x", 1, "gone stream", 107017, R),
    (b"x", 1, "sync", 107017, R), (b"x", 1, "foreign", 107003, R),
)  # fmt: skip
rows(CODE, "aclrtProfTrace", (b"x", 1, 0, 107002, R), (b"x", 1, "stream", 107002, R), thread=2)


def value(content: bytes, size: int | None = None, indirect: int = 0) -> bytes:
    """An aclrtRandomParaInfo."""
    return pack("<B8sB6x", indirect, content, len(content) if size is None else size)


def information(
    element: int, function: int, first: bytes, second: bytes, result: int, counter: int, **other: bytes | int
) -> bytes:
    """An aclrtRandomNumTaskInfo of 16 numbers with seed 1."""
    seed, count = other.get("seed", value(pack("<Q", 1))), other.get("count", value(pack("<Q", 16)))
    parameters = other.get("parameters", 0)
    head = pack("<ii", element, function) + (first + second).ljust(32, b"\0")
    return head + pack("<QQQ", parameters, result, counter) + bytes(seed) + bytes(count) + bytes(8)


ONE, TWO = value(pack("<f", 1.0)), value(pack("<f", 2.0))


class RandomWorld(World):
    """Knows requests for random numbers too, each wrong in one way."""

    def __init__(self, behaviour: str) -> None:
        super().__init__(behaviour)
        driver = self.driver
        result, counter = driver.device_memory(64), driver.device_memory(16)
        freed, pinned = driver.device_memory(64), self.names["pinned"]
        driver.ok("aclrtFree", freed)
        self.names["freed"] = freed
        good = information(FLOAT, UNIFORM, ONE, TWO, result, counter)
        whole = value(pack("<i", 1))
        wrong = {
            "good": good, "type": information(INT8, UNIFORM, ONE, TWO, result, counter),
            "function": information(FLOAT, 4, ONE, TWO, result, counter),
            "whole normal": information(INT32, NORMAL, whole, whole, result, counter),
            "no result": information(FLOAT, UNIFORM, ONE, TWO, 0, counter),
            "no counter": information(FLOAT, UNIFORM, ONE, TWO, result, 0),
            "seed": information(FLOAT, UNIFORM, ONE, TWO, result, counter, seed=value(b"x" * 8, 9)),
            "count": information(FLOAT, UNIFORM, ONE, TWO, result, counter, count=value(b"", 0)),
            "first": information(FLOAT, UNIFORM, value(b"x" * 5), TWO, result, counter),
            "second": information(FLOAT, UNIFORM, ONE, value(b"x", 1, 2), result, counter),
            "ratio": information(FLOAT, DROPOUT, value(b"x" * 8), b"", result, counter),
            "freed result": information(FLOAT, UNIFORM, ONE, TWO, freed, counter),
            "host counter": information(FLOAT, UNIFORM, ONE, TWO, result, pinned),
            "freed parameters": information(FLOAT, UNIFORM, ONE, TWO, result, counter, parameters=freed),
        }  # fmt: skip
        self.names.update({f"request: {name}": driver.host.give(content) for name, content in wrong.items()})
        description = driver.call("aclrtAllocatorCreateDesc")
        full = driver.call("aclrtAllocatorCreateDesc")
        for part in ("Obj", "AllocFunc", "FreeFunc", "GetAddrFromBlockFunc"):
            driver.ok(f"aclrtAllocatorSet{part}ToDesc", full, 0x1000)
        gone, buffer = driver.call("aclrtAllocatorCreateDesc"), driver.call("aclCreateDataBuffer", 0, 0)
        gone_buffer = driver.call("aclCreateDataBuffer", 0, 0)
        driver.ok("aclrtAllocatorDestroyDesc", gone)
        driver.ok("aclDestroyDataBuffer", gone_buffer)
        self.names.update({"description": description, "full description": full, "gone description": gone})
        self.names.update({"buffer": buffer, "gone buffer": gone_buffer})


rows(
    CODE, "aclrtRandomNumAsync",
    ("null", 0, 0, 100000, A), ("null", "gone stream", 1, 100000, A), ("nowhere", 0, 0, 507899, R),
    ("request: type", "gone stream", 1, 100000, A), ("request: good", "gone stream", 1, 107017, R),
    ("request: good", "sync", 0, 107017, R), ("request: good", 0, 1, 107000, R),
    ("request: good", "foreign", 0, 107003, R), ("request: function", "foreign", 0, 107003, R),
    *((f"request: {name}", 0, 0, 107000, R) for name in (
        "function", "whole normal", "no result", "no counter", "seed", "count", "first", "second", "ratio",
    )),
    *((f"request: {name}", 0, 0, 507899, R) for name in ("freed result", "host counter", "freed parameters")),
)  # fmt: skip
rows(CODE, "aclrtRandomNumAsync", ("request: good", "stream", 0, 107002, R), thread=2)

# The task that the thread submitted last; none of these threads' tasks is in a model instance.

rows(CODE, "aclrtGetThreadLastTaskId", ("null", 107000, R))
rows(
    CODE, "aclrtCacheLastTaskOpInfo",
    (None, 4, 100000, A), (None, 0, 100000, A), (b"", 0, 100000, A), (bytes(65537), 65537, 107000, R),
    (b"info", 4, 507000, R),
)  # fmt: skip
rows(CODE, "aclrtCacheLastTaskOpInfo", (b"", 0, 100000, A), (b"info", 4, 107002, R), thread=2)
rows(
    CODE, "aclrtCacheLastTaskExtendInfo",
    (None, 4, 107000, R), (None, 0, 107000, R), (b"", 0, 107000, R), (b"{}", 2, 507000, R),
    (b"x" * 5000, 5000, 507000, R),
)  # fmt: skip
rows(CODE, "aclrtCacheLastTaskExtendInfo", (b"", 0, 107000, R), (b"{}", 2, 107002, R), thread=2)


@pytest.mark.parametrize("behaviour", ["documented", "observed"])
def test_refused_calls(behaviour: str) -> None:
    check_refused(RandomWorld(behaviour), ROWS)


@pytest.mark.parametrize("name", ["aclGetDataBufferAddr", "aclGetDataBufferSize", "aclGetDataBufferSizeV2"])
def test_getters_of_what_is_no_data_buffer(name: str) -> None:
    """They return no number that could say so; a message does."""
    world = RandomWorld("default")
    for handle, number in (("null", 100000), ("gone buffer", 107017), ("stream", 107017)):
        assert not world.driver.call(name, world(handle))
        message = world.driver.message()
        assert message.startswith(f"{name}: ") and f"[{number} " in message


def test_only_some_products_make_random_numbers() -> None:
    products = {name for name in ("A2", "A3", "950PR", "310B", "310P", "910")
                if Driver(product=name).opened().call("aclrtRandomNumAsync", 0, 0, 0) != 207000}  # fmt: skip
    assert products == {"A2", "A3"} == set(MODEL["aclrtRandomNumAsync"].products)
    assert Driver(product="910").opened().call("aclrtGetErrorVerbose", 0, OUT) == 207000
