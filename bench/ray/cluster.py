"""Small Ray clusters in this machine, and runs during which something is done to them."""

import os
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import jinx_pipeline.dataset  # noqa: F401 - else imported at its first use
from bench.pipeline.program import children_of, used_cpu

STORE = 150_000_000
# A cluster has started when it uses less than this part of a CPU, or when so much time has gone by.
_IDLE, _START_SECONDS, _LOOK_SECONDS = 0.1, 40.0, 1.0


@contextmanager
def nodes(
    count: int, *, ray_data: bool, head_cpus: int = 0, store: int = 4 * STORE
) -> Generator[tuple[Any, list[Any]]]:
    """A head, and nodes with one CPU each; this process is connected to the head, and has imported what it needs."""
    import ray

    if ray_data:
        import ray.data

        import jinx_pipeline.ray_data  # noqa: F401 - as above

        ray.data.DataContext.get_current().enable_progress_bars = False
    from ray.cluster_utils import Cluster

    about = {"num_cpus": head_cpus, "object_store_memory": store, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=about)
    made: list[Any] = []
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        ray.put(None)  # with the first value, Ray imports what it serializes with
        # Not before: this process would be connected to one of those that die.
        made += [cluster.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(count)]
        _wait_until_started()
        yield cluster, made
    finally:
        # A thread of Ray Data may still run, and would connect again after a shutdown.
        for node in [*made, cluster.head_node]:
            node.kill_all_processes(check_alive=False, allow_graceful=False)


def _wait_until_started() -> None:
    """Ray's processes tell that they are there before they have imported what they need."""
    end = time.monotonic() + _START_SECONDS
    before, now = 0.0, _cpu_of_children(os.getpid())
    while now - before > _IDLE * _LOOK_SECONDS and time.monotonic() < end:
        time.sleep(_LOOK_SECONDS)
        before, now = now, _cpu_of_children(os.getpid())


def _cpu_of_children(pid: int) -> float:
    total = 0.0
    for child in children_of(pid):
        with suppress(OSError):
            total += used_cpu(child) + _cpu_of_children(child)
    return total


def run_during(
    run: Callable[[], Any], count: Callable[[], int], steps: list[tuple[int, Callable[[], None]]], limit: float
) -> Any:
    """Run in a thread; each step is done in the main thread when `count` has reached its number.

    Raises:
        TimeoutError: It has not ended after `limit` seconds.
    """
    pool = ThreadPoolExecutor(1)
    running = pool.submit(run)
    end = time.monotonic() + limit
    for number, step in steps:
        while count() < number and not running.done() and time.monotonic() < end:
            time.sleep(0.01)
        if not running.done():
            step()
    return running.result(max(end - time.monotonic(), 0.1))
