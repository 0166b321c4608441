"""The driver's part of the probe, which runs operators in local workers, so that a crash does no harm."""

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from jinx_pipeline.engines.local.room import Machine, Room
from jinx_pipeline.engines.local.worker_processes import LocalWorkers, Reserve, usable_cores, visible_gpus
from jinx_pipeline.engines.worker_backend import Died, Event, Finished, Ready, Request
from jinx_pipeline.plan.probe import MIN_ROWS, Findings, pools_of, probed_places
from jinx_pipeline.plan.source import Source
from jinx_pipeline.recipe.model import Options, Recipe
from jinx_pipeline.schedule.task import Task
from jinx_pipeline.worker.memory import USABLE_SHARE, free_memory, memory_share
from jinx_pipeline.worker.pandas_import import is_spared

# Time limits for one operator, including its imports and models, and for all operators of a pool.
_OPERATOR_SECONDS = 10.0
_SECONDS = 60.0


def run_probe(recipe: Recipe, source: Source, rows: int) -> Findings:
    """Run the operators of a recipe on a few seeded rows, on this machine for any engine.

    Args:
        recipe: The recipe.
        source: Its inputs.
        rows: The number of rows of the source; few rows are not worth a probe.

    Returns:
        The measurements of the operators that neither failed nor took too long; empty if no worker answers.
    """
    places = probed_places(recipe)
    if rows < MIN_ROWS or not places:
        return Findings()
    operators = [step.operator for step in recipe.steps]
    memory, pools = _memory(recipe.options), pools_of(recipe)
    # Only one worker runs at a time.
    machine = Machine(usable_cores(), tuple(visible_gpus()), max(memory, *(needs.memory for needs in pools.values())))
    with TemporaryDirectory(prefix="jinx-pipeline-") as folder:
        workers = LocalWorkers(
            Path(folder) / "workers.log",
            pools=pools,
            reserve=Reserve(Room(machine.gpus, machine.memory)),
            memory_limits=dict.fromkeys(pools, memory),
            threads=recipe.options.threads,
            files=recipe.options.custom_operators,
            spare_pandas=is_spared([type(operator).__module__ for operator in operators]),
        )
        try:
            pool_findings = [
                _probe_pool(
                    workers, pool, recipe, source, memory, [p for p in places if recipe.steps[p].resources.pool == pool]
                )
                for pool, needs in pools.items()
                if machine.lacks(needs) is None
            ]
        finally:
            workers.close()
    measured = {place: result for findings in pool_findings for place, result in findings.operators.items()}
    return Findings(dict(sorted(measured.items())), max(findings.start_bytes for findings in pool_findings))


def _memory(options: Options) -> int:
    """The number of bytes that the worker may use; on a machine of a cluster, only memory that is free now."""
    share = memory_share(options, 1)
    return min(share, int(USABLE_SHARE * free_memory())) if options.engine == "ray" else share


def _probe_pool(  # noqa: PLR0917 - has one caller
    workers: LocalWorkers, pool: str, recipe: Recipe, source: Source, memory: int | None, places: Sequence[int]
) -> Findings:
    """Measure operators in a worker; if it dies in one, measure the others in a new worker."""
    from jinx_pipeline.worker.probe_work import ProbeWork, read_findings

    remaining, until = list(places), time.monotonic() + _SECONDS
    findings = Findings()
    while remaining:
        operators = [recipe.steps[place].operator for place in remaining]
        options = recipe.options
        worker, key = workers.start(pool), f"{pool} {remaining}"
        seconds = _OPERATOR_SECONDS
        work = ProbeWork(operators, remaining, recipe.roles, memory, options.seed, options.threads, seconds, pool)
        workers.load_work(key, work)
        part = Path(workers.log).parent / f"{worker}.jsonl"
        event = _answer(workers, worker, Request(key, source, Task(key, 0, 0, 1), 0, str(part)), until)
        if isinstance(event, Finished):
            workers.kill(worker)
        new = read_findings(part)
        findings = Findings({**findings.operators, **new.operators}, max(findings.start_bytes, new.start_bytes))
        if not isinstance(event, Died) or not event.operator.isdigit():
            break
        remaining = [place for place in remaining if place != int(event.operator)]
    return findings


def _answer(workers: LocalWorkers, worker: str, request: Request, until: float) -> Event | None:
    """The answer of a worker to its only task; None if it does not answer in time."""
    while time.monotonic() < until:
        for event in workers.events(0.1):
            if event.worker != worker:
                continue
            if not isinstance(event, Ready):
                return event
            workers.submit(worker, request)
    workers.kill(worker)
    return None
