"""StreamingDataset gives the same samples in the same order with our reader as with its own."""

from pathlib import Path
from typing import Any

import pytest
from streaming import Stream, StreamingDataLoader, StreamingDataset
from streaming.base.shuffle import algos

import bucket
import jinx.mds
from drop_in.shards import COLUMNS, SMALL, differences, full, small, write, write_small
from jinx.mds import MDSReader

pytestmark = pytest.mark.timeout(300)


def unbatched(samples: list[Any]) -> dict[str, list[Any]]:
    """Streaming counts a batch by the length of its first value."""
    return {"samples": samples}


class Runs:
    """The same work with both readers, each in a cache directory of its own."""

    def __init__(self, tmp_path: Path, store: bucket.Bucket | None) -> None:
        self.tmp_path = tmp_path
        self.store = store
        self.number = 0

    def at(self, path: Path) -> str:
        """What to give as `remote`: the path, or with `--remote` its URL in a bucket."""
        return str(path) if self.store is None else self.store.url(str(path)[1:])

    def fresh(self) -> str:
        self.number += 1
        return str(self.tmp_path / f"local-{self.number}")

    def both(self, work: Any) -> tuple[Any, Any]:
        theirs = work(self.fresh())
        jinx.mds.patch_streaming()
        try:
            return work(self.fresh()), theirs
        finally:
            jinx.mds.unpatch_streaming()


@pytest.fixture
def runs(tmp_path: Path, through_a_bucket: bucket.Bucket | None) -> Runs:
    return Runs(tmp_path, through_a_bucket)


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("remote")
    write_small(root / "raw", hashes=["sha1"])
    write_small(root / "zstd", compression="zstd", hashes=["sha1"])
    return root


def epoch(dataset: StreamingDataset, workers: int = 0, size: int = 8) -> list[Any]:
    loader = StreamingDataLoader(dataset, batch_size=size, num_workers=workers, collate_fn=unbatched)
    return [sample for batch in loader for sample in batch["samples"]]


@pytest.mark.parametrize("algorithm", sorted(algos))
@pytest.mark.parametrize("form", ["raw", "zstd"])
def test_shuffling(runs: Runs, remote: Path, algorithm: str, form: str) -> None:
    def work(local: str) -> list[Any]:
        dataset = StreamingDataset(
            local=local,
            remote=runs.at(remote / form),
            shuffle=True,
            shuffle_algo=algorithm,
            shuffle_seed=3,
            shuffle_block_size=50,
            num_canonical_nodes=1,
            batch_size=8,
        )
        return epoch(dataset) + epoch(dataset)

    ours, theirs = runs.both(work)
    assert len(ours) == 400
    assert differences(ours, theirs) == []
    assert [sample["id"] for sample in ours[:200]] != list(range(200))


@pytest.mark.parametrize("method", ["random", "stratified", "per_stream", "device_per_stream"])
def test_batching_of_streams_with_proportions(runs: Runs, remote: Path, method: str) -> None:
    def work(local: str) -> list[Any]:
        streams = [
            Stream(remote=runs.at(remote / "raw"), local=f"{local}/a", proportion=0.75),
            Stream(remote=runs.at(remote / "zstd"), local=f"{local}/b", proportion=0.25),
        ]
        dataset = StreamingDataset(
            streams=streams, shuffle=True, batching_method=method, batch_size=8, epoch_size=160, shuffle_seed=1
        )
        return epoch(dataset)

    ours, theirs = runs.both(work)
    assert len(ours) > 100
    assert differences(ours, theirs) == []


@pytest.mark.parametrize("share", [{"repeat": 2}, {"choose": 30}, {"proportion": 0.5}])
def test_shares_of_streams(runs: Runs, remote: Path, share: dict[str, Any]) -> None:
    def work(local: str) -> list[Any]:
        streams = [Stream(remote=runs.at(remote / name), local=f"{local}/{name}", **share) for name in ("raw", "zstd")]
        return epoch(StreamingDataset(streams=streams, shuffle=True, batch_size=4, shuffle_seed=2))

    ours, theirs = runs.both(work)
    assert len(ours) >= 60
    assert differences(ours, theirs) == []


@pytest.mark.parametrize("compression", [None, "zstd", "snappy", "bz2"])
def test_every_encoding(runs: Runs, tmp_path: Path, compression: str | None) -> None:
    columns = {**COLUMNS, "pkl": "pkl"}
    directory = write(tmp_path / "d", lambda k: {**full(k), "pkl": {k}}, 24, columns, compression=compression)

    def work(local: str) -> list[Any]:
        options: dict[str, Any] = {"shuffle": True, "batch_size": 4, "allow_unsafe_types": True}
        return epoch(StreamingDataset(local=local, remote=runs.at(directory), **options), workers=1, size=4)

    ours, theirs = runs.both(work)
    assert len(ours) == 24
    assert differences(ours, theirs) == []


