"""The two readers of MDS folders by their own names; both are datasets."""

import os
from collections.abc import Sequence
from typing import Any, Literal, Self

from jinx._dataset.dataset import Dataset
from jinx.mds._folders import INDEX, find_folders, open_folders

Source = str | os.PathLike[str]


class _MdsReader(Dataset):
    """A dataset that is made by its path."""

    _cache: str | None = None

    def __new__(
        cls,
        path: Any = (),
        *,
        split: str | None = None,
        cache: Source | None = None,
        verify: Literal["full", "rows", "none"] = "full",
        hashes: bool = False,
        fields: Sequence[str] | None = None,
        decode: bool | None = None,
        allow_unsafe_types: bool | Sequence[str] = False,
        io: str = "auto",
        **options: Any,
    ) -> Self:
        """Open MDS folders.

        Args:
            path: A folder with `index.json`, or a list of them.
            split: The sub-folder to take.
            cache: Where shards that are compressed as files are kept decoded; see the class.
            verify: `"full"` compares the hashes in the index of shards that are compressed as files, before anything
                decoded is returned; `"rows"` and `"none"` compare no hash.
            hashes: Compare the hashes of every shard when it is opened, which reads all of it for its first sample.
            fields: Only these columns; the others are never decoded.
            decode: False gives JPEG and PNG images as the bytes of their files.
            allow_unsafe_types: True, or the columns, to load pickles, which may run any code.
            io: `"mmap"`, `"pread"` or `"auto"`.
            options: What views and pickling hand on.

        Raises:
            FileNotFoundError: There is no `index.json`.
        """
        if "_base" in options or "mds" in options:
            return super().__new__(cls, path, io=io, verify=verify, **options)
        folders = find_folders(path, split)
        if folders is None:
            where = os.path.join(str(path), split or "")  # noqa: PTH118
            raise FileNotFoundError(f"{where}: no {INDEX} here")
        opened = open_folders(
            cls,
            folders,
            io=io,
            verify=verify,
            hashes=hashes,
            cache=cls._cache if cache is None else cache,
            image_bytes=decode is False,
            allow_unsafe_types=allow_unsafe_types,
            **options,
        )
        return opened if fields is None else opened.select_columns(fields)


class RamReader(_MdsReader):
    """Random access over any number of shards, which are mapped and of which only the last used stay open.

    Shards compressed as files are decoded into `cache`, or into a temporary folder that goes with the dataset.
    """


class BulkReader(_MdsReader):
    """Reading from the first sample to the last, file-compressed shards decoded ahead in memory, nothing on disk.

    Random access works too: a file-compressed shard is then decoded as a whole, and two are kept.
    """

    _cache = "memory"
