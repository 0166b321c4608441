"""Data-Juicer's results, in its environment: reads cases and documents as JSON, writes a result for each case.

python -m bench.operators.theirs JOB.json RESULTS.json
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

# Theirs installs and downloads at run time what it misses; the environment holds all that it needs.
OFFLINE = {"UV_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
STATS = "__dj__stats__"


def register() -> None:
    """Import their operators, in a process of their environment, which from then on stays offline and logs nothing."""
    os.environ.update(OFFLINE, HF_DATASETS_DISABLE_PROGRESS_BARS="1")
    import data_juicer.ops  # noqa: F401 - registers them
    from loguru import logger

    logger.remove()


def made(operator: str, parameters: dict[str, Any]) -> Any:
    """An operator of theirs, working in this process alone."""
    from data_juicer.ops.base_op import OPERATORS

    return OPERATORS.modules[operator](**parameters, num_proc=1)


def results(operator: str, parameters: dict[str, Any], kind: str, samples: list[dict[str, Any]]) -> Any:
    """What it makes of samples, in the form of `bench.operators.ours`."""
    op = made(operator, parameters)
    if kind in ("stats", "text", "texts"):
        return [_of_one(op, kind, sample["text"]) for sample in samples]
    from datasets import Dataset

    if operator.endswith("_filter"):
        return [sample["number"] for sample in samples if _is_kept(op, sample)]
    if operator.endswith("_deduplicator"):
        hashed = [op.compute_hash(dict(sample)) for sample in samples]
        dataset, _ = op.process(Dataset.from_list(hashed))
        return [row["text"] for row in dataset] if kind == "line" else [row["number"] for row in dataset]
    found = op.process(Dataset.from_list(samples))
    if kind == "groups":
        return [batch["number"] for batch in found]
    return len(found) if kind == "size" else sorted(row["number"] for row in found)


def _of_one(op: Any, kind: str, text: str) -> Any:
    """The result for one text; what went wrong as text after `error: `."""
    try:
        if kind != "stats":
            found = op.process_batched({"text": [text]})["text"]
            return list(found) if kind == "texts" else found[0]
        if op.is_batched_op():
            samples = op.compute_stats_batched({"text": [text], STATS: [{}]})
            return {**samples[STATS][0], "kept": bool(next(iter(op.process_batched(samples))))}
        sample = op.compute_stats_single({"text": text, STATS: {}})
        return {**sample[STATS], "kept": bool(op.process_single(sample))}
    except Exception as error:  # noqa: BLE001 - whatever it is, it is theirs and the result
        return f"error: {type(error).__name__}: {error}"


def _is_kept(op: Any, sample: dict[str, Any]) -> bool:
    if op.is_batched_op():
        samples = op.compute_stats_batched({name: [value] for name, value in {**sample, STATS: {}}.items()})
        return bool(next(iter(op.process_batched(samples))))
    return bool(op.process_single(op.compute_stats_single({**sample, STATS: {}})))


def main() -> None:
    """All cases of a job."""
    register()
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    found: list[Any] = []
    for case in job["cases"]:
        try:
            found.append(results(case["operator"], case["parameters"], case["kind"], job["samples"]))
        except Exception as error:  # noqa: BLE001 - as above
            found.append(f"error: {type(error).__name__}: {error}")
    from data_juicer.ops.common.special_characters import SPECIAL_CHARACTERS

    answer = {"results": found, "special": sorted(SPECIAL_CHARACTERS)}
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
