"""A directory of Parquet files named as the Hub expects them: `train-00000-of-00004.parquet`."""

import os
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jinx import _core
from jinx._convert.splits import file_name
from jinx._optional import require
from jinx._results import WriteResult
from jinx._scratch import scratch_directory

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinx._dataset.dataset import Dataset

DEFAULT_BYTES = 500_000_000


def write_parquet_directory(
    dataset: "Dataset", out: str, options: Mapping[str, Any], progress: "Callable[[int, int, int | None], None] | None"
) -> WriteResult:
    """Write a dataset to the directory `out`, which appears under its name when it is complete.

    Args:
        dataset: All files get its schema.
        out: The directory; an existing one is replaced only if it holds nothing but Parquet files.
        options: The options of a conversion; `shard_size` is the approximate size of a file, `split` starts its name.
        progress: Called with rows and bytes.

    Raises:
        FileExistsError: The directory to replace holds other files.
    """
    directory, base = os.path.split(os.path.abspath(out))  # noqa: PTH100 - str in, str out
    old = os.path.join(directory, f".{base}.parquet.old")  # noqa: PTH118
    _settle(old, out)
    if os.path.lexists(out):
        _refuse_others(out)
    info = dataset.info()
    size = info.bytes + info.sidecar_bytes
    files = max(1, min(len(dataset), -(-size // (options["shard_size"] or DEFAULT_BYTES))))
    name = file_name(options["split"] or info.split or "train")
    kept = {key: options[key] for key in ("compression", "level", "mixed", "threads") if options[key] is not None}
    rows = written = 0
    with scratch_directory(directory, f"{base}.parquet") as work:
        for number in range(files):
            file = os.path.join(work, f"{name}-{number:05}-of-{files:05}.parquet")  # noqa: PTH118
            part = _core.convert_arrow(
                _alike(dataset, dataset.shard(num_shards=files, index=number)),
                file,
                output_format="parquet",
                options=_json(kept),
                progress=None,
            )
            rows += part["rows"]
            written += part["bytes"]
            if progress is not None:
                progress(rows, written, None)
        try:
            if os.path.lexists(out):
                os.rename(out, old)  # noqa: PTH104
            os.rename(work, out)  # noqa: PTH104
        finally:
            _settle(old, out)
    return WriteResult(out, rows, files, written)


def _settle(old: str, out: str) -> None:
    """Finish a replacement, even an interrupted one: restore the old directory if there is no new one, or remove it."""
    if os.path.lexists(old) and not os.path.lexists(out):
        os.rename(old, out)  # noqa: PTH104
    shutil.rmtree(old, ignore_errors=True)


def _refuse_others(out: str) -> None:
    names = os.listdir(out) if os.path.isdir(out) else [out]  # noqa: PTH112, PTH208
    others = [name for name in names if not name.endswith(".parquet")]
    if others:
        raise FileExistsError(f"{out} holds other files than Parquet ({min(others)}), so it is not replaced")


def _alike(dataset: "Dataset", part: "Dataset") -> Any:
    """A part of the dataset with the schema of the whole dataset; if it has none, the schema is inferred."""
    if dataset._arrow_schema() is not None:
        return part
    pyarrow = require("pyarrow", extra="arrow", what="a directory of Parquet files from rows without a schema")
    return pyarrow.RecordBatchReader.from_stream(part).cast(pyarrow.schema(dataset))


def _json(options: Mapping[str, Any]) -> str:
    import json

    return json.dumps(options)
