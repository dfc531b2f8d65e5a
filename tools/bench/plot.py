"""The picture of the comparison with other tools: cost of a call, bytes of a call, start-up, on logarithmic scales."""

from pathlib import Path
from typing import Any, Final

from cannery.tools.bench import field, peers
from cannery.tools.bench.samples import Samples

_COLOURS: Final = ("#4c72b0", "#dd8452", "#55a868", "#8172b3")
_ALONE: Final = "#8c8c8c"


def draw(samples: Samples, path: Path) -> None:
    """Write it as SVG; equal figures give equal bytes."""
    import matplotlib as mpl  # type: ignore[import-not-found,import-untyped,unused-ignore]

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "cannery", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot  # type: ignore[import-not-found,import-untyped,unused-ignore]

    tools = [kind.name for kind in peers.TOOLS if f"field/{kind.name}/start" in samples]
    figure, panels = pyplot.subplots(1, 3, figsize=(11, 0.55 * len(tools) + 1.2), sharey=True)
    loops = {loop.letter: f"({loop.letter}) {loop.what}" for loop in field.WORKLOADS}
    _bars(panels[0], samples, tools, {text: f"{letter}/call" for letter, text in loops.items()})
    _bars(panels[1], samples, tools, {text: f"memory/{letter}/trace" for letter, text in loops.items()})
    _bars(panels[2], samples, tools, {"a program that makes one call": "start"})
    for panel, title in zip(panels, ("ns a call", "bytes a call", "whole process with one call, ms"), strict=True):
        panel.set_title(title)
        panel.set_xscale("log")
        panel.grid(axis="x", alpha=0.3)
        panel.set_axisbelow(True)
    panels[0].set_yticks(range(len(tools)), tools)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _bars(panel: Any, samples: Samples, tools: list[str], figures: dict[str, str]) -> None:
    """One bar a tool and figure; ``figures`` is label -> name of the sample below the tool's."""
    height = 0.8 / len(figures)
    for row, (label, name) in enumerate(figures.items()):
        places, widths = [], []
        for place, tool in enumerate(tools):
            if f"field/{tool}/{name}" in samples:
                places.append(place + (row - (len(figures) - 1) / 2) * height)
                widths.append(samples.least(f"field/{tool}/{name}"))
        panel.barh(places, widths, height, label=label, color=_COLOURS[row] if len(figures) > 1 else _ALONE)
