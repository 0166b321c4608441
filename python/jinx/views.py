"""Datasets made of others without copying: an array of positions over the same files."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from jinx.columns import Columns, packed
from jinx.nearest import unknown_field
from jinx.ordering import Key, parse_key, stable_order
from jinx.positions import positions, scalar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Pick:
    """Keeps some fields of what a transform returned; picklable, as every transform should be."""

    def __init__(self, fields: Sequence[str]) -> None:
        self.fields = tuple(fields)

    def __call__(self, sample: Any) -> dict[str, Any]:
        """The sample with these fields alone."""
        return {name: sample[name] for name in self.fields if name in sample}


class Views(Columns):
    """Selecting, ordering and dividing. A view of a view is one view."""

    def select(self, indices: Any) -> Self:
        """The samples at `indices`, in that order, as a view.

        Args:
            indices: Ints (negative ones count from the end), a slice, a range, or a boolean mask of shape (len(ds),).

        Raises:
            IndexError: An index is out of range, or the mask has another length.
        """
        return self._at(positions(indices, len(self)))

    def select_columns(self, names: str | Iterable[str]) -> Self:
        """Only these fields, as a view that never reads the others.

        Raises:
            KeyError: A field does not exist.
        """
        fields = [names] if isinstance(names, str) else list(dict.fromkeys(names))
        if self._transforms:
            return self._derive(transforms=[*self._transforms, Pick(fields)])
        known = self.column_names
        for name in fields:
            if known and name not in known:
                raise KeyError(unknown_field(name, known))
        return self._derive(fields=fields)

    def drop_columns(self, names: str | Iterable[str]) -> Self:
        """All fields but these, as a view that never reads them.

        Raises:
            KeyError: A field does not exist.
        """
        dropped = [names] if isinstance(names, str) else list(names)
        known = self.column_names
        for name in dropped:
            if name not in known:
                raise KeyError(unknown_field(name, known))
        return self.select_columns([name for name in known if name not in set(dropped)])

    def shuffle(self, seed: int) -> Self:
        """The samples in a random order; the same seed gives the same order on every machine."""
        import numpy as np

        return self._at(np.random.Generator(np.random.PCG64(seed)).permutation(len(self)))

    def sort(self, key: Key, *, reverse: bool = False) -> Self:
        """The samples ordered by a key; equal ones keep their order, those without a value (or NaN) come last.

        Args:
            key: A field or path as for `column`, its length (`"len(messages)"`), either with a minus sign for
                descending order (`"-score"`), or a function of the sample. A stored column is sorted without
                opening a row.
            reverse: The other direction.

        Raises:
            KeyError: No sample has this field.
            TypeError: The values cannot be compared with each other.
        """
        if not isinstance(key, str):
            values = packed([key(sample) for sample in self])
            return self._at(stable_order(values, None, descending=reverse))
        name, by_length, descending = parse_key(key, self.column_names)
        path = self._path(name)
        if by_length:
            values, present = self._lengths(path)
        else:
            values, present = self._from_column(path, "value") or (self.column(name), None)
        return self._at(stable_order(values, present, descending=descending != reverse))

    def filter(self, keep: Any) -> Self:
        """The samples that `keep` approves, in their order.

        Args:
            keep: A function of the sample, or a boolean mask of shape (len(ds),), for instance `ds["score"] > 0.5`,
                which needs no sample to be opened.
        """
        if callable(keep):
            mask = [bool(keep(sample)) for sample in self]
            return self._at(positions([index for index, kept in enumerate(mask) if kept], len(self)))
        import numpy as np

        mask = np.asarray(keep)
        if mask.dtype != np.bool_:
            raise TypeError(f"filter takes a function or a boolean mask, not {mask.dtype} values")
        return self._at(positions(mask, len(self)))

    def map(self, function: Callable[[Any], Any]) -> Self:
        """Each sample as `function` returns it, called when the sample is read; views, `take` and loaders keep it.

        To use it in worker processes that are spawned, the function must be picklable (defined in a module).
        """
        return self._derive(transforms=[*self._transforms, function])

    def shard(self, index: int, num_shards: int, *, even: Literal["drop", "pad"] | None = None) -> Self:
        """The part of one worker: `num_shards` consecutive parts whose sizes differ by at most one.

        Args:
            index: Which part, from 0.
            num_shards: How many parts.
            even: `"drop"` leaves out the last samples, `"pad"` repeats the first ones, so that all parts have the same
                size and no worker waits for another at the end.

        Raises:
            ValueError: `index` is not in `range(num_shards)`, or `even` is none of these.
        """
        if num_shards < 1 or not 0 <= index < num_shards:
            raise ValueError(f"shard {index} of {num_shards} does not exist; shards count from 0")
        if even not in {None, "drop", "pad"}:
            raise ValueError(f"even={even!r} is not known; use 'drop', 'pad' or None")
        import numpy as np

        total = len(self)
        if even is None:
            size, larger = divmod(total, num_shards)
            start = index * size + min(index, larger)
            return self._at(np.arange(start, start + size + (index < larger)))
        size = total // num_shards if even == "drop" else -(-total // num_shards)
        chosen = np.arange(index * size, (index + 1) * size)
        return self._at(chosen % total if total else chosen)

    def split(self, fraction: float, *, seed: int | None = None) -> tuple[Self, Self]:
        """Two views that share no sample: `fraction` of the samples, and the rest.

        Args:
            fraction: The first part's share, between 0 and 1; its size is rounded to the nearest sample.
            seed: Draw the first part at random, the same for the same seed; both parts keep the dataset's order.
                Without a seed the first part is the beginning.
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"a share of {fraction} is not between 0 and 1")
        import numpy as np

        total = len(self)
        order = np.arange(total) if seed is None else np.random.Generator(np.random.PCG64(seed)).permutation(total)
        size = round(total * fraction)
        return self._at(np.sort(order[:size])), self._at(np.sort(order[size:]))

    def _select(self, key: Any) -> Any:
        """What `ds[key]` is for anything but an int: a column, some columns, or a view."""
        if isinstance(key, str):
            return self.column(key)
        index = scalar(key)
        if index is not None:
            return self[index]
        if isinstance(key, list) and key and all(isinstance(name, str) for name in key):  # pyright: ignore[reportUnknownVariableType]
            return self.select_columns(key)  # pyright: ignore[reportUnknownArgumentType]
        if key is None or isinstance(key, float | bytes):
            kind = type(key).__name__
            raise TypeError(f"a dataset is indexed by an int, slice, list of ints, mask or field name, not by {kind}")
        return self.select(key)

    def _at(self, chosen: "npt.NDArray[np.int64]") -> Self:
        """The view of these positions of this view."""
        import numpy as np

        base = self._indices
        over_files = chosen if base is None else np.frombuffer(base, dtype="<u8")[chosen]
        return self._derive(indices=np.ascontiguousarray(over_files, dtype="<u8").tobytes())
