"""What was measured: values by name, one a round, and what is computed from them.

Rounds of what is compared are taken in turn, so that a slow while of the machine meets all of it. Other work on the
machine only ever adds to a time, so what is compared is the least of the rounds.
"""

import statistics
from typing import Any, Final

_PYPERF_UNITS: Final = {"ns": ("second", 1e-9), "ms": ("second", 1e-3), "B": ("byte", 1.0)}


class Samples:
    """Values by name; a name has one unit: ``ns``, ``ms``, ``B``, or another that pyperf has no name for."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}
        self._units: dict[str, str] = {}

    def add(self, name: str, value: float, unit: str) -> None:
        self._units[name] = unit
        self._values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def median(self, name: str) -> float:
        return statistics.median(self._values[name])

    def least(self, name: str) -> float:
        return min(self._values[name])

    def ratio(self, name: str, to: str) -> float:
        return self.least(name) / self.least(to)

    def difference(self, name: str, other: str) -> float:
        return self.least(name) - self.least(other)

    def suite(self, metadata: dict[str, Any]) -> Any:
        """All of it as a ``pyperf.BenchmarkSuite``; each value is a run with what pyperf tells of the machine."""
        import pyperf  # type: ignore[import-not-found,import-untyped,unused-ignore]

        benchmarks = []
        for name, values in self._values.items():
            unit, factor = _PYPERF_UNITS.get(self._units[name], ("integer", 1.0))
            told = {**metadata, "name": name, "unit": unit}
            if unit == "integer" and self._units[name]:
                told["figure_unit"] = self._units[name]
            # pyperf refuses 0
            runs = [pyperf.Run([max(value * factor, 1e-12)], metadata=told, collect_metadata=False) for value in values]
            benchmarks.append(pyperf.Benchmark(runs))
        return pyperf.BenchmarkSuite(benchmarks)