@pytest.mark.parametrize(("workers", "resumed"), [(0, 0), (1, 1), (2, 2), (0, 2), (2, 1)])
@pytest.mark.parametrize("form", ["raw", "zstd"])
def test_workers_and_resuming_in_an_epoch(runs: Runs, remote: Path, workers: int, resumed: int, form: str) -> None:
    def work(local: str) -> tuple[list[Any], list[Any]]:
        options: dict[str, Any] = {
            "remote": runs.at(remote / form),
            "shuffle": True,
            "shuffle_seed": 9,
            "batch_size": 8,
        }
        options["num_canonical_nodes"] = 1
        dataset = StreamingDataset(local=local, **options)
        loader = StreamingDataLoader(dataset, batch_size=8, num_workers=workers, collate_fn=unbatched)
        batches = iter(loader)
        seen = [sample for _ in range(9) for sample in next(batches)["samples"]]
        state = loader.state_dict()
        del batches, loader, dataset
        again = StreamingDataset(local=local + "-again", **options)
        loader = StreamingDataLoader(again, batch_size=8, num_workers=resumed, collate_fn=unbatched)
        loader.load_state_dict(state)
        return seen, [sample for batch in loader for sample in batch["samples"]]

    (seen, rest), (theirs_seen, theirs_rest) = runs.both(work)
    assert len(seen) == 72
    assert differences(seen, theirs_seen) == []
    assert differences(rest, theirs_rest) == []
    assert sorted(sample["id"] for sample in seen + rest) == list(range(200))


def test_cache_limit_in_several_processes(runs: Runs, remote: Path) -> None:
    def work(local: str) -> list[Any]:
        dataset = StreamingDataset(
            local=local,
            remote=runs.at(remote / "zstd"),
            cache_limit=20_000,
            shuffle=True,
            shuffle_algo="py1s",
            batch_size=4,
            num_canonical_nodes=1,
            predownload=8,
        )
        samples = epoch(dataset, workers=2, size=4)
        kept = sum(file.stat().st_size for file in Path(local).rglob("*.mds*"))
        assert kept <= 25_000, "eviction frees the disk"
        return samples

    ours, theirs = runs.both(work)
    assert sorted(sample["id"] for sample in ours) == list(range(200))
    assert differences(ours, theirs) == []


@pytest.mark.parametrize("keep_zip", [False, True])
def test_hashes_splits_and_keep_zip(runs: Runs, tmp_path: Path, keep_zip: bool) -> None:
    for split in ("train", "val"):
        write_small(tmp_path / "split" / split, 60, compression="gz", hashes=["sha1", "xxh64"])

    def work(local: str) -> list[Any]:
        found: list[Any] = []
        for split in ("train", "val"):
            dataset = StreamingDataset(
                local=local,
                remote=runs.at(tmp_path / "split"),
                split=split,
                validate_hash="xxh64",
                keep_zip=keep_zip,
                batch_size=4,
                shuffle=False,
            )
            found += [dataset[i] for i in range(dataset.num_samples)]
            assert any(Path(local, split).glob("*.gz")) == keep_zip
        return found

    ours, theirs = runs.both(work)
    assert len(ours) == 120
    assert differences(ours, theirs) == []


def test_a_wrong_hash_stops_both(runs: Runs, tmp_path: Path) -> None:
    directory = write_small(tmp_path / "bad", 60, hashes=["sha1"])
    data = bytearray((directory / "shard.00000.mds").read_bytes())
    data[-1] ^= 1
    (directory / "shard.00000.mds").write_bytes(data)

    def work(local: str) -> str:
        dataset = StreamingDataset(
            local=local, remote=runs.at(directory), validate_hash="sha1", batch_size=1, shuffle=False
        )
        with pytest.raises(ValueError, match="Checksum failure") as caught:
            dataset[0]
        return type(caught.value).__name__

    ours, theirs = runs.both(work)
    assert ours == theirs


def test_pickles_are_refused_by_both(runs: Runs, tmp_path: Path) -> None:
    columns = {"id": "int", "thing": "pkl"}
    directory = write(tmp_path / "pkl", lambda k: {"id": k, "thing": {k}}, 5, columns)

    def work(local: str) -> list[Any]:
        with pytest.raises(ValueError, match="Column thing contains an unsafe type"):
            StreamingDataset(local=local + "-refused", remote=runs.at(directory), batch_size=1, shuffle=False)
        dataset = StreamingDataset(
            local=local, remote=runs.at(directory), batch_size=1, shuffle=False, allow_unsafe_types=True
        )
        return [dataset[i] for i in range(5)]

    ours, theirs = runs.both(work)
    assert differences(ours, theirs) == []


def test_merged_partitions(runs: Runs, tmp_path: Path) -> None:
    from streaming.base.util import merge_index

    for name in ("p0", "p1"):
        write_small(tmp_path / "parts" / name, 50)
    merge_index(str(tmp_path / "parts"))

    def work(local: str) -> list[Any]:
        dataset = StreamingDataset(local=local, remote=runs.at(tmp_path / "parts"), batch_size=1, shuffle=False)
        return [dataset[i] for i in range(dataset.num_samples)]

    ours, theirs = runs.both(work)
    assert differences(ours, theirs) == []
    assert differences(list(jinx.open(tmp_path / "parts")), theirs) == []
    theirs_index = (tmp_path / "parts" / "index.json").read_text()
    jinx.mds.merge_index(tmp_path / "parts")
    import json

    assert json.loads((tmp_path / "parts" / "index.json").read_text()) == json.loads(theirs_index)


def test_the_three_lines_of_the_paper(tmp_path: Path) -> None:
    from streaming.base.format import _readers

    directory = write_small(tmp_path / "d", 30)
    before = _readers["mds"]
    _readers["mds"] = MDSReader
    try:
        dataset = StreamingDataset(local=str(directory), batch_size=1, shuffle=False)
        assert isinstance(dataset.shards[0], MDSReader)
        assert differences([dataset[i] for i in range(30)], [small(i) for i in range(30)]) == []
    finally:
        _readers["mds"] = before
    assert list(dataset[0]) == sorted(SMALL)
