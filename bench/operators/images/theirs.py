"""Data-Juicer's results and times, in its environment.

python -m bench.operators.images.theirs JOB.json RESULTS.json
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.operators.images.cases import CASES, Case, taken
from bench.operators.theirs import STATS, made, register


def results(case: Case, samples: list[dict[str, Any]]) -> list[Any]:
    """For each sample its results; a list of them for an operator that makes several samples."""
    operator = made(case.operator, case.parameters)
    return [_of_one(operator, case, sample) for sample in samples]


def _of_one(operator: Any, case: Case, sample: dict[str, Any]) -> Any:
    sample = json.loads(json.dumps(sample))
    try:
        if case.operator.endswith("_filter"):
            stats, is_kept = _measured(operator, sample)
            return taken({**_plain(stats), "kept": is_kept}, case.names)
        if case.samples == "papers":
            columns = operator.process_batched({name: [value] for name, value in sample.items()})
            count = len(columns["caption"])
            return [taken({name: columns[name][at] for name in columns}, case.names) for at in range(count)]
        return taken(_plain(operator.process_single({"__dj__meta__": {}, **sample})), case.names)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is theirs and the result
        return f"error: {type(error).__name__}: {error}"


def _measured(operator: Any, sample: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The statistics of a sample, and whether it is kept."""
    try:
        measured = operator.compute_stats_single({**sample, STATS: {}})
        return measured[STATS], bool(operator.process_single(measured))
    except NotImplementedError:
        batch = operator.compute_stats_batched({name: [value] for name, value in {**sample, STATS: {}}.items()})
        return batch[STATS][0], bool(next(iter(operator.process_batched(batch))))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(row, default=lambda value: value.tolist()))


def timed(operators: list[str], samples: list[dict[str, Any]]) -> dict[str, float]:
    """CPU seconds of each filter."""
    found: dict[str, float] = {}
    for name in operators:
        operator = made(name, {})
        _measured(operator, samples[0])
        started = time.process_time()
        for sample in samples:
            _measured(operator, sample)
        found[name] = time.process_time() - started
    return found


def main() -> None:
    """All cases, and the times."""
    register()
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    answer = {
        "results": [results(case, job["samples"][case.samples]) for case in CASES],
        "seconds": timed(job["timed"], job["photographs"]),
    }
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
