"""The number of bytes that samples take on disk, in the opened files, even if these were replaced since."""

import json
from typing import Any

from jinx import _core
from jinx._core import Reader


def stored_bytes(dataset: Reader) -> int:
    """The approximate number of bytes that the samples of a dataset take: their share of its files.

    Raises:
        MismatchError: An MDS directory was replaced since it was opened.
    """
    roots, own = dataset._root_files(), dataset._own_columns()
    stored = sum(sum(main + sidecar for main, sidecar in file_sizes(dataset, root)) for root in roots)
    in_files = sum(root.samples for root in roots)
    share = stored * len(dataset) // in_files if in_files else 0
    return share + _own_bytes(dataset) if own else share


def file_sizes(dataset: Reader, root: _core.Rows) -> list[tuple[int, int]]:
    """Bytes of each file below a dataset, including its sidecar; for MDS, bytes of all shards of a directory.

    Args:
        dataset: The dataset.
        root: One of its `_roots`.
    """
    if root.kind == "mds":
        from jinx.mds._summary import bytes_of, listed_shards

        return [(bytes_of(shards), 0) for shards in listed_shards(dataset, root)]
    files = dataset._derive(rows=root.whole(), indices=None, columns=None, decoders=None)
    footers: list[dict[str, Any]] = [json.loads(files._footer(i)) for i in range(len(root.paths))]
    return [(int(footer["bytes"]), int(footer["sidecar_bytes"])) for footer in footers]


def _own_bytes(dataset: Any) -> int:
    """Bytes of the columns that saved views themselves store; the size of columns in memory is unknown."""
    definition = dataset._definition
    if definition is None:
        return 0
    if hasattr(definition, "files"):  # a saved view
        file: Reader = definition.files.file
        footer = json.loads(file._footer(0))
        samples = file._base_len()
        return (footer["bytes"] + footer["sidecar_bytes"]) * len(dataset) // samples if samples else 0
    return sum(_own_bytes(part) for part in definition.parts)
