"""Experiment 6 by Data-Juicer, in its own environment: `python -m bench.ray.data_juicer FOLDER ROWS`.

The first worker that has told the union-find actors of its texts is killed, and Ray runs its task again.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import ray
from data_juicer.ops.deduplicator.ray_bts_minhash_deduplicator import RayBTSMinhashDeduplicator

from bench.ray.data import text_of


class KilledOnce(RayBTSMinhashDeduplicator):
    """Data-Juicer's operator, whose first task dies when its work is done."""

    def calc_minhash(self, text_list: Any, uid_list: Any) -> Any:
        """Its method, and the death."""
        made = super().calc_minhash(text_list, uid_list)
        try:
            Path(os.environ["BENCH_KILLED"]).touch(exist_ok=False)
        except FileExistsError:
            return made
        os.kill(os.getpid(), signal.SIGKILL)
        return made


def main() -> None:
    """Run it; the last line is the record."""
    folder, rows = Path(sys.argv[1]), int(sys.argv[2])
    killed = folder / "killed"
    os.environ["BENCH_KILLED"] = str(killed)
    store = {"num_cpus": 2, "object_store_memory": 150_000_000, "include_dashboard": False}
    ray.init(address="local", log_to_driver=False, logging_level="error", **store)
    data = ray.data.from_items([{"n": n, "text": text_of(n)} for n in range(rows)], override_num_blocks=10)
    operator = KilledOnce(jaccard_threshold=0.7, union_find_parallel_num=1, work_dir=str(folder))
    kept = operator.run(data).count()
    ray.shutdown()
    print(json.dumps({"lost": rows - kept, "deaths": int(killed.exists())}), flush=True)


if __name__ == "__main__":
    main()
