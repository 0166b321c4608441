"""The same samples of 48 kB for every contestant, each in its own format, written in its own environment.

    python -m bench.remote.data CONTESTANT DIRECTORY SAMPLES

litdata and Streaming are not in the environment of jinx.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

IMAGE = 48_000
_SHARD = 64 << 20
# Of a group of Parquet.
_ROWS = 1000


def samples(count: int) -> Iterator[dict[str, Any]]:
    """Samples that do not compress."""
    generator = random.Random(1)
    for i in range(count):
        yield {"id": f"sample-{i}", "n": i, "image": b"\xff\xd8\xff" + generator.randbytes(IMAGE)}


def _one(count: int) -> Iterator[dict[str, Any]]:
    yield from samples(count)


def write(contestant: str, directory: Path, count: int) -> None:
    """Write the data of one contestant."""
    if contestant == "jinx":
        import jinx

        with jinx.Writer(directory / "media.jinx", compression=None) as writer:
            writer.write_many(samples(count))
    elif contestant == "litdata":
        import litdata

        out = str(directory / "chunks")
        litdata.optimize(fn=_one, inputs=[count], output_dir=out, chunk_bytes=_SHARD, num_workers=1)
    elif contestant == "streaming":
        from streaming import MDSWriter

        columns = {"id": "str", "n": "int", "image": "bytes"}
        with MDSWriter(columns=columns, out=str(directory / "mds"), size_limit=_SHARD) as writer:
            for sample in samples(count):
                writer.write(sample)
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema({"id": pa.string(), "n": pa.int64(), "image": pa.binary()})
        with pq.ParquetWriter(directory / "media.parquet", schema, compression="none") as writer:
            batch: list[dict[str, Any]] = []
            for sample in samples(count):
                batch.append(sample)
                if len(batch) == _ROWS:
                    writer.write_table(pa.Table.from_pylist(batch, schema))
                    batch = []
            writer.write_table(pa.Table.from_pylist(batch, schema))


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
