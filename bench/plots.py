"""Charts of the results: `python -m bench.plots RESULTS.json DIRECTORY`, in the environment that has matplotlib."""

import json
import sys
from pathlib import Path
from typing import Any

from bench import paper
from bench.results import Results
from bench.uses import systems

_PANELS = {
    "iterate_field": "Read `id` in order",
    "iterate_all": "Read all columns in order",
    "take": "Random batches of 64",
    "shuffle_all": "Shuffle, all columns",
    "sort_all": "Sort, all columns",
    "loader": "Feed PyTorch",
}
_ACROSS = 2
_OURS, _REF, _OTHERS = "#c8402f", "#444444", "#9db4c0"


def draw(results: Results, directory: Path) -> dict[str, str]:
    """Writes SVG files to `directory`; returns their names by title."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "bench", "svg.fonttype": "none", "font.size": 8})
    return _speeds(results, directory) | _paper(results, directory)


def _speeds(results: Results, directory: Path) -> dict[str, str]:
    """One panel for each everyday use. A linear scale: a bar twice as long is twice as fast."""
    panels = {case: title for case, title in _PANELS.items() if case in results.cases()}
    if not panels:
        return {}
    from matplotlib import pyplot as plt

    columns = min(_ACROSS, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.2 * columns, 2.7 * rows), squeeze=False, layout="constrained")
    for axis, (case, title) in zip(axes.flat, panels.items(), strict=False):
        speeds = {p: 1 / s for p in systems(results) if (s := results.seconds(case, p, "wall"))}
        names = sorted(speeds, key=speeds.__getitem__)
        labels = [systems(results)[name].replace("`", "") for name in names]
        bars = axis.barh(labels, [speeds[name] for name in names], color=[_colour(name) for name in names])
        axis.bar_label(bars, [f"{speeds[name]:,.0f}" for name in names], padding=2, fontsize=6)
        axis.set_title(title.replace("`", ""), loc="left")
        axis.margins(x=0.16)
        axis.xaxis.set_visible(False)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    _save(figure, directory / "speed.svg")
    return {"Samples per second by use and system": "speed.svg"}


def _paper(results: Results, directory: Path) -> dict[str, str]:
    """The paper's figures: throughput by operation, and throughput over memory."""
    cases = [case for case in paper.CASES if case in results.cases()]
    if not cases:
        return {}
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(cases), figsize=(4 * len(cases), 6.2), squeeze=False, layout="constrained")
    scatter, fields = plt.subplots(1, len(cases), figsize=(4 * len(cases), 4), squeeze=False, layout="constrained")
    for axis, field, case in zip(axes[0], fields[0], cases, strict=True):
        speeds = {p: s for p in results.peers() if (s := paper.throughput(results, case, p))}
        names = sorted(speeds, key=speeds.__getitem__)
        axis.barh(names, [speeds[name] for name in names], color=[_colour(name) for name in names])
        for name in names:
            memory = (results.figure(case, name, "rss_peak") or 0) / 1e6
            field.scatter([memory], [speeds[name]], color=_colour(name), s=14)
            field.annotate(name.removeprefix("paper-"), (memory, speeds[name]), fontsize=5, alpha=0.8)
        axis.set_xscale("log")
        axis.set_xlabel("samples by user + system second")
        field.set_xscale("log")
        field.set_yscale("log")
        field.set_xlabel("memory MB")
        field.set_ylabel("samples by user + system second")
        for plot in (axis, field):
            plot.set_title(paper.CASES[case])
            plot.spines[["top", "right"]].set_visible(False)
    _save(figure, directory / "paper-throughput.svg")
    _save(scatter, directory / "paper-memory.svg")
    return {
        "Throughput, as in the paper's figure 1": "paper-throughput.svg",
        "Throughput over memory, as in the paper's figures 2 and 3": "paper-memory.svg",
    }


def _colour(peer: str) -> str:
    return _OURS if peer.startswith(("jinx", "ours")) else _REF if peer.startswith("ref") else _OTHERS


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


if __name__ == "__main__":
    print(json.dumps(draw(Results.load(Path(sys.argv[1])), Path(sys.argv[2]))))
