"""A folder of Parquet files named as the Hub expects them: `train-00000-of-00004.parquet`."""

import os
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jinx import _core
from jinx._optional import require

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinx.dataset import Dataset

DEFAULT_BYTES = 500_000_000


def write_parquet_folder(
    dataset: "Dataset", out: str, options: Mapping[str, Any], progress: "Callable[[int, int, int | None], None] | None"
) -> dict[str, int]:
    """Write a dataset to the folder `out`, which has its name when it is complete.

    Args:
        dataset: All files get its schema.
        out: The folder; it must not exist.
        options: Those of a conversion; `shard_size` is about the bytes of a file, `split` the name they begin with.
        progress: Called with rows and bytes.

    Raises:
        FileExistsError: There is something named `out`.
    """
    found = dataset.info()
    size = found["bytes"] + found["sidecar_bytes"]
    files = max(1, min(len(dataset), -(-size // (options["shard_size"] or DEFAULT_BYTES))))
    name = options["split"] or found["split"] or "train"
    folder, base = os.path.split(os.path.abspath(out))  # noqa: PTH100 - text in, text out
    work = os.path.join(folder, f".{base}.parquet.tmp")  # noqa: PTH118
    kept = {key: options[key] for key in ("compression", "level", "mixed", "threads") if options[key] is not None}
    done = {"rows": 0, "bytes": 0, "sidecar_bytes": 0, "shards": files, "skipped": 0}
    shutil.rmtree(work, ignore_errors=True)
    os.mkdir(work)  # noqa: PTH102
    try:
        for number in range(files):
            file = os.path.join(work, f"{name}-{number:05}-of-{files:05}.parquet")  # noqa: PTH118
            part = _core.convert_arrow(
                _alike(dataset, dataset.shard(number, files)),
                file,
                target_format="parquet",
                options=_json(kept),
                progress=None,
            )
            done["rows"] += part["rows"]
            done["bytes"] += part["bytes"]
            if progress is not None:
                progress(done["rows"], done["bytes"], None)
        os.rename(work, out)  # noqa: PTH104
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return done


def _alike(dataset: "Dataset", part: "Dataset") -> Any:
    """A part's table with the schema of the whole, which is inferred where the data came with none."""
    if dataset._arrow_schema() is not None:  # pyright: ignore[reportPrivateUsage]
        return part
    pyarrow = require("pyarrow", extra="arrow", what="a folder of Parquet files from rows without a schema")
    return pyarrow.RecordBatchReader.from_stream(part).cast(pyarrow.schema(dataset))


def _json(options: Mapping[str, Any]) -> str:
    import json

    return json.dumps(options)
