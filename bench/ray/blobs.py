"""Experiment 3: blobs of 500 kB through a fused stage, and through a shuffle."""

import pickle
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jinx
import jinx_pipeline as jp
from bench import environments
from bench.ray import OURS, REFERENCES
from bench.ray.cluster import nodes
from bench.ray.data import make_blobs
from bench.ray.memory import memory_seen
from bench.ray.operators import Packed
from bench.ray.work import PACK, checked, packed_table

Record = dict[str, Any]
SIZE = 500_000
FUSED, SHUFFLED = 4000, 400
# Of the shuffle: less than the blobs.
_STORE = 100_000_000
_PART_ROWS = 100


def fused(contestant: str, place: Path, count: int = FUSED) -> Record:
    """Load blobs, take their checksums and pack them: 2 GB that lie in the page cache."""
    data = _source(count)
    _into_page_cache(data)
    with nodes(0, head_cpus=2, ray_data=contestant != OURS), memory_seen() as memory:
        begun = time.time()
        if contestant == OURS:
            flow = jp.Dataset.load(data).process([Packed()])
            flow.export(place / "out", engine=jp.Ray(), block_rows=_PART_ROWS)
        else:
            import ray.data

            from jinx_pipeline.ray_data import JinxDatasink, JinxDatasource

            made = ray.data.read_datasource(
                JinxDatasource(data, blobs="bytes"), override_num_blocks=count // _PART_ROWS
            )
            made = made.map_batches(packed_table, batch_size=PACK, batch_format="pyarrow")
            made.write_datasink(JinxDatasink(place / "out"))
        wall = time.time() - begun
    return {
        "blobs": count,
        "wall": wall,
        "mb_per_second": count * SIZE / 1e6 / wall,
        "lost": count - len(jinx.open(place / "out")),
        **memory.record(),
    }


def few_fused(contestant: str, place: Path) -> Record:
    """The same with a tenth of the blobs."""
    return fused(contestant, place, FUSED // 10)


def rewritten(contestant: str, place: Path) -> Record:
    """The checksums of 2 GB of blobs, and all of them written again."""
    data = _source(FUSED)
    _into_page_cache(data)
    with nodes(0, head_cpus=2, ray_data=contestant != OURS):
        begun = time.time()
        if contestant == OURS:
            flow = jp.Dataset.load(data).process([checked])
            flow.export(place / "out", engine=jp.Ray(), block_rows=_PART_ROWS, shard_size=_PART_ROWS * SIZE)
        else:
            _ray_data(data, place / "out", FUSED, shuffle=False, references=False)
        wall = time.time() - begun
    return {"wall": wall, "mb_per_second": FUSED * SIZE / 1e6 / wall, "lost": FUSED - len(jinx.open(place / "out"))}


def shuffled(contestant: str, place: Path) -> Record:
    """The same of 200 MB in a random order, with an object store of 100 MB."""
    data = _source(SHUFFLED)
    sent = [0]
    with nodes(0, head_cpus=2, store=_STORE, ray_data=contestant != OURS):
        begun = time.time()
        if contestant == OURS:
            with _messages(sent):
                flow = jp.Dataset.load(data).process([checked, jp.create("shuffle", seed=0)])
                flow.export(place / "out", engine=jp.Ray(), block_rows=_PART_ROWS, shard_size=_PART_ROWS * SIZE)
        else:
            _ray_data(data, place / "out", SHUFFLED, shuffle=True, references=contestant == REFERENCES)
        wall = time.time() - begun
        spilled = _spilled()
    found = jinx.open(place / "out")
    return {
        "wall": wall,
        "mb_per_second": SHUFFLED * SIZE / 1e6 / wall,
        "lost": SHUFFLED - len(found),
        "spilled_mb": round(spilled / 1e6),
        **({"message_bytes": sent[0] / SHUFFLED} if contestant == OURS else {}),
    }


def _source(count: int) -> Path:
    folder = environments.cache() / "ray"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"blobs-{count}.jinx"
    return path if path.exists() else make_blobs(path, count, SIZE)


def _ray_data(data: Path, out: Path, count: int, *, shuffle: bool, references: bool) -> None:
    import ray.data

    from jinx_pipeline.ray_data import JinxDatasink, JinxDatasource, load_blobs

    source = JinxDatasource(data, blobs="references" if references else "bytes")
    made = ray.data.read_datasource(source, override_num_blocks=count // _PART_ROWS)
    if shuffle:
        made = made.random_shuffle(seed=0)
    if references:
        made = made.map_batches(load_blobs, batch_format="pyarrow", fn_kwargs={"columns": ["blob"]})
    made.map(checked).write_datasink(JinxDatasink(out, shard_size=_PART_ROWS * SIZE))


def _into_page_cache(data: Path) -> None:
    with data.with_suffix(".binx").open("rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


@contextmanager
def _messages(sent: list[int]) -> Generator[None]:
    """Count the bytes of the requests to actors and of their answers."""
    from jinx_pipeline.engines.ray import worker_actors as ray_workers

    submit, event_of = ray_workers.RayWorkers.submit, ray_workers.event_of

    def counted_submit(self: Any, worker: str, request: Any) -> None:
        work = None if request.work in self._actors[worker].known_works else self._works[request.work]
        sent[0] += len(pickle.dumps((work, request)))
        submit(self, worker, request)

    def counted_event_of(worker: str, answer: Any) -> Any:
        sent[0] += len(pickle.dumps(answer))
        return event_of(worker, answer)

    ray_workers.RayWorkers.submit, ray_workers.event_of = counted_submit, counted_event_of
    try:
        yield
    finally:
        ray_workers.RayWorkers.submit, ray_workers.event_of = submit, event_of


def _spilled() -> int:
    """Bytes that object stores have written to the disk."""
    import ray
    from ray._private.internal_api import get_memory_info_reply, get_state_from_address

    state = get_state_from_address(ray.get_runtime_context().gcs_address)
    return get_memory_info_reply(state).store_stats.spilled_bytes_total
