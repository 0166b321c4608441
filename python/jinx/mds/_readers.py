"""`RamReader` and `BulkReader`, the two readers of MDS directories; both are datasets."""

import os
from collections.abc import Sequence
from typing import Any, Literal, Self

from jinx._dataset.dataset import Dataset
from jinx.mds._directories import INDEX, find_directories, open_directories

Source = str | os.PathLike[str]


class _MdsReader(Dataset):
    """The base class of datasets that are made from a path."""

    _cache: str | None = None

    def __new__(
        cls,
        path: Any = (),
        *,
        split: str | None = None,
        cache: Source | None = None,
        verify: Literal["full", "rows", "none"] = "full",
        hashes: bool = False,
        columns: str | Sequence[str] | None = None,
        decode: bool | None = None,
        allow_unsafe_types: bool | Sequence[str] = False,
        io: str = "auto",
        **options: Any,
    ) -> Self:
        """Open MDS directories.

        Args:
            path: A directory with `index.json`, or a list of them.
            split: The subdirectory to take.
            cache: The directory for decoded shards, if shards are compressed as files; see the class.
            verify: `"full"` compares shards that are compressed as files with their hashes in the index, before any
                sample of them is returned; `"rows"` and `"none"` compare no hash.
            hashes: Compare the hashes of each shard when it is opened, which reads it completely for its first sample.
            columns: Only these columns; the others are never decoded.
            decode: False gives JPEG and PNG images as the bytes of their files.
            allow_unsafe_types: True, or the columns, to load pickles, which may run any code.
            io: `"mmap"`, `"pread"` or `"auto"`.
            options: Used by views and pickling.

        Raises:
            FileNotFoundError: There is no `index.json`.
        """
        if "_base" in options or "mds" in options:
            return super().__new__(cls, path, io=io, verify=verify, **options)
        directories = find_directories(path, split)
        if directories is None:
            where = os.path.join(str(path), split or "")  # noqa: PTH118
            raise FileNotFoundError(f"{where}: no {INDEX} here")
        opened = open_directories(
            cls,
            directories,
            io=io,
            verify=verify,
            hashes=hashes,
            cache=cls._cache if cache is None else cache,
            image_bytes=decode is False,
            allow_unsafe_types=allow_unsafe_types,
            **options,
        )
        return opened if columns is None else opened.select_columns(columns)


class RamReader(_MdsReader):
    """Random access to any number of shards. Shards are mapped, and only the most recently used ones are kept open.

    Shards compressed as files are decoded into `cache`, or into a temporary directory that is removed with the dataset.
    """


class BulkReader(_MdsReader):
    """Sequential reading. Shards compressed as files are decoded ahead in memory; nothing is written to disk.

    Random access works too: it decodes the whole shard if it is compressed as a file, and keeps two decoded shards.
    """

    _cache = "memory"
