"""The dataset: samples by position, views over them, columns, and the way out to other libraries."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from jinx import _core
from jinx._dataset import columns, export, selection, summary
from jinx._dataset.decode_media import DecodeSpec, decoders_for, media_in, media_paths
from jinx._dataset.positions import positions
from jinx._dataset.sort_order import Key
from jinx._reopen import reopen_dataset
from jinx._suggest import FROM_ELSEWHERE, unknown_column

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch.utils.data import Dataset as TorchDataset

    from jinx._core import LazyDict
    from jinx._results import DatasetInfo

    # Torch knows its datasets by their base class, not by what they can do; only type checkers see this one.
    class Base(_core.Reader, TorchDataset[Any]):
        """A dataset that PyTorch takes."""


else:
    Base = _core.Reader

Remainder = Literal["drop", "pad"] | None


class Dataset(Base):
    """Samples in files, read when they are touched. `jinx.open` makes it; views share the files.

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

    # What is in it.

    @property
    def num_rows(self) -> int:
        """The number of samples, as `len(ds)`."""
        return len(self)

    @property
    def column_names(self) -> list[str]:
        """The top-level names, in the order in which they were first seen."""
        return columns.names(self)

    @property
    def schema(self) -> dict[str, str]:
        """What each column holds, e.g. `{"image": "bytes (image/jpeg)", "score": "float or None"}`."""
        return summary.schema(self)

    @property
    def path(self) -> str:
        """The file as it was named, or the directory and number of the shards."""
        return summary.path_of(self)

    def info(self) -> "DatasetInfo":
        """What is known about the files: samples, sizes in bytes, columns, checksums. `jinx info` prints it."""
        return summary.describe(self)

    # Columns.

    def take(self, indices: Any, columns: str | Iterable[str] | None = None) -> list[Any]:
        """The samples at `indices`, in that order, read in one call: media by several threads at once.

        Args:
            indices: Ints; negative ones count from the end.
            columns: Read and decode only these now; all if not given. The others stay lazy.

        Raises:
            IndexError: An index is out of range.
            KeyError: A column does not exist.
        """
        if columns is None:
            return super().take(indices)
        names = [columns] if isinstance(columns, str) else list(columns)
        samples = super().take(indices, names)
        # A sample may lack what others have, so the names are asked for only then.
        if samples and not self._transforms and not all(name in samples[0] for name in names):
            selection.require_columns(self, names)
        return samples

    def column(self, name: str) -> Any:
        """One column of every sample; `ds["score"]` is the same.

        Numbers and bools come as an ndarray of shape (len(ds),), as a `numpy.ma.MaskedArray` if any sample of the
        files lacks a value (floats are NaN under the mask). Everything else comes as a list, with None where a sample
        has no value. The type depends on the files, never on the view. An indexed column is read without opening a
        row.

        Args:
            name: A column, or a dotted path into nested dicts (`"meta.width"`); an exact top-level name wins. Quote a
                name that holds dots (`'meta."a.b"'`), and double a quote inside it.

        Raises:
            KeyError: No sample has this column.
        """
        return columns.column(self, name)

    def lengths(self, name: str) -> "npt.NDArray[np.int64]":
        """How long one column is in every sample, as int64 of shape (len(ds),), without decoding it.

        Elements of a list or dict, characters of a string, bytes of a binary value; 0 where a sample has no value. Of
        a column that is not indexed, `verify="full"` reads binary values whole to check them.

        Raises:
            KeyError: No sample has this column.
            TypeError: A value has no length.
        """
        return columns.lengths(self, name)

    # Views.

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
        """Only these columns, as a view that never reads the others.

        Raises:
            KeyError: A column does not exist.
        """
        return selection.select_columns(self, columns)

    def drop_columns(self, columns: str | Iterable[str]) -> Self:
        """All columns but these, as a view that never reads them.

        Raises:
            KeyError: A column does not exist.
        """
        return selection.drop_columns(self, columns)

    def shuffle(self, seed: int | None = None) -> Self:
        """The samples in a random order; the same seed gives the same order on every machine.

        Without a seed one is drawn; the repr of the result shows it.
        """
        return selection.shuffle(self, seed)

    def sort(self, key: Key, *, reverse: bool = False) -> Self:
        """The samples ordered by a key; equal ones keep their order, those without a value (or NaN) come last.

        Args:
            key: A column or path as for `column`, its length (`"len(messages)"`), either with a minus sign for
                descending order (`"-score"`), or a function of the sample. An indexed column is sorted without
                opening a row.
            reverse: The other direction.

        Raises:
            KeyError: No sample has this column.
            TypeError: The values cannot be compared with each other.
        """
        return selection.sort(self, key, reverse=reverse)

    def filter(self, keep: Any) -> Self:
        """The samples that `keep` approves, in their order.

        `ds.filter("score > 0.5 and len(messages) > 2 and source in ('a', 'b')")` is the fastest way: indexed columns
        are compared without opening a sample, other paths are read in parallel, and only where they decide.

        Args:
            keep: An expression, a function of the sample, or a boolean mask of shape (len(ds),), for instance
                `ds["score"] > 0.5`. An expression is about stored columns, by name or dotted path as for `column`.
                It has Python's comparisons, `and`, `or`, `not`, `in`, arithmetic and `is None`, and the functions
                `len`, `lower`, `contains`, `startswith` and `endswith`; strings stand in single quotes, and names
                that are no plain words in double quotes. A missing value passes no condition, not even under `not`.

        Raises:
            InvalidError: An expression does not parse, or compares a string with a number.
            KeyError: No sample has a column or path in an expression.
        """
        return selection.keep(self, keep)

    def shard(
        self, *positional: int, num_shards: int | None = None, index: int | None = None, remainder: Remainder = None
    ) -> Self:
        """The part of one worker: `num_shards` consecutive parts whose sizes differ by at most one.

        Args:
            *positional: Refused: libraries disagree about the order, so both numbers are keywords.
            num_shards: How many parts.
            index: Which part, from 0.
            remainder: `"drop"` leaves out the last samples, `"pad"` repeats the first ones, so that all parts have the
                same size and no worker waits for another at the end.

        Raises:
            TypeError: The numbers were not given as keywords.
            ValueError: `index` is not in `range(num_shards)`, or `remainder` is none of these.
        """
        if positional or num_shards is None or index is None:
            raise TypeError("shard takes keywords: ds.shard(num_shards=8, index=0), with index from 0")
        return selection.shard(self, num_shards, index, remainder)

    def split(self, fraction: float, *, seed: int | None = None) -> tuple[Self, Self]:
        """Two views that share no sample: `fraction` of the samples, and the rest.

        Args:
            fraction: The first part's share, between 0 and 1; its size is rounded to the nearest sample.
            seed: Draw the first part at random, the same for the same seed; both parts keep the dataset's order.
                Without a seed the first part is the beginning.
        """
        return selection.split(self, fraction, seed)

    @classmethod
    def concat(cls, datasets: Iterable[Self]) -> Self:
        """One dataset of the samples of several, in order; views among them stay views. `one + other` is the same.

        Raises:
            ValueError: None was given, or they differ in options, columns, decoders or functions applied.
        """
        return selection.concat(cls, list(datasets))

    def __add__(self, other: Self) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride] - torch's gives another class
        if not isinstance(other, Dataset):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return self.concat([self, other])

    # What samples become when they are read.

    def with_transform(self, transform: Callable[[Any], Any]) -> Self:
        """Show what `transform` returns in place of each sample.

        It is called whenever a sample is read; views, `take` and loaders keep it. To use it in worker processes that
        are spawned, the function must be picklable (defined in a module).
        """
        return self._derive(transforms=[*self._transforms, transform])

    def map(
        self, function: Callable[[Any], Mapping[str, Any] | None], *, remove_columns: str | Iterable[str] = ()
    ) -> Self:
        """Merge what `function` returns into each sample: new columns are added, existing ones replaced.

        Lazy, unlike Hugging Face's: the function is called whenever a sample is read, and nothing is stored. As for
        `with_transform`, it must be picklable for spawned processes.

        Args:
            function: Takes a sample and returns a dict, or None to leave the sample as it is.
            remove_columns: Columns of the sample to leave out, unless the function returns them.

        Raises:
            KeyError: A column to remove does not exist.
        """
        return selection.merge_into_samples(self, function, remove_columns)

    def decode(self, spec: DecodeSpec) -> Self:
        """The samples with their media decoded when touched.

        Args:
            spec: True decodes every column that is known as an image (to a PIL image) or as audio; where the writer
                named no such column, those whose first value begins as such a file. A dict names columns and kinds,
                `{"image": "pil" | "numpy" | "audio"}`; False or None gives the stored bytes.

        Raises:
            KeyError: A column does not exist.
        """
        if isinstance(spec, Mapping):
            known = self.column_names
            for name in spec:
                if known and name not in known:
                    raise KeyError(unknown_column(name, known))
        media = media_paths(self._field_stats())
        if spec is True and not media and len(self):
            media = media_in(self._derive(decoders=None, transforms=())[0])
        return self._derive(decoders=decoders_for(spec, media) or None)

    # Batches and other libraries.

    def iter_batches(
        self,
        batch_size: int,
        *,
        columns: str | Iterable[str] | None = None,
        format: export.Format = "dicts",
        remainder: Literal["drop"] | None = None,
    ) -> Iterator[Any]:
        """The samples in order, `batch_size` at a time, read and decoded in parallel.

        Args:
            batch_size: Samples in a batch; the last may be smaller.
            columns: Only these columns.
            format: `"dicts"` gives a list of samples; `"columns"` a dict of lists; `"numpy"` a dict of ndarrays, of
                dtype object where the values have no common shape; `"arrow"` a pyarrow RecordBatch.
            remainder: `"drop"` leaves out a last batch that is smaller.
        """
        return export.iter_batches(self, batch_size, columns, format, remainder)

    def to_list(self) -> list[dict[str, Any]]:
        """All samples as plain dicts, everything decoded, in memory."""
        return export.to_list(self)

    def to_pandas(self, columns: str | Iterable[str] | None = None) -> Any:
        """A pandas DataFrame whose cells are the samples' values, unchanged.

        Raises:
            ImportError: pandas is not installed.
        """
        return export.to_pandas(self, columns)

    def to_arrow(self, columns: str | Iterable[str] | None = None, *, mixed: export.Mixed = "error") -> Any:
        """A pyarrow Table.

        The types are those the data came with, when it came from Arrow or Parquet; otherwise they are inferred from
        all samples.

        Args:
            columns: Only these columns.
            mixed: What to do with a column whose values have no common type: an error that names it, or its values
                as JSON strings (`"json"`).
        """
        return export.to_arrow(self, columns, mixed)

    def to_hf(self, *, streaming: bool = False) -> Any:
        """A Hugging Face `datasets` object over the same samples.

        Args:
            streaming: An `IterableDataset` that reads samples as they are needed; otherwise a `Dataset` with a copy
                in memory, which `Trainer` and TRL take as it is.
        """
        return export.to_hf(self, streaming=streaming)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The samples as an Arrow stream, for polars, DuckDB, pyarrow and others; it may be opened many times.

        A schema that a consumer asks for is not applied: the protocol leaves the cast to the consumer.
        """
        del requested_schema
        return export.stream(self)

    def __arrow_c_schema__(self) -> object:
        """The Arrow schema of `__arrow_c_stream__`."""
        return export.stream_schema(self)

    # The object itself.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing: the files are closed when the last view and sample over them are gone."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """By paths, options and view; samples and ids of the files are compared when they are opened again."""
        state = {
            "identities": self._identities(),
            "samples": self._base_len(),
            "indices": self._indices,
            "columns": self._fields,
            "transforms": self._transforms,
            "decoders": self._decoders,
        }
        return reopen_dataset, (type(self), self._shard_paths, selection.options(self), state)

    if not TYPE_CHECKING:  # which would take any name for a good one

        def __getattr__(self, name: str) -> Any:
            """Never a value: says what to write for a name that is another library's."""
            if hasattr(type(self), name):  # a property that failed by an AttributeError: once more, for that error
                return object.__getattribute__(self, name)
            advice = f"; use {FROM_ELSEWHERE[name]}" if name in FROM_ELSEWHERE else ""
            raise AttributeError(f"a Dataset has no attribute {name!r}{advice}", name=name, obj=self)

    def __repr__(self) -> str:
        from jinx._dataset.display import dataset_text

        return dataset_text(self)

    def _repr_html_(self) -> str:
        from jinx._dataset.display import dataset_html

        return dataset_html(self)

    def _ipython_key_completions_(self) -> list[str]:
        return self.column_names

    def _select(self, key: Any) -> Any:
        """What `ds[key]` is for anything but an int: a column, some columns, or a view."""
        return selection.index(self, key)


# Pickles and messages name the public place.
Dataset.__module__ = "jinx"


def concat(datasets: Iterable[Dataset]) -> Dataset:
    """One dataset of the samples of several, in order; see `Dataset.concat`."""
    return Dataset.concat(datasets)
