"""Pictures of the results: `python -m bench.plots RESULTS.json FOLDER`, in the environment that has matplotlib."""

import json
import sys
from pathlib import Path
from typing import Any

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
    written = _written(results, folder)
    return drawn | written


def _bars(results: Results, cases: list[str], path: Path) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(cases), figsize=(3.1 * len(cases), 4.6), squeeze=False, layout="constrained")
    for axis, case in zip(axes[0], cases, strict=True):
        basis = CASES[case].basis
        speeds = {p: 1 / s for p in results.peers() if (s := results.seconds(case, p, basis))}
        names = sorted(speeds, key=speeds.__getitem__)
        axis.barh(names, [speeds[name] for name in names], color=[_colour(name) for name in names])
        axis.set_xscale("log")
        axis.set_title(f"{case}\nby {'CPU' if basis == 'cpu' else 'wall'} time")
        axis.set_xlabel("samples a second")
        axis.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


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


def _colour(peer: str) -> str:
    return _OURS if peer.startswith("jinx") else _REF if peer.startswith("ref") else _OTHERS


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


if __name__ == "__main__":
    print(json.dumps(draw(Results.load(Path(sys.argv[1])), Path(sys.argv[2]))))
