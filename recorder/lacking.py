"""Which payloads a stream has to have, by what was kept when it was recorded, and which of them it has not (sections 7
and 8 of the format)."""

import contextlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from cannery.recorder.policy import GIVEN_KINDS, PayloadPolicy, PolicyError, parse_policy
from cannery.recorder.records import Payload, Record


class Kept:
    """What was kept of the bytes that passed, by the sheet of a process: nothing is certain where its policy has words
    that this version does not know."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        self._policy: PayloadPolicy | None = None
        self._limit = header.get("payload_limit")
        with contextlib.suppress(PolicyError):
            self._policy = parse_policy(header["payload"])

    def stores(self, payload: Payload, given: bool) -> bool:
        """Whether the bytes of a payload were put into a pack, whichever function they belong to."""
        if payload.digest is None or self._policy is None or not self._policy.must_store(payload.size, given):
            return False
        return not isinstance(self._limit, int) or payload.size <= self._limit

    def lacking(self, records: Iterable[Record], stored: Collection[bytes]) -> list[int | None]:
        """The numbers of the calls with a payload that was kept and is not ``stored``; None for another step."""
        found: list[int | None] = []
        if self._policy is None or not self._policy.stores_any:
            return found
        for record in records:
            for effect in getattr(record, "effects", ()):
                payload = effect.payload
                if payload is None or effect.kind == "model" or payload.digest in stored:
                    continue
                if self.stores(payload, effect.kind in GIVEN_KINDS):
                    found.append(getattr(record, "number", None))
                    break
        return found


def told(numbers: list[int | None]) -> str:
    """What :meth:`Kept.lacking` found, if it found something, in words."""
    call = f"call #{numbers[0]} is the first that has one" if numbers[0] is not None else "none by a call"
    return f"payloads of {len(numbers)} records are lost; {call}"
