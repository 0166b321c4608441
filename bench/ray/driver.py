"""Experiment 5, drivers that are killed: `python -m bench.ray.driver CONTESTANT FOLDER ADDRESS` is one of them."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any

from bench import environments
from bench.ray import OURS
from bench.ray.cluster import nodes
from bench.ray.data import make_rows
from bench.ray.events import block_events
from bench.ray.opens import opens
from bench.ray.signs import Workers
from bench.ray.work import BLOCK_ROWS, Work

BLOCKS = 240
_KILLED_AT = (0.1, 0.4, 0.9)
# For 27 shards.
_SHARD_BYTES = 20_000
_LIMIT = 120.0


def driver_dies(contestant: str, place: Path) -> dict[str, Any]:
    """The driver is killed at 10, 40 and 90 % of the rows, and the same command is given again each time."""
    rows = BLOCKS * BLOCK_ROWS
    source = make_rows(place / "in", rows, shard_bytes=_SHARD_BYTES)
    workers = Workers(place / "pids")
    deaths, opened = 0, 0
    since_start, since_call = list[float](), list[float]()
    begun = time.time()
    with nodes(0, head_cpus=3, ray_data=False) as (cluster, _):
        command = [sys.executable, "-W", "ignore", "-m", "bench.ray.driver", contestant, str(place), cluster.address]
        for part in (*_KILLED_AT, None):
            finished = {event["block"] for event in block_events(place)}
            # Ray Data begins again.
            base = 0 if contestant == OURS else workers.rows()
            with opens(source) as counted:
                started = time.time()
                driver = subprocess.Popen(command, cwd=environments.ROOT)
                if part is None:
                    driver.wait(_LIMIT)
                while part is not None and workers.rows() - base < part * rows and driver.poll() is None:
                    time.sleep(0.005)
                driver.kill()
                deaths += driver.wait() == -signal.SIGKILL
            if part is None and driver.returncode:
                raise RuntimeError(f"the last driver ended with {driver.returncode}")
            if contestant == OURS and finished:
                opened += sum(counted[name] for name in _finished_shards(source, finished))
                called = float((place / "called").read_text())
                first = min(event["time"] for event in block_events(place) if event["time"] > called)
                since_start.append(first - started)
                since_call.append(first - called)
    import jinx

    found = Counter(jinx.open(place / "out").column("n" if contestant == OURS else "id"))
    resumed = {"finished_opens": opened, "since_call": since_call, "since_start": since_start}
    return {
        "lost": rows - len(found),
        "twice": sum(found.values()) - len(found),
        "again": workers.rows() - rows,
        "wall": time.time() - begun,
        "deaths": deaths,
        **(resumed if contestant == OURS else {}),
    }


def _finished_shards(source: Path, blocks: set[int]) -> list[str]:
    """Shards of the input whose rows are all in such blocks."""
    shards = json.loads((source / "jinx.json").read_bytes())["shards"]
    ends = list(accumulate(shard["samples"] for shard in shards))
    spans = [
        range((end - shard["samples"]) // BLOCK_ROWS, -(-end // BLOCK_ROWS))
        for end, shard in zip(ends, shards, strict=True)
    ]
    return [shard["name"] for shard, span in zip(shards, spans, strict=True) if blocks.issuperset(span)]


def main() -> None:
    """One driver, connected before the work begins."""
    import ray

    contestant, place, address = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    work = Work(str(place / "pids"), 0.1)
    ray.init(address=address, log_to_driver=False, logging_level="error")
    if contestant == OURS:
        import jinx_pipeline as jp
        from bench.ray.operators import working

        flow = jp.Dataset.load(place / "in").process([working(work)])
        (place / "called").write_text(str(time.time()))
        flow.export(place / "out", engine=jp.Ray(workers=2), block_rows=BLOCK_ROWS)
        return
    from jinx_pipeline.ray_data import JinxDatasink

    made = ray.data.range(BLOCKS * BLOCK_ROWS, override_num_blocks=BLOCKS).map_batches(work.batch, batch_size=None)
    made.write_datasink(JinxDatasink(place / "out"))


if __name__ == "__main__":
    main()
