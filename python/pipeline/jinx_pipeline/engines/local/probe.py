"""The driver's part of the probe: workers of this machine, which may die of a row without any harm."""

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
from jinx_pipeline.worker.probe_work import ProbeWork, read_findings

# Of one operator, with its packages and models, and of all of a pool; what takes longer is not measured.
_OPERATOR_SECONDS = 10.0
_SECONDS = 60.0


def probed(recipe: Recipe, source: Source, rows: int) -> Findings:
    """Run the operators of a recipe on a few seeded rows, on this machine whatever the engine.

    Args:
        recipe: It.
        source: Its inputs.
        rows: How many rows that is; few are not worth a probe.

    Returns:
        What was measured; nothing of operators that fail or take too long, and of none if no worker answers.
    """
    places = probed_places(recipe)
    if rows < MIN_ROWS or not places:
        return Findings()
    operators = [step.operator for step in recipe.steps]
    memory, pools = _memory(recipe.options), pools_of(recipe)
    # No more than one worker runs at a time.
    machine = Machine(usable_cores(), tuple(visible_gpus()), max(memory, *(one.memory for one in pools.values())))
    with TemporaryDirectory(prefix="jinx-pipeline-") as folder:
        workers = LocalWorkers(
            Path(folder) / "workers.log",
            pools=pools,
            reserve=Reserve(Room(machine.gpus, machine.memory)),
            memory_limits=dict.fromkeys(pools, memory),
            threads=recipe.options.threads,
            files=recipe.options.custom_operators,
            spare_pandas=is_spared([type(one).__module__ for one in operators]),
        )
        try:
            found = [
                _of_pool(
                    workers, pool, recipe, source, memory, [p for p in places if recipe.steps[p].resources.pool == pool]
                )
                for pool, needs in pools.items()
                if machine.lacks(needs) is None
            ]
        finally:
            workers.close()
    measured = {place: one for findings in found for place, one in findings.operators.items()}
    return Findings(dict(sorted(measured.items())), max(findings.start_bytes for findings in found))


def _memory(options: Options) -> int:
    """Bytes that the worker may use; of a machine of a cluster, no more than others leave free there."""
    share = memory_share(options, 1)
    return min(share, int(USABLE_SHARE * free_memory())) if options.engine == "ray" else share


def _of_pool(  # noqa: PLR0917 - of one caller
    workers: LocalWorkers, pool: str, recipe: Recipe, source: Source, memory: int | None, places: Sequence[int]
) -> Findings:
    """Measure operators in one worker; without the one in which it ends, in another."""
    left, until = list(places), time.monotonic() + _SECONDS
    found = Findings()
    while left:
        operators = [recipe.steps[place].operator for place in left]
        options = recipe.options
        worker, key = workers.start(pool), f"{pool} {left}"
        seconds = _OPERATOR_SECONDS
        work = ProbeWork(operators, left, recipe.roles, memory, options.seed, options.threads, seconds, pool)
        workers.load_work(key, work)
        part = Path(workers.log).parent / f"{worker}.jsonl"
        event = _answer(workers, worker, Request(key, source, Task(key, 0, 0, 1), 0, str(part)), until)
        if isinstance(event, Finished):
            workers.kill(worker)
        made = read_findings(part)
        found = Findings({**found.operators, **made.operators}, max(found.start_bytes, made.start_bytes))
        if not isinstance(event, Died) or not event.operator.isdigit():
            break
        left = [place for place in left if place != int(event.operator)]
    return found


def _answer(workers: LocalWorkers, worker: str, request: Request, until: float) -> Event | None:
    """What a worker answers to its one task; None if it does not in time."""
    while time.monotonic() < until:
        for event in workers.events(0.1):
            if event.worker != worker:
                continue
            if not isinstance(event, Ready):
                return event
            workers.submit(worker, request)
    workers.kill(worker)
    return None
