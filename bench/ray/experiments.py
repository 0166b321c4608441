"""One experiment by one contestant in a process of its own: `python -m bench.ray.experiments NAME CONTESTANT FOLDER`.

It prints what happened as JSON in its last line.
"""

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinx_pipeline as jp
from bench import environments
from bench.ray import DATA_JUICER, OURS, RAY_DATA, REFERENCES
from bench.ray.blobs import few_fused, fused, rewritten, shuffled
from bench.ray.cluster import STORE, nodes, run_during
from bench.ray.cpu import engines_compared
from bench.ray.data import make_rows
from bench.ray.driver import driver_dies
from bench.ray.events import block_events, events
from bench.ray.operators import working
from bench.ray.signs import Workers
from bench.ray.work import BLOCK_ROWS, Work, WorkOfActor, unchanged
from jinx_pipeline.recipe.errors import RecipeError

Record = dict[str, Any]
BLOCK_SECONDS = 0.25
LIMIT = 120.0
SMALL_BLOCKS = 3000


class Delivered:
    """When blocks came out, and which rows."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.rows: Counter[int] = Counter()

    def take(self, numbers: list[int]) -> None:
        """Rows came out."""
        self.times.append(time.time())
        self.rows.update(numbers)

    def record(self, rows: int) -> Record:
        """What came out of so many rows."""
        times = sorted(self.times)
        return {
            "lost": rows - len(self.rows),
            "twice": sum(self.rows.values()) - len(self.rows),
            "seconds": times[-1] - times[0] if times else 0.0,
            "stall": max((b - a for a, b in pairwise(times)), default=0.0),
            "times": [round(moment - times[0], 3) for moment in times],
        }


def ours(place: Path, operator: Any, delivered: Delivered, **options: Any) -> Any:
    """Our run over the rows in `place`."""
    out = place / "out"
    flow = jp.Dataset.load(place / "in.jinx").process([operator])
    result = flow.export(out, engine=jp.Ray(), block_rows=BLOCK_ROWS, **options)
    import jinx

    delivered.rows.update(jinx.open(out).column("n"))
    delivered.times += [event["time"] for event in block_events(place)]
    return result


def ray_data(rows: int, work: Any, delivered: Delivered, **pool: Any) -> None:
    """The same rows in as many blocks through Ray Data; `pool` is for actors after a stage of tasks."""
    import ray.data

    made = ray.data.range(rows, override_num_blocks=rows // BLOCK_ROWS)
    if pool:
        made = made.map_batches(unchanged, batch_size=None, num_cpus=0.5)
    made = made.map_batches(work, batch_size=None, **pool)
    for batch in made.iter_batches(batch_size=None, prefetch_batches=0):
        delivered.take([int(number) for number in batch["id"]])


def _contest(
    contestant: str,
    place: Path,
    rows: int,
    work: Work,
    steps: list[tuple[int, Callable[[], None]]],
    *,
    slots: int,
    limit: float = LIMIT,
    **pool: Any,
) -> Record:
    """Run the work by a contestant while the steps happen, each after so many blocks."""
    delivered = Delivered()
    begun = time.time()
    if contestant == OURS:
        make_rows(place / "in.jinx", rows)

        def run() -> Any:
            return ours(place, working(work), delivered, workers=slots)

        def count() -> int:
            return len(block_events(place))
    else:

        def run() -> Any:
            ray_data(rows, WorkOfActor if pool else work.batch, delivered, **pool)

        def count() -> int:
            return len(delivered.times)

    record: Record = {}
    try:
        result = run_during(run, count, steps, limit)
        if contestant == OURS:
            record["left_out"] = [bad.row for bad in result.bad_rows]
    except TimeoutError:
        record["failed"] = f"did not end within {limit:.0f} s"
    except Exception as error:  # noqa: BLE001 - it is what is measured
        record["failed"] = f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"
    begun_rows = Workers(Path(work.folder)).rows()
    return {**record, **delivered.record(rows), "wall": time.time() - begun, "again": max(begun_rows - rows, 0)}


def nodes_die(contestant: str, place: Path, kill: int = 2) -> Record:
    """Experiment 1: 240 blocks on five nodes; two of them die at 35 %, and no others come."""
    blocks, count = 240, 5
    at = int(blocks * 0.35)
    work = Work(str(place / "pids"), BLOCK_SECONDS)
    with nodes(count, ray_data=contestant != OURS) as (cluster, made):

        def step() -> None:
            for node in made[:kill]:
                cluster.remove_node(node, allow_graceful=False)

        record = _contest(contestant, place, blocks * BLOCK_ROWS, work, [(at, step)] if kill else [], slots=count)
        deaths = _dead(made)
    first = at if kill else blocks
    ideal = first * BLOCK_SECONDS / count + (blocks - first) * BLOCK_SECONDS / (count - kill)
    return {**record, "ideal": ideal, "deaths": deaths}


def _dead(made: list[Any]) -> int:
    """How many of the nodes have no process any more."""
    return sum(not node.any_processes_alive() for node in made)


def nodes_live(contestant: str, place: Path) -> Record:
    """The same without deaths."""
    return nodes_die(contestant, place, kill=0)


def nodes_return(contestant: str, place: Path) -> Record:
    """Experiment 1, longer: four of five nodes die, and two come later."""
    blocks = 100
    work = Work(str(place / "pids"), BLOCK_SECONDS)
    joined: list[tuple[str, float]] = []
    with nodes(5, ray_data=False) as (cluster, made):

        def kill() -> None:
            for node in made[:4]:
                cluster.remove_node(node, allow_graceful=False)

        def add() -> None:
            for _ in range(2):
                made.append(cluster.add_node(num_cpus=1, object_store_memory=STORE))
                joined.append((made[-1].node_id, time.time()))

        record = _contest(contestant, place, blocks * BLOCK_ROWS, work, [(20, kill), (30, add)], slots=5)
        deaths = _dead(made)
    return {
        **record,
        "deaths": deaths,
        "until_work": max((_first_work(place, *arrival) for arrival in joined), default=LIMIT),
    }


def _first_work(place: Path, node: str, since: float) -> float:
    """Seconds from when a node had joined until the first worker on it was given a block."""
    times = [event["time"] for event in events(place) if event["kind"] == "ready" and event.get("node") == node]
    return max(min(times, default=since + LIMIT) - since, 0.0)


def starve(contestant: str, place: Path) -> Record:
    """Experiment 1: workers that ask for every CPU, and a recipe that no node could ever run."""
    rows = 200
    work = Work(str(place / "pids"), 0.0)
    with nodes(0, head_cpus=2, ray_data=contestant != OURS):
        if contestant == OURS:
            record = _contest(contestant, place, rows, work, [], slots=2)
            begun = time.time()
            try:
                flow = jp.Dataset.load(place / "in.jinx").process([working(work)])
                flow.export(place / "never", engine=jp.Ray(resources={"CPU": 64}))
            except RecipeError as error:
                return {**record, "refused": time.time() - begun, "why": str(error)}
            return {**record, "failed": "64 CPUs were not refused"}
        import ray.data

        pool = {"compute": ray.data.ActorPoolStrategy(size=2), "num_cpus": 1, "fn_constructor_args": (work,)}
        return _contest(contestant, place, rows, work, [], slots=2, limit=20, **pool)


def workers_die(contestant: str, place: Path) -> Record:
    """Experiment 2: 300 blocks on two workers; six are killed, one every 36 blocks."""
    work = Work(str(place / "pids"), 0.1)
    killed: set[int] = set()

    def kill() -> None:
        for pid in Workers(place / "pids").alive()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)

    steps = [(36 * at, kill) for at in range(1, 7)]
    with nodes(0, head_cpus=3, ray_data=contestant != OURS):
        record = _contest(contestant, place, 300 * BLOCK_ROWS, work, steps, slots=2)
    return {**record, "deaths": len(killed)}


def deadly_row(contestant: str, place: Path) -> Record:
    """Experiment 4: one of 1,920 rows kills the process that touches it."""
    with nodes(0, head_cpus=3, ray_data=contestant != OURS):
        work = Work(str(place / "pids"), 0.0, deadly=777)
        record = _contest(contestant, place, 1920, work, [], slots=2, limit=20)
    return {**record, "deaths": _died(place)} if contestant == OURS else record


def _died(place: Path) -> int:
    """Workers that have died in our run."""
    return sum(event["kind"] == "died" for event in events(place))


def duplicates(contestant: str, place: Path) -> Record:
    """Experiment 6: near-duplicates of 1,000 different texts; one worker is killed after it began."""
    rows = 1000
    if contestant == DATA_JUICER:
        command = [str(environments.python_of("datajuicer")), "-m", "bench.ray.data_juicer", str(place), str(rows)]
        done = subprocess.run(command, check=True, timeout=90, capture_output=True, text=True)
        return json.loads(done.stdout.strip().splitlines()[-1])
    make_rows(place / "in.jinx", rows)
    work = Work(str(place / "pids"), 0.05)

    def kill() -> None:
        for pid in Workers(place / "pids").alive()[:1]:
            os.kill(pid, signal.SIGKILL)

    import jinx

    with nodes(0, head_cpus=2, ray_data=False):
        flow = jp.Dataset.load(place / "in.jinx").process([working(work), jp.create("document_minhash_deduplicator")])

        def run() -> Any:
            return flow.export(place / "out", engine=jp.Ray(), block_rows=BLOCK_ROWS * 5)

        run_during(run, lambda: len(block_events(place)), [(4, kill)], LIMIT)
    return {"lost": rows - len(jinx.open(place / "out")), "deaths": _died(place)}


def small_blocks(contestant: str, place: Path) -> Record:
    """Blocks of one row: empty ones for the scheduler, Ray and the run log, and others for a part and its syncs too."""
    del contestant
    make_rows(place / "in.jinx", SMALL_BLOCKS)
    with nodes(0, head_cpus=4, ray_data=False):
        empty = _blocks_per_second(place / "empty", min_len=10**6)
        return {"empty_blocks_per_second": empty, "blocks_per_second": _blocks_per_second(place / "full", min_len=1)}


def _blocks_per_second(place: Path, *, min_len: int) -> float:
    flow = jp.Dataset.load(place.parent / "in.jinx").process([jp.create("text_length_filter", min_len=min_len)])
    more = {"engine": jp.Ray(workers=4), "block_rows": 1}
    flow.export(place / "out.jinx", work_dir=str(place / "out.work"), **more)
    times = sorted(event["time"] for event in block_events(place))
    rest = times[SMALL_BLOCKS // 6 :]  # by then all workers have started
    return (len(rest) - 1) / (rest[-1] - rest[0])


EXPERIMENTS: dict[str, tuple[Callable[[str, Path], Record], tuple[str, ...]]] = {
    "nodes die": (nodes_die, (OURS, RAY_DATA)),
    "workers die": (workers_die, (OURS, RAY_DATA)),
    "deadly row": (deadly_row, (OURS, RAY_DATA)),
    "duplicates": (duplicates, (OURS, DATA_JUICER)),
    "small blocks": (small_blocks, (OURS,)),
    "driver dies": (driver_dies, (OURS, RAY_DATA)),
    "fused blobs": (fused, (OURS, RAY_DATA)),
    "few fused blobs": (few_fused, (OURS, RAY_DATA)),
    "rewritten blobs": (rewritten, (OURS, RAY_DATA)),
    "shuffled blobs": (shuffled, (OURS, REFERENCES, RAY_DATA)),
    "both engines": (engines_compared, (OURS,)),
    "nodes return": (nodes_return, (OURS,)),
    "starve": (starve, (OURS, RAY_DATA)),
    "nodes live": (nodes_live, (OURS, RAY_DATA)),
}


def main() -> None:
    """Run one experiment."""
    name, contestant, folder = sys.argv[1:]
    try:
        found = EXPERIMENTS[name][0](contestant, Path(folder))
    except BaseException:  # noqa: BLE001 - it is printed
        traceback.print_exc()
        os._exit(1)  # Ray waits a minute for the cluster that is gone
    print(json.dumps(found), flush=True)
    os._exit(0)  # Ray Data's threads may never end where a row kills its tasks


if __name__ == "__main__":
    main()
