"""Data-Juicer's operators on the same models, in its environment.

python -m bench.models.theirs JOB.json RESULTS.json
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from bench.operators.theirs import STATS, made, register

META = "__dj__meta__"


def measured(name: str, parameters: dict[str, Any], samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Seconds for all samples, and their scores; the first sample warms the model up."""
    operator = made(name, {**parameters, "accelerator": os.environ.get("BENCH_ACCELERATOR", "cpu")})
    facts_of(operator, samples[0])
    started, cpu_started = time.perf_counter(), time.process_time()
    rows = [facts_of(operator, sample) for sample in samples]
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "scores": [score_of(row) for row in rows]}


def facts_of(operator: Any, sample: dict[str, Any]) -> dict[str, Any]:
    """What an operator adds to a sample: statistics of a filter, or facts of a mapper."""
    columns = {name: [value] for name, value in sample.items()}
    if not hasattr(operator, "compute_stats_single"):
        return operator.process_batched({**columns, META: [{}]})[META][0]
    if operator.is_batched_op():
        return operator.compute_stats_batched({**columns, STATS: [{}]})[STATS][0]
    return operator.compute_stats_single({**sample, STATS: {}})[STATS]


def score_of(facts: dict[str, Any]) -> float | list[Any]:
    """The score in them; of a class, its name and probability."""
    if len(facts) > 1:
        return [facts[name] for name in sorted(facts)]
    (score,) = facts.values()
    return float(score[0] if isinstance(score, list) else score)


def main() -> None:
    """All cases."""
    register()
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    answer: dict[str, Any] = {}
    for name, case in job["cases"].items():
        try:
            answer[name] = measured(case["operator"], case["parameters"], case["samples"])
        except Exception as error:
            if not job.get("may_fail"):
                raise
            answer[name] = {"error": f"{type(error).__name__}: {error}"}
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
