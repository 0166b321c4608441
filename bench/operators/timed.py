"""One round of one side in a process of its own: CPU seconds of each step, as JSON.

python -m bench.operators.timed theirs|ours TEXTS.json REPEATS
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.operators.steps import STEPS, Step
from bench.operators.theirs import STATS, made, register

BATCH = 1000


def cpu(work: Callable[[], Any]) -> float:
    """CPU seconds of all threads of this process."""
    started = time.process_time()
    work()
    return time.process_time() - started


def theirs(texts: list[str]) -> dict[str, float]:
    """Their operators on lists of strings, a thousand at a time, as their engine calls them."""
    register()
    from datasets import Dataset

    operators = {step.operator: made(step.operator, {}) for step in STEPS}
    batches = [texts[at : at + BATCH] for at in range(0, len(texts), BATCH)]
    hashed: list[dict[str, Any]] = []

    def run(step: Step, batches: list[list[str]]) -> Callable[[], Any]:
        operator = operators[step.operator]
        if step.part == "stats":
            samples = [{"text": list(batch), STATS: [{} for _ in batch]} for batch in batches]
            return lambda: [operator.compute_stats_batched(batch) for batch in samples]
        if step.part == "text":
            samples = [{"text": list(batch)} for batch in batches]
            return lambda: [operator.process_batched(batch) for batch in samples]
        if step.part == "hash":
            return lambda: hashed.extend(operator.compute_hash({"text": text}) for batch in batches for text in batch)
        dataset = Dataset.from_list(hashed)
        return lambda: operator.process(dataset)

    found: dict[str, float] = {}
    for step in STEPS:
        if step.part != "cluster":
            run(step, [batches[0][:50]])()
            hashed.clear()
        found[step.name] = cpu(run(step, batches))
    return found


def ours(texts: list[str], repeats: int) -> dict[str, float]:
    """Our operators on Arrow strings, a thousand at a time; medians of several passes."""
    import pyarrow as pa

    from jinx_pipeline.operators.api.batch import Batch
    from jinx_pipeline.operators.api.context import Context
    from jinx_pipeline.operators.api.registry import create

    ctx = Context(threads=1)
    parts = [pa.array(texts[at : at + BATCH], pa.large_string()) for at in range(0, len(texts), BATCH)]
    operators: dict[str, Any] = {step.operator: create(step.operator) for step in STEPS}
    tables: list[pa.Table] = []

    def batches() -> list[Batch]:
        made = [Batch([{}] * len(part)) for part in parts]
        for batch, part in zip(made, parts, strict=True):
            batch.shared("text", lambda part=part: part)
        return made

    def run(step: Step) -> Callable[[], Any]:
        operator, given = operators[step.operator], batches()
        if step.part == "stats":
            return lambda: [operator.compute_stats(batch, ctx) for batch in given]
        if step.part == "text":
            return lambda: [operator.edit(part, ctx) for part in parts]
        if step.part == "hash":
            return lambda: tables.__setitem__(slice(None), [operator.signatures(batch, ctx) for batch in given])
        return lambda: operator.duplicates(tables)

    found: dict[str, float] = {}
    for step in STEPS:
        run(step)()
        found[step.name] = statistics.median(cpu(run(step)) for _ in range(repeats))
    return found


def main() -> None:
    """Command line."""
    side, file, repeats = sys.argv[1:]
    texts = json.loads(Path(file).read_text(encoding="utf-8"))
    print(json.dumps(theirs(texts) if side == "theirs" else ours(texts, int(repeats))))


if __name__ == "__main__":
    main()
