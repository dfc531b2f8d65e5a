"""The host as the trace remembers it: the port that replay gives the machine instead of the program's memory.

The machine asks for the same things in the same order as when the trace was made. Each request takes the next recorded
effect of the present step: a read gets the recorded bytes, a write is compared with the recorded hash, and what the
recording has and the machine does not ask for, or the other way round, is a difference.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import xxhash

from cannery.recorder.codec import name_value, token_value
from cannery.recorder.format import TOPICS
from cannery.recorder.records import Effect, Payload
from cannery.replayer.exchange import ReplayExchange
from cannery.replayer.stores import Budget, ReplayStore, available
from cannery.runtime.kernels import IN_DEVICE, KernelRun
from cannery.runtime.ports import Range, Unknown

if TYPE_CHECKING:
    from cannery.runtime.models.declare import KernelModel
    from cannery.runtime.models.load import Models

PAGE: Final = 4096
_BLOCK: Final = 2 << 20  # bytes that are set to zero at a time


class EffectDifference(NamedTuple):
    """Effect number ``place`` of a step is not as recorded; the texts say what was recorded and what was asked for."""

    place: int
    expected: str
    actual: str


class ReplayPort:
    """A HostPort over the effects of the present step.

    ``base`` and ``span`` are the device address range of the recording. ``content`` finds stored bytes by digest and
    ``region`` the raw address of a host region. ``exact`` is False in a what-if replay: then a request without a
    recorded effect gets a plausible answer. With ``models``, what kernels wrote is computed again and compared.
    ``memory``: bytes of device memory that may be used, by default what the system has available; or a budget that
    several replays have together.
    """

    def __init__(
        self,
        base: int,
        span: int,
        content: Callable[[Payload], bytes | None],
        region: Callable[[int], int],
        exact: bool = True,
        memory: "int | Budget | None" = None,
        models: "Models | None" = None,
    ) -> None:
        self.base = base
        self.span = span
        self.differences: list[EffectDifference] = []
        self.unknown_bytes = 0  # read by the machine, but not kept in the trace: zeros stand for them
        self.unverified = 0  # writes whose bytes follow from unknown ones, or whose hash was not kept
        self.stores: dict[int, ReplayStore] = {}  # the bytes of devices
        self.rerun = 0  # launches whose model was run again
        self.not_rerun: dict[str, int] = {}  # by name: those for which no model was given
        self._models = models
        self._effects: tuple[Effect, ...] = ()
        self._next = 0
        self._content = content
        self._region = region
        self._exact = exact
        self._budget = memory if isinstance(memory, Budget) else Budget(available() if memory is None else memory)
        self.exchange = ReplayExchange(self, self._new_store)
        self._spare = 0x6000_0000_0000  # pinned memory that a what-if run asks for and the trace does not have

    # The driver's side.

    def begin(self, effects: tuple[Effect, ...]) -> None:
        """Offer the effects of the next step."""
        self._effects = effects
        self._next = 0

    def end(self) -> None:
        """Note the effects that the machine did not ask for."""
        for index in range(self._next, len(self._effects)):
            self._differ(index, describe(self._effects[index]), "nothing")
        self._effects = ()
        self._next = 0

    @property
    def unfinished(self) -> bool:
        """Whether the present step has effects that nobody asked for, or differences."""
        return self._next != len(self._effects) or bool(self.differences)

    # The machine's side; see runtime.ports.

    def device_base(self, span: int) -> int:
        if span != self.span and self._exact:
            self._differ(0, f"a device address range of {self.span} bytes", f"one of {span} bytes")
        return self.base

    def device_store(self, device: int, span: int) -> ReplayStore:
        store = self.stores[device] = self._new_store(span)
        return store

    def _new_store(self, span: int) -> ReplayStore:
        return ReplayStore(span, self._budget)

    def read(self, address: int, into: memoryview) -> bool:
        size = len(into)
        effect = self._take("read", size)
        if effect is None:
            _zero(into)
            self.unknown_bytes += size
            return True
        if effect.ok:
            self._install(effect, into)
        return effect.ok

    def write(self, address: int, data: memoryview) -> bool:
        return self._written("write", data)

    def write_file(self, path: bytes, content: bytes) -> bool:
        return self._written("file", memoryview(content))

    def _written(self, kind: str, data: memoryview) -> bool:
        effect = self._take(kind, len(data))
        if effect is None:
            return True
        payload = effect.payload
        if not effect.ok or payload is None or payload.size != len(data):
            return effect.ok
        if payload.content is not None:
            same = payload.content == data
        elif payload.digest is not None:
            same = payload.digest == xxhash.xxh3_128_digest(data)
        else:
            self.unverified += 1
            return True
        if not same:
            if self.unknown_bytes:
                self.unverified += 1
            else:
                self._differ(self._next - 1, describe(effect), f"{kind} of {_content(data)}")
        return True

    def move(self, destination: int, source: int, size: int) -> bool:
        effect = self._take("move", size)
        return effect is None or effect.ok

    def fill(self, address: int, value: int, size: int) -> bool:
        effect = self._take("fill", None)
        return effect is None or effect.ok

    def pinned_alloc(self, size: int) -> int:
        effect = self._take("alloc", None)
        if effect is None:
            address = self._spare
            self._spare += -(-size // PAGE) * PAGE + PAGE
            return address
        return self._region(effect.region) if effect.ok else 0

    def pinned_free(self, address: int) -> None:
        pass

    def file(self, path: bytes) -> bytes | None:
        effect = self._take("file", None)
        if effect is None or not effect.ok or effect.payload is None:
            return None
        return self._known(effect.payload)

    def data(self, address: int, size: int) -> bytes | None:
        effect = self._take("read", size)
        if effect is None:
            return self._unknown(size)
        if not effect.ok or effect.payload is None:
            return None
        return self._known(effect.payload)

    def copied(self, address: int, size: int) -> memoryview | None:
        effect = self.peek()
        if effect is None or effect.kind != "read" or effect.ok:
            self._budget.check(size)
            content = memoryview(bytearray(size))
            return content if self.read(address, content) else None
        self._take("read", size)
        return None

    def _known(self, payload: Payload) -> bytes:
        stored = self._content(payload)
        return self._unknown(payload.size) if stored is None else stored

    def _unknown(self, size: int) -> Unknown:
        self._budget.check(size)
        self.unknown_bytes += size
        return Unknown(size)

    def thread(self, ordinal: int) -> tuple[int, int]:
        effect = self._take("thread", None)
        if effect is None:
            return -ordinal, 0  # an id that no argument has
        return token_value(effect.thread), effect.worker

    def tid(self, ordinal: int) -> int:
        effect = self._take("tid", None)
        return name_value(-ordinal if effect is None else effect.thread)  # else one that no thread of the trace has

    def model(self, name: bytes) -> bool | None:
        if self.unknown_bytes and self._next == len(self._effects):
            return None  # where it was recorded, the binary was known to have no such kernel
        effect = self._take("model", None)
        return effect is not None and effect.ok

    def unmodelled(self, name: bytes) -> None:
        pass

    def log(self, level: int, file: bytes, line: int, text: bytes) -> None:
        pass  # it was printed when it was said

    def kernel(self, run: KernelRun) -> str | None:
        effect = self._take("kernel", None)
        if effect is None:
            return None
        if not effect.ok:
            self._rerun(run, effect, [], None)
            return effect.text
        parts = self._take_parts(effect.parts)
        saw = [part for part in parts if part.kind == "saw"]
        wrote = [part for part in parts if part.kind == "wrote"]
        known = [(part, self._content(part.payload)) for part in wrote if part.payload is not None]
        ranges = [Range(part.place, part.offset, memoryview(content)) for part, content in known if content is not None]
        if len(ranges) < len(wrote):
            self.unknown_bytes += sum(part.payload.size for part, content in known if content is None and part.payload)
        elif self._rerun(run, effect, saw, ranges):
            return None
        for place, offset, content in ranges:
            self._put(run, place, offset, content)
        return None

    def _rerun(self, run: KernelRun, effect: Effect, saw: list[Effect], ranges: "list[Range] | None") -> bool:
        """Run the model of a launch again, if one is given, and compare. Whether what was recorded is in memory now."""
        if self._models is None:
            return False
        model = self._models.find(run.name)
        if model is None:
            name = run.name.decode(errors="replace")
            self.not_rerun[name] = self.not_rerun.get(name, 0) + 1
            return False
        if self.unknown_bytes:
            self.unverified += 1
            return False
        self.rerun += 1
        return self._compare(model, run, saw, ranges)

    def _compare(self, model: "KernelModel", run: KernelRun, saw: list[Effect], ranges: "list[Range] | None") -> bool:
        from cannery.runtime.models.compare import rerun

        left = list(saw)

        def read(address: int, into: memoryview) -> bool:
            payload = left.pop(0).payload if left else None
            content = None if payload is None else self._content(payload)
            if content is None or len(content) != len(into):
                return False
            into[:] = content
            return True

        place = self._next - 1
        recorded = f"what the model of {model.name} did" if ranges is None else f"what the model of {model.name} wrote"
        for text in rerun(model, run, read, ranges):
            self._differ(place, recorded, text)
        return ranges is not None

    def _put(self, run: KernelRun, place: int, offset: int, content: memoryview) -> None:
        """Write to device memory what a model wrote there."""
        target = run.target(place)
        if target is None or (target.kind == IN_DEVICE and target.room < offset + len(content)):
            self._differ(self._next - 1, f"memory behind argument byte {place} of a kernel", "none is there")
        elif target.kind == IN_DEVICE:
            start = 0
            for piece in run.pieces(target, offset, len(content)):
                piece[:] = content[start : start + len(piece)]
                start += len(piece)

    def _take_parts(self, count: int) -> list[Effect]:
        """The next effects, which belong to a kernel; and a difference, if there are fewer, however many it claims."""
        first = self._next
        while self._next - first < count and self._next < len(self._effects):
            if self._effects[self._next].kind not in ("saw", "wrote"):
                break
            self._next += 1
        if self._next - first < count:
            self._differ(self._next, "what a kernel wrote", "nothing")
        return list(self._effects[first : self._next])

    # For the exchange.

    def peek(self) -> Effect | None:
        """The next effect of the step."""
        return self._effects[self._next] if self._next < len(self._effects) else None

    def take(self, kind: str, asked: str, fits: Callable[[Effect], bool]) -> Effect | None:
        """The next effect; None, and a difference, when it is of another kind, does not fit or there is none."""
        effect = self.peek()
        if effect is None or effect.kind != kind or not fits(effect):
            self._differ(self._next, "nothing" if effect is None else describe(effect), asked)
            return None
        self._next += 1
        return effect

    def shared(self, view: memoryview) -> None:
        """Put the bytes there that another process had written when they were read."""
        effect = self._take("shared", len(view))
        if effect is not None:
            self._install(effect, view)

    def _install(self, effect: Effect, into: memoryview) -> None:
        payload = effect.payload
        stored = None if payload is None else self._content(payload)
        if stored is not None and len(stored) == len(into):
            into[:] = stored
        else:
            _zero(into)
            self.unknown_bytes += len(into)

    def _take(self, kind: str, size: int | None) -> Effect | None:
        """The next effect of the step; None, and a difference, when it is of another kind or there is none."""
        index = self._next
        asked = kind if size is None else f"{kind} of {size} bytes"
        if index >= len(self._effects):
            self._differ(index, "nothing", asked)
            return None
        effect = self._effects[index]
        if effect.kind != kind:
            self._differ(index, describe(effect), asked)
            return None
        self._next = index + 1
        if size is not None and effect.payload is not None and effect.payload.size != size:
            self._differ(index, describe(effect), asked)
        return effect

    def _differ(self, index: int, expected: str, actual: str) -> None:
        self.differences.append(EffectDifference(index, expected, actual))


def _zero(into: memoryview) -> None:
    """In blocks: as many zeros as a large range has would be a second copy of it."""
    for start in range(0, len(into), _BLOCK):
        part = into[start : start + _BLOCK]
        part[:] = bytes(len(part))


def describe(effect: Effect) -> str:
    """A recorded effect in words: ``write of 64 bytes, hash 1a2b...``."""
    text = effect.kind
    payload = effect.payload
    if payload is not None:
        text += f" of {payload.size} bytes"
        if payload.content is not None:
            text += f", {payload.content.hex()}"
        elif payload.digest is not None:
            text += f", hash {payload.digest.hex()}"
    elif effect.kind == "alloc" and effect.ok:
        text += f" of host region {effect.region}"
    elif effect.kind == "kernel":
        text += f" that failed: {effect.text}" if not effect.ok else f" with {effect.parts} ranges"
        return text
    elif effect.kind == "model" and not effect.ok:
        return "no kernel model"
    elif effect.kind == "thread":
        text += f" {effect.thread}" + (f", worker {effect.worker}" if effect.worker else "")
    elif effect.kind == "tid":
        text += f" {effect.thread}"
    elif effect.kind == "peer":
        text = " ".join([TOPICS.get(effect.topic, "peer"), *map(str, effect.values)])
    return text if effect.ok else f"{text} (not accessible)"


def _content(data: memoryview) -> str:
    shown = bytes(data).hex() if len(data) <= 32 else f"hash {xxhash.xxh3_128_digest(data).hex()}"
    return f"{len(data)} bytes, {shown}"
