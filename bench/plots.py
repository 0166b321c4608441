"""Pictures of the results: `python -m bench.plots RESULTS.json FOLDER`, in the environment that has matplotlib."""

import json
import sys
from pathlib import Path
from typing import Any

from bench import paper
from bench.cases import CASES
from bench.results import Results

_GROUPS = {
    "reading in order": ("iterate_nothing", "iterate_field", "iterate_count", "iterate_all"),
    "random access": ("random_field", "random_messages", "random_all", "take"),
    "shuffling and sorting": ("shuffle_nothing", "shuffle_all", "sort_nothing", "sort_all"),
    "PyTorch and cold files": ("loader", "loader_decode", "cold_iterate_all", "cold_random_all"),
    "raw pixels": ("pixels_iterate_all", "pixels_random_all", "pixels_take", "pixels_loader"),
}
_OURS, _REF, _OTHERS = "#c8402f", "#444444", "#9db4c0"


def draw(results: Results, folder: Path) -> dict[str, str]:
    """SVG files in `folder`; their names by title."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "bench", "svg.fonttype": "none", "font.size": 8})
    drawn: dict[str, str] = {}
    for title, cases in _GROUPS.items():
        known = [case for case in cases if case in results.cases()]
        if known:
            name = f"{title.replace(' ', '-').lower()}.svg"
            _bars(results, known, folder / name)
            drawn[f"Samples a second: {title}"] = name
    return drawn | _written(results, folder) | _paper(results, folder)


def _bars(results: Results, cases: list[str], path: Path) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(cases), figsize=(3.1 * len(cases), 4.6), squeeze=False, layout="constrained")
    for axis, case in zip(axes[0], cases, strict=True):
        basis = CASES[case].basis
        speeds = {p: 1 / s for p in results.peers() if (s := results.seconds(case, p, basis))}
        names = sorted(speeds, key=speeds.__getitem__)
        axis.barh(names, [speeds[name] for name in names], color=[_colour(name) for name in names])
        _log(axis)
        axis.set_title(f"{case}\nby {'CPU' if basis == 'cpu' else 'wall'} time")
        axis.set_xlabel("samples a second")
        axis.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


def _log(axis: Any) -> None:
    """A logarithmic scale of samples a second, with more than one number on it also where it is short."""
    from matplotlib import ticker

    axis.set_xscale("log")
    low, high = axis.get_xlim()
    axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
    axis.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
    axis.xaxis.set_minor_formatter(ticker.NullFormatter())


def _written(results: Results, folder: Path) -> dict[str, str]:
    """CPU time of writing, and bytes on disk afterwards and at the peak."""
    if "write" not in results.cases():
        return {}
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    costs = {p: s * 1e6 for p in results.peers() if (s := results.seconds("write", p, "cpu"))}
    names = sorted(costs, key=costs.__getitem__, reverse=True)
    left.barh(names, [costs[name] for name in names], color=[_colour(name) for name in names])
    left.set_title("write: CPU us a sample")
    sizes = {p: [results.figure("write", p, key) or 0 for key in ("bytes_peak", "bytes")] for p in names}
    right.barh(names, [sizes[name][0] / 1e6 for name in names], color="#dddddd", label="at the peak")
    right.barh(names, [sizes[name][1] / 1e6 for name in names], color=[_colour(name) for name in names], label="after")
    right.set_title("write: MB on disk, after and (light) at the peak")
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    _save(figure, folder / "writing.svg")
    return {"Writing": "writing.svg"}


def _paper(results: Results, folder: Path) -> dict[str, str]:
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
        for one in (axis, field):
            one.set_title(paper.CASES[case])
            one.spines[["top", "right"]].set_visible(False)
    _save(figure, folder / "paper-throughput.svg")
    _save(scatter, folder / "paper-memory.svg")
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
