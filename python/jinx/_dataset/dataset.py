"""The class `Dataset`. Its base, `Reader` in `rust/jinx-py/src/dataset/reader.rs`, reads samples and columns."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from jinx._dataset import columns, selection
from jinx._dataset.columns import is_encodable
from jinx._dataset.positions import positions
from jinx._dataset.searching import Searching
from jinx._dataset.sort_order import Key
from jinx._suggest import FROM_ELSEWHERE
from jinx._unpickle import reopen_dataset, reopen_view

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from jinx._core import LazyDict
    from jinx._dataset.added_columns import Missing
    from jinx._dataset.decode_media import DecodeSpec
    from jinx._dataset.export import Format, Mixed
    from jinx._results import DatasetInfo, WriteResult


class Dataset(Searching):
    """Samples in files, read on access. `jinx.open` returns one; views share its files.

    `ds[42]` is a sample (a `LazyDict`); `ds[10:20]`, `ds[[3, 1, 2]]` and `ds[mask]` are views; `ds["score"]` is a
    column. A dataset may be pickled and used in processes (forked or spawned) and threads.
    """

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: int) -> LazyDict: ...
        @overload
        def __getitem__(self, key: slice) -> Self: ...
        @overload
        def __getitem__(self, key: Any) -> Any: ...
        def __getitem__(self, key: Any) -> Any: ...
        def __iter__(self) -> Iterator[LazyDict]: ...

    # The contents of the dataset.

    @property
    def num_rows(self) -> int:
        """The number of samples, as `len(ds)`."""
        return len(self)

    @property
    def column_names(self) -> list[str]:
        """The top-level names, in the order in which they were first seen."""
        return columns.column_names(self)

    @property
    def schema(self) -> dict[str, str]:
        """The type of each column, e.g. `{"image": "bytes (image/jpeg)", "score": "float or None"}`."""
        from jinx._dataset.summary import schema

        return schema(self)

    @property
    def path(self) -> str:
        """The file as it was named, or the directory and number of the shards."""
        from jinx._dataset.summary import path_of

        return path_of(self)

    def info(self) -> "DatasetInfo":
        """Facts about the files: samples, sizes in bytes, columns, checksums. `jinx info` prints them."""
        if self._definition is not None:
            from jinx._saved_views.summary import describe
        elif self._options.get("mds") is not None:
            from jinx.mds._summary import describe
        else:
            from jinx._dataset.summary import describe
        return describe(self)

    # Methods that read columns.

    def take(self, indices: Any, columns: str | Iterable[str] | None = None) -> list[Any]:
        """The samples at `indices`, in that order, read in one call: several threads read media at once.

        Args:
            indices: Ints; negative ones count from the end.
            columns: Read and decode only these now; all if not given. The other columns stay lazy.

        Raises:
            IndexError: An index is out of range.
            KeyError: A column does not exist.
        """
        if columns is None:
            return super().take(indices)
        names = [columns] if isinstance(columns, str) else list(columns)
        if not all(map(is_encodable, names)):
            selection.require_columns(self, names)
        samples = super().take(indices, names)
        # The names are only checked after an error, because a sample may lack a column that other samples have.
        if samples and not self._transforms and not all(name in samples[0] for name in names):
            selection.require_columns(self, names)
        return samples

    def column(self, name: str) -> Any:
        """One column of every sample; `ds["score"]` is the same.

        Numbers and bools are an ndarray of shape (len(ds),), or a `numpy.ma.MaskedArray` if any sample of the files
        lacks a value (floats are NaN under the mask). Integers are int64, or uint64 if one is too large for it; floats
        are float64. Everything else is a list, with None for samples without a value. The type depends on the files,
        never on the view. An indexed column is read without reading rows.

        Args:
            name: A column, or a dotted path into nested dicts (`"meta.width"`); an exact top-level name wins. Quote a
                name that holds dots (`'meta."a.b"'`), and double a quote inside it.

        Raises:
            KeyError: No sample has this column.
        """
        return columns.column(self, name)

    def lengths(self, name: str) -> "npt.NDArray[np.int64]":
        """The length of a column's value in every sample, as int64 of shape (len(ds),), without decoding it.

        Elements of a list or dict, characters of a string, bytes of a binary value; 0 if a sample has no value. If the
        column is not indexed, `verify="full"` reads binary values completely to check them.

        Raises:
            KeyError: No sample has this column.
            TypeError: A value has no length.
        """
        return columns.lengths(self, name)

    # Methods that return views.

    def select(self, indices: Any) -> Self:
        """The samples at `indices`, in that order, as a view.

        Args:
            indices: Ints (negative ones count from the end), a slice, a range, or a boolean mask of shape (len(ds),).
                Masked elements of a mask select nothing.

        Raises:
            IndexError: An index is out of range, or the mask has another length.
        """
        return selection.at(self, positions(indices, len(self)))

    def select_columns(self, columns: str | Iterable[str]) -> Self:
        """Only these columns, as a view that never reads other columns.

        Raises:
            KeyError: A column does not exist.
        """
        return selection.select_columns(self, columns)

    def drop_columns(self, columns: str | Iterable[str]) -> Self:
        """All columns except these, as a view that never reads the excluded ones.

        Raises:
            KeyError: A column does not exist.
        """
        return selection.drop_columns(self, columns)

    def shuffle(self, seed: int | None = None, *, blocks: bool = False) -> Self:
        """The samples in a random order; the same seed gives the same order on every machine.

        Args:
            seed: Without one, a random one is chosen; the repr of the result shows it.
            blocks: Mix blocks of neighbours instead of all samples. A dataset in an object store is then read in large
                pieces, each of them once: blocks of 8 MiB in random order, and the samples of 32 blocks at a time.
        """
        return selection.shuffle(self, seed, blocks=blocks)

    def sort(self, key: Key | Sequence[Key], *, reverse: bool = False) -> Self:
        """The samples ordered by a key: equal ones keep their order; a missing value or NaN comes last.

        Args:
            key: A column or path as for `column`, its length (`"len(messages)"`), either with a minus sign for
                descending order (`"-score"`), or a function of the sample; or several of these; the second decides if
                the first is equal. An indexed column is sorted without reading rows. A function returns numbers,
                strings, None, or tuples of them, as for `jinx.sort`, or other values that can be compared.
            reverse: Reverse the order.

        Raises:
            KeyError: No sample has this column.
            TypeError: The values cannot be compared with each other.
        """
        return selection.sort(self, key, reverse=reverse)

    def filter(self, keep: Any) -> Self:
        """The samples that `keep` approves, in their order.

        `ds.filter("score > 0.5 and len(messages) > 2 and source in ('a', 'b')")` is the fastest way: indexed columns
        are compared without opening a sample; other paths are read in parallel, and only for samples where they decide.

        Args:
            keep: An expression, a function of the sample, or a boolean mask of shape (len(ds),), for instance
                `ds["score"] > 0.5`. An expression names stored columns, by name or dotted path as in `column`. It has
                Python's comparisons, `and`, `or`, `not`, `in`, arithmetic and `is None`, and the functions `len`,
                `lower`, `contains`, `startswith` and `endswith`; strings are in single quotes, and names that are not
                plain words in double quotes. A missing value passes no condition, not even under `not`.

        Raises:
            InvalidError: An expression does not parse, or compares a string with a number.
            KeyError: No sample has a column or path in an expression.
        """
        return selection.keep(self, keep)

    def shard(
        self,
        *positional: int,
        num_shards: int | None = None,
        index: int | None = None,
        remainder: selection.Remainder = None,
    ) -> Self:
        """The part of one worker: `num_shards` consecutive parts whose sizes differ by at most one.

        Args:
            *positional: Refused: libraries disagree about the order, so both numbers are keywords.
            num_shards: The number of parts.
            index: The number of the part, from 0.
            remainder: `"drop"` leaves out the last samples, `"pad"` repeats the first ones, so that all parts have the
                same size and no worker waits for another at the end.

        Raises:
            TypeError: The numbers were not given as keywords.
            ValueError: `index` is not in `range(num_shards)`, or `remainder` has another value.
        """
        if positional or num_shards is None or index is None:
            raise TypeError("shard takes keywords: ds.shard(num_shards=8, index=0), with index from 0")
        return selection.shard(self, num_shards, index, remainder)

    def split(self, fraction: float, *, seed: int | None = None) -> tuple[Self, Self]:
        """Two views that share no sample: `fraction` of the samples, and the rest.

        Args:
            fraction: The share of the first part, between 0 and 1; its size is rounded to the nearest sample.
            seed: Choose the first part at random; the same seed gives the same parts, and both keep the dataset's
                order. If there is no seed, the first part is the beginning of the dataset.
        """
        return selection.split(self, fraction, seed)

    @classmethod
    def concat(cls, datasets: Iterable[Self]) -> Self:
        """One dataset of the samples of several, in order; they may be views. `one + other` does the same.

        The datasets may have different columns and be of different kinds: JINX, MDS, JSON lines.

        Raises:
            ValueError: There are no datasets, or they have different decoders or functions.
        """
        return selection.concat(cls, list(datasets))

    def __add__(self, other: Self) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride] - torch returns another class
        if not isinstance(other, Dataset):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return self.concat([self, other])

    # Methods that change samples.

    def with_transform(self, transform: Callable[[Any], Any]) -> Self:
        """Replace each sample by the result of `transform`.

        The function is called whenever a sample is read; views, `take` and loaders keep it. For worker processes that
        are spawned, it must be picklable (defined in a module).
        """
        return self._derive(transforms=[*self._transforms, transform])

    def map(
        self, function: Callable[[Any], Mapping[str, Any] | None], *, remove_columns: str | Iterable[str] = ()
    ) -> Self:
        """Merge what `function` returns into each sample: new columns are added, existing ones replaced.

        Unlike in Hugging Face's library, `map` is lazy: the function is called whenever a sample is read, and nothing
        is stored. As in `with_transform`, it must be picklable for spawned processes.

        Args:
            function: Takes a sample and returns a dict, or None to leave the sample unchanged.
            remove_columns: Columns of the sample to leave out, unless the function returns them.

        Raises:
            KeyError: A column to remove does not exist.
        """
        return selection.merge_into_samples(self, function, remove_columns)

    def with_columns(self, columns: Any, *, on: str | None = None, missing: "Missing" = "null") -> Self:
        """A view with its own columns next to the columns of the files, which do not change. `save` stores it.

            ds.with_columns({"score": scores, "num_words": lambda sample: len(sample["text"].split())})

        A new column hides a stored one of the same name, and stays with its samples in all views of this view.

        Args:
            columns: A dict of names and values: a list, array or Arrow array with a value for each sample, or a
                function of the sample, called whenever the value is accessed. With `on`, a table whose other columns
                are added: a dict of columns, a jinx dataset, or Arrow data.
            on: The column to join by; its values must be unique in the table.
            missing: Samples whose key the table lacks get None (`"null"`) or are left out (`"drop"`), with a warning;
                `"fail"` raises an error, also for rows of the table that match no sample.

        Raises:
            ValueError: A column has another length than the dataset, or a key appears twice in the table.
            KeyError: The table has no such key; or, with `missing="fail"`, a sample or a row of the table has no
                counterpart.
        """
        from jinx._dataset.added_columns import with_columns

        return with_columns(self, columns, on, missing)

    def save(
        self, path: str | os.PathLike[str], *, overwrite: bool = False, shard_size: int | str | None = None
    ) -> "WriteResult":
        """Save this view: its samples, as positions in the files, and its own columns.

        No sample is copied: the files stay where they are. `jinx.convert` turns a saved view into a separate dataset.

        Args:
            path: A name that ends in `.jinx` is one file, any other name a directory of shards. It may be a URL: then
                the files that it shows are at URLs too, and those in the same bucket are found from there.
            overwrite: Replace an existing view, in one step when the new one is complete.
            shard_size: Close shards of a directory at about this size: `"512MB"` or bytes; by default 1 GB.

        Raises:
            FileExistsError: The file or directory exists, and `overwrite` is not set.
            TypeError: Functions were applied (`map`, `with_transform`): use `with_columns`.
            ValueError: `shard_size` is set for one file.
        """
        from jinx._saved_views.save import save

        return save(self, path, overwrite=overwrite, shard_size=shard_size)

    def decode(self, spec: "DecodeSpec") -> Self:
        """A view whose media are decoded on access.

        Args:
            spec: True decodes the columns that the writer named as images (to PIL images) or audio; if it named none,
                the columns whose first value begins like an image or audio file. A dict names columns and kinds,
                `{"image": "pil" | "numpy" | "audio"}`. False and None give the stored bytes.

        Raises:
            KeyError: A column does not exist.
        """
        from jinx._dataset.decode_media import decoders_for, media_in, media_paths

        if isinstance(spec, Mapping):
            selection.require_columns(self, spec)
        media = media_paths(self._path_stats())
        if spec is True and not media and len(self):
            media = media_in(self._derive(decoders=None, transforms=())[0])
        return self._derive(decoders=decoders_for(spec, media) or None)

    # Batches, and conversion for other libraries.

    def iter_batches(
        self,
        batch_size: int,
        *,
        columns: str | Iterable[str] | None = None,
        format: "Format" = "dicts",
        remainder: Literal["drop"] | None = None,
    ) -> Iterator[Any]:
        """The samples in order, `batch_size` at a time, read and decoded in parallel.

        Args:
            batch_size: Samples in a batch; the last may be smaller.
            columns: Only these columns.
            format: `"dicts"` gives a list of samples; `"columns"` a dict of lists; `"numpy"` a dict of ndarrays, of
                dtype object if the values have no common shape; `"arrow"` a pyarrow RecordBatch.
            remainder: `"drop"` leaves out the last batch if it is smaller.
        """
        from jinx._dataset.export import iter_batches

        return iter_batches(self, batch_size, columns, format, remainder)

    def to_list(self) -> list[dict[str, Any]]:
        """All samples as plain dicts in memory, with all values decoded."""
        from jinx._dataset.export import to_list

        return to_list(self)

    def to_pandas(self, columns: str | Iterable[str] | None = None) -> Any:
        """A pandas DataFrame whose cells are the samples' values; a number that a sample lacks is NaN.

        Integers next to NaN or floats are floats, as in pandas, unless a float would change one of them: then the
        column is a nullable `Int64` or `UInt64`, or objects.

        Raises:
            ImportError: pandas is not installed.
        """
        from jinx._dataset.export import to_pandas

        return to_pandas(self, columns)

    def to_arrow(self, columns: str | Iterable[str] | None = None, *, mixed: "Mixed" = "error") -> Any:
        """A pyarrow Table.

        Data that came from Arrow or Parquet keeps its types; otherwise the types are inferred from all samples.

        Args:
            columns: Only these columns.
            mixed: What to do with a column whose values have no common type: `"error"` raises an error that names it,
                and `"json"` makes JSON strings of the values.
        """
        from jinx._dataset.export import to_arrow

        return to_arrow(self, columns, mixed)

    def to_hf(self, *, streaming: bool = False) -> Any:
        """A Hugging Face `datasets` object over the same samples.

        Args:
            streaming: An `IterableDataset` that reads samples as they are needed; otherwise a `Dataset` with a copy
                in memory, as `Trainer` and TRL need it.
        """
        from jinx._dataset.export import to_hf

        return to_hf(self, streaming=streaming)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The samples as a new Arrow stream, for polars, DuckDB, pyarrow and others; a requested schema is ignored."""
        del requested_schema
        from jinx._dataset.export import stream

        return stream(self)

    def __arrow_c_schema__(self) -> object:
        """The Arrow schema of `__arrow_c_stream__`."""
        from jinx._dataset.export import stream_schema

        return stream_schema(self)

    # Methods of the object itself.

    def close(self) -> None:
        """Close the files, also for the views, iterators and samples made from this dataset.

        Later reads raise an `InvalidError`, a `ValueError`. Decoded values stay usable, and so do pickled copies, which
        open their own files. Reads that other threads have begun are completed. Without `close`, the files are closed
        when the last view and sample over them are gone.
        """
        self._close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files; see `close`."""
        self.close()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Paths, options and view; unpickling compares the ids and numbers of samples of the files."""
        state: dict[str, Any] = {"indices": self._indices, "columns": self._shown_columns}
        state |= {"transforms": self._transforms, "decoders": self._decoders}
        if self._definition is not None:
            return reopen_view, (type(self), self._definition, {**state, "lazy": self._options["lazy"]})
        state |= {"identities": self._identities()}
        return reopen_dataset, (type(self), self._shard_paths, selection.options(self), state)

    if not TYPE_CHECKING:  # would make a type checker accept any name

        def __getattr__(self, name: str) -> Any:
            """Raise an AttributeError; if the name is from another library, the message says what to use instead."""
            if hasattr(type(self), name):  # a property raised AttributeError: read it again to raise the original error
                return object.__getattribute__(self, name)
            advice = f"; use {FROM_ELSEWHERE[name]}" if name in FROM_ELSEWHERE else ""
            raise AttributeError(f"a Dataset has no attribute {name!r}{advice}", name=name, obj=self)

    def _select(self, key: Any) -> Any:
        """`ds[key]` for any key except an int: a column, some columns, or a view."""
        return selection.index(self, key)


# Pickles and messages name the public module.
Dataset.__module__ = "jinx"
