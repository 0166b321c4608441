"""Data-Juicer's operators on the same models, in its environment.

python -m bench.models.theirs JOB.json RESULTS.json
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from bench.operators.theirs import STATS, made


def measured(name: str, parameters: dict[str, Any], samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Seconds for all samples, and their scores; the first sample warms the model up."""
    operator = made(name, {**parameters, "accelerator": os.environ.get("BENCH_ACCELERATOR", "cpu")})
    operator.compute_stats_single({**samples[0], STATS: {}})
    started, cpu_started = time.perf_counter(), time.process_time()
    rows = [operator.compute_stats_single({**sample, STATS: {}})[STATS] for sample in samples]
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    scores = [next(iter(row.values())) for row in rows]
    values = [float(score[0] if isinstance(score, list) else score) for score in scores]
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "scores": values}


def main() -> None:
    """All cases."""
    from loguru import logger

    logger.remove()
    import data_juicer.ops  # noqa: F401 - registers them

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
