"""WebDataset: tar files with a member for the image and one for the rest. In order only."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.peers.peer import FIELDS, Peer, Unsupported, data_loader, touched
from bench.peers.rows import parquet_rows

_SHARD_SAMPLES = 500


class WebDataset(Peer):
    name = "webdataset"
    title = "WebDataset, tar files of 500 samples"
    environment = "webdataset"
    distributions = ("webdataset", "torch")
    modules = ("webdataset", "orjson")
    data = ("jpeg",)
    snippet = """
import glob, orjson, webdataset
sample = next(iter(webdataset.WebDataset(sorted(glob.glob(path + "/*.tar")), shardshuffle=False)))
orjson.loads(sample["json"])["id"], sample["jpg"]
"""

    def write(self, source: Path, out: Path) -> None:
        import orjson
        import webdataset

        with webdataset.ShardWriter(str(out / "%05d.tar"), maxcount=_SHARD_SAMPLES, verbose=0) as writer:
            for index, row in enumerate(parquet_rows(source)):
                image = row.pop("image")
                writer.write({"__key__": f"{index:07d}", "jpg": image, "json": orjson.dumps(row)})

    def open(self, out: Path) -> Any:
        import webdataset

        shards = sorted(map(str, out.glob("*.tar")))
        return webdataset.WebDataset(shards, shardshuffle=False, empty_check=False).map(_sample)

    def pick(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterator[Any]:
        raise Unsupported("reads in order only")

    def sorted(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        raise Unsupported("reads in order only")

    def loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        return data_loader(ds.batched(size, collation_fn=list), None, workers)

    def image_loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        return data_loader(ds.map(self.decoded).batched(size, collation_fn=list), None, workers)

    def touch_all(self, sample: Any) -> int:
        return touched(sample, sample["image"], sample["messages"])


def _sample(members: dict[str, Any]) -> dict[str, Any]:
    import orjson

    sample = orjson.loads(members["json"])
    sample["image"] = members["jpg"]
    return sample


PEERS = (WebDataset(),)
