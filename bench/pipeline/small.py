"""How long a small recipe takes from Enter to its result."""

import json
import shutil
import sys
import sysconfig
from pathlib import Path
from statistics import median
from typing import Any

from bench.pipeline.program import measured
from bench.pipeline.text import RECIPE, source

ROWS, OPERATORS, ROUNDS = 1_000, 5, 7


def small(folder: Path) -> dict[str, Any]:
    """Wall and CPU seconds of the command `jinx-pipeline run` with the local engine, each in a new place."""
    place = folder / "small"
    command = Path(sysconfig.get_path("scripts")) / "jinx-pipeline"
    start = [str(command)] if command.exists() else [sys.executable, "-m", "jinx_pipeline"]
    recipe = {
        "dataset": {"path": str(source(folder, ROWS))},
        "process": RECIPE[:OPERATORS],
        "export": {"path": str(place / "out.jinx")},
    }
    runs: list[dict[str, Any]] = []
    for number in range(ROUNDS + 1):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        (place / "recipe.yaml").write_text(json.dumps(recipe))
        done = measured([*start, "run", "recipe.yaml"], folder=place)
        if done.code:
            raise RuntimeError(f"jinx-pipeline: {done.output}")
        if number:  # the first one reads programs and libraries from the disk
            runs.append({"wall": done.wall, "cpu": done.cpu})
    shutil.rmtree(place)
    return {
        "rows": ROWS,
        "operators": OPERATORS,
        "rounds": ROUNDS,
        "wall": median(run["wall"] for run in runs),
        "cpu": median(run["cpu"] for run in runs),
    }
