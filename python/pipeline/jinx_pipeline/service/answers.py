"""Answers about operators and jobs, which REST and MCP share."""

import json
from functools import lru_cache
from typing import Any, Final

from jinx_pipeline.catalog.facts import described
from jinx_pipeline.catalog.schema import parameter_schema
from jinx_pipeline.catalog.search import search_operators
from jinx_pipeline.operators.api.registry import names
from jinx_pipeline.service.errors import not_found
from jinx_pipeline.service.job_files import JobFiles
from jinx_pipeline.service.types import (
    JobAnswer,
    LogAnswer,
    OperatorAnswer,
    OperatorFacts,
    QuarantineAnswer,
)
from jinx_pipeline.service.workplace import Workplace

_LOG_BYTES: Final = 64 << 10


def operator_list(place: Workplace, query: str, limit: int) -> list[OperatorFacts]:
    """The operators that are available, or those that fit a query best."""
    if not query.strip():
        found = [_facts(name) for name in names() if name not in place.refused]
    else:
        found = [_facts(operator.name) for operator in search_operators(query, limit, place.refused)]
    return [OperatorFacts(facts["name"], facts["kind"], facts["modality"], facts["summary"]) for facts in found[:limit]]


def operator_answer(place: Workplace, name: str) -> OperatorAnswer:
    """The answer about one operator.

    Raises:
        UnknownOperatorError: There is none with this name.
        ServiceError: It is not available.
    """
    facts = described(name)
    if facts["name"] in place.refused:
        raise not_found(f"{facts['name']} is not available here; the service can allow it with --allow")
    return OperatorAnswer(
        facts["name"],
        facts["kind"],
        facts["modality"],
        facts["summary"],
        text=facts["text"],
        stats=facts["stats"],
        schema=parameter_schema(facts["name"]),
    )


@lru_cache(maxsize=1024)
def _facts(name: str) -> dict[str, Any]:
    return described(name)


def job_answer(place: Workplace, job: JobFiles) -> JobAnswer:
    """The current state of a job."""
    state, order, end = place.jobs.state(job), job.order, job.end()
    result = job.result() if state in {"succeeded", "failed"} else None
    if result is not None:
        result = json.loads(place.roots.hidden(json.dumps({**result, "work_dir": None})))
    error = None if end is None or end["error"] is None else place.roots.hidden(end["error"])
    return JobAnswer(
        job.id,
        order.plan,
        state,
        order.created,
        started=job.started(),
        ended=job.ended() if state in {"succeeded", "failed", "cancelled"} else None,
        starts=job.starts(),
        reads=order.reads,
        writes=order.writes,
        error=error,
        progress=job.progress.now() if state == "running" else None,
        result=result,
    )


def log_answer(place: Workplace, job: JobFiles, offset: int) -> LogAnswer:
    """Part of the log of a job."""
    try:
        with (job.directory / "log.txt").open("rb") as file:
            size = file.seek(0, 2)
            offset = file.seek(min(offset, size))
            data = file.read(_LOG_BYTES)
    except FileNotFoundError:
        data, size = b"", 0
    is_ended = place.jobs.state(job) in {"succeeded", "failed", "cancelled"} and offset + len(data) >= size
    return LogAnswer(place.roots.hidden(data.decode(errors="replace")), offset + len(data), is_ended)


def quarantine_answer(place: Workplace, job: JobFiles, start: int, count: int) -> QuarantineAnswer:
    """Rows on which something failed in a job."""
    try:
        lines = (job.work_dir / "quarantine.jsonl").read_text("utf-8").splitlines()
    except FileNotFoundError:
        lines = []
    rows = [json.loads(place.roots.hidden(line)) for line in lines[start : start + count]]
    return QuarantineAnswer(rows, len(lines))
