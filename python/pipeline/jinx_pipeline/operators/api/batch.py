"""The samples that an operator processes: texts as Arrow columns, lazy media, and columns changed by operators."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cache, partial
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.column_values import REMOVED, as_list, concatenated, element, own_column, taken
from jinx_pipeline.operators.api.returned import ReturnedError, check_column, check_count
from jinx_pipeline.operators.api.sample_source import STATS, Source, in_order, source_of
from jinx_pipeline.sample.media import MediaList
from jinx_pipeline.sample.paths import Steps, find, text_of
from jinx_pipeline.sample.ranged_values import ReadOnAccess, has_range, with_bytes
from jinx_pipeline.sample.roles import ROLES, Role, Roles
from jinx_pipeline.sample.texts import texts_at, with_texts

if TYPE_CHECKING:
    import numpy.typing as npt


class Batch:
    """Some samples of a dataset, with the columns and statistics that operators changed or added.

    Args:
        source: A jinx dataset, or a list of dicts.
        positions: The positions of the samples, as int64 of shape (n,); by default all.
        roles: The columns of texts and media.
        ids: An id for each sample that is unique in the run; by default the positions.

    Attributes:
        positions: Positions of the samples in the source, int64 of shape (n,).
        roles: The columns of texts and media.
        stats: Statistics by name, an Arrow array with a value for each sample; filters add to them.
        known_stats: For each statistic, the digest of the filter that computed it for these texts and media.
        is_open: Whether a column that no sample of the batch has counts as missing, not as unknown, because samples of
            other batches may have it. The column of a role counts as missing only if the input has it; otherwise an
            operator would silently do nothing.
    """

    def __init__(
        self,
        source: Any,
        positions: "npt.ArrayLike | None" = None,
        roles: Roles | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> None:
        self._source: Source = source_of(source)
        self.positions: npt.NDArray[np.int64] = (
            np.arange(len(self._source), dtype=np.int64)
            if positions is None
            else np.asarray(positions, dtype=np.int64).reshape(-1)
        )
        self.roles = roles or Roles()
        self.stats: dict[str, pa.Array] = {}
        self.known_stats: dict[str, str] = {}
        self.is_open = False
        self._ids = None if ids is None else list(ids)
        self._own: dict[str, Any] = {}
        self._shared: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        return f"Batch({len(self)} samples, columns {', '.join(self.column_names)})"

    # Methods for the contents of the batch.

    @property
    def ids(self) -> list[str]:
        """An id for each sample, for `Context.rng`."""
        if self._ids is None:
            self._ids = [str(position) for position in self.positions.tolist()]
        return self._ids

    @property
    def is_named(self) -> bool:
        """Whether the ids may differ from the positions."""
        return self._ids is not None

    @property
    def source(self) -> Any:
        """The dataset or list from which the batch was made."""
        return self._source.origin

    @property
    def column_names(self) -> list[str]:
        """The columns of the source and those that operators added."""
        names = dict.fromkeys([*self._source.names(), *in_order(self._own)])
        return [name for name in names if not self._is_removed(name)]

    @property
    def changed(self) -> dict[str, Any]:
        """The columns that operators changed or added, with a value for each sample, or `REMOVED`."""
        return dict(self._own)

    def column(self, path: str) -> list[Any]:
        """The value of each sample at a role or path; None if it has none, and a list for a path with `[*]`.

        Raises:
            KeyError: The source has no such column.
        """
        return self._values(self.roles.steps(path))

    def stored_numbers(self, path: str) -> "npt.NDArray[Any] | None":
        """The numbers of an indexed column, of shape (n,), masked where a sample has none.

        None if the column is not indexed, has other values, or was changed by an operator; use `column` then.
        """
        steps = self.roles.steps(path)
        if None in steps or str(steps[0]) in self._own or str(steps[0]) == STATS or self._lacks(str(steps[0])):
            return None
        return self._source.numbers(self.positions, text_of(steps))

    def numbers(self, path: str) -> "npt.NDArray[np.float64]":
        """The numbers at a path, float64 of shape (n,); NaN where a sample has none.

        Raises:
            TypeError: A value is not a number.
        """
        values = self.column(path)
        for value in values:
            if value is not None and not isinstance(value, int | float | np.number):
                raise TypeError(f"{path}: {value!r} is not a number")
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    @property
    def text(self) -> pa.Array:
        """The text of each sample as Arrow strings; several texts are joined, and a missing text is empty."""
        return self.shared("text", self._joined)

    @property
    def texts(self) -> list[list[str]]:
        """The separate texts of each sample, for operators that edit them; see `with_texts_as`."""
        return self.shared("texts", self._separate)

    @property
    def flat_texts(self) -> pa.Array:
        """The separate texts of all samples, concatenated, as Arrow strings."""
        plain = self._plain_text()
        if plain is not None:
            return plain
        texts = self.texts
        return pa.array([text for sample_texts in texts for text in sample_texts], pa.large_string())

    def with_texts_as(self, edited: Sequence[str | None] | pa.Array) -> dict[str, Any]:
        """The changed columns if `flat_texts` are replaced by `edited`; empty if no text differs.

        Args:
            edited: The same number of texts; None keeps a text.

        Raises:
            ValueError: The number of texts differs.
        """
        if isinstance(edited, str):
            raise TypeError("an edit returns a list or an array of texts, not one text")
        plain, steps = self._plain_text(), self.roles.steps("text")
        if plain is not None and len(steps) == 1 and len(edited) == len(self):
            import pyarrow.compute as pc  # slower to import than the rest of Arrow

            array = edited if isinstance(edited, pa.Array) else pa.array(edited, plain.type)
            # pyarrow creates this function when it is imported.
            texts = pc.coalesce(array.cast(plain.type), plain)  # pyright: ignore[reportAttributeAccessIssue]
            return {} if texts.equals(plain) else {str(steps[0]): texts}
        after: list[str | None] = as_list(edited)
        before = self.texts
        if len(after) != sum(map(len, before)):
            raise ReturnedError(f"{len(after)} texts for {sum(map(len, before))}: an edit keeps their number")
        if all(text is None for text in after):
            return {}
        texts = [old if new is None else new for old, new in zip(chain.from_iterable(before), after, strict=True)]
        bounds = pairwise(accumulate(map(len, before), initial=0))
        groups = [texts[start:stop] for start, stop in bounds]
        if groups == before:
            return {}
        name = str(steps[0])
        return {
            name: [
                value if new == old else with_texts(value, steps[1:], iter(new))
                for value, old, new in zip(self._values((name,)), before, groups, strict=True)
            ]
        }

    def media(self, role: Role) -> list[MediaList]:
        """The images, audios or videos of each sample, which are read on access.

        Raises:
            KeyError: The source has no such column.
        """
        key = ("media", role)
        if key not in self._shared:
            steps = self.roles.steps(role)
            self._lacks(name := str(steps[0]))
            # The first access reads all images of the batch in parallel; of audios and videos, only the locations.
            read = self._values if role == "images" and name not in self._own else self._media_values
            values = cache(partial(read, (name,)))
            self._shared[key] = [
                MediaList(partial(element, values, row), steps[1:], role, self.roles) for row in range(len(self))
            ]
        return self._shared[key]

    def media_column(self, role: Role) -> list[Any]:
        """The column of a role, with `REMOVED` for samples without it; large bytes may be a `StoredRange`."""
        name = self.roles.column(role)
        if name in self._own:
            return as_list(self._own[name])
        if self._lacks(name):
            return [REMOVED] * len(self)
        values = self._source.media_values(self.positions, name, exact=True)
        samples = self._source.samples(self.positions)
        return [value if name in sample else REMOVED for value, sample in zip(values, samples, strict=True)]

    def samples(self, *, keeps_ranges: bool = False) -> list[MutableMapping[str, Any]]:
        """The samples as mappings whose values are read on access; changing them does not change the batch.

        Args:
            keeps_ranges: Whether media on disk are a `StoredRange`, for writing them, instead of their bytes.
        """
        samples = self._source.samples(self.positions)
        ranged: list[dict[str, Any]] = [{} for _ in samples]
        for name in in_order(self._own):
            values = as_list(self._own[name])
            is_ranged = not keeps_ranges and any(map(has_range, values))
            for row, (sample, value) in enumerate(zip(samples, values, strict=True)):
                if value is REMOVED:
                    sample.pop(name, None)
                    continue
                sample[name] = value
                if is_ranged and has_range(value):
                    ranged[row][name] = value
        pairs = zip(samples, ranged, strict=True)
        return [ReadOnAccess(sample, columns) if columns else sample for sample, columns in pairs]

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """A value with one element per sample (a list, an ndarray or an Arrow array) that several operators share.

        It is made once, follows the samples through `take`, and is dropped when a column changes.
        """
        if key not in self._shared:
            value = make()
            if len(value) != len(self):
                raise ValueError(f"the shared value {key!r} has {len(value)} elements for {len(self)} samples")
            self._shared[key] = value
        return self._shared[key]

    # Methods that return other batches.

    def take(self, positions: "npt.ArrayLike") -> Self:
        """The samples at positions in this batch, in that order, or those that a boolean mask selects."""
        chosen = np.asarray(positions).reshape(-1)
        if chosen.dtype == np.bool_:
            if len(chosen) != len(self):
                raise ValueError(f"a mask of {len(chosen)} elements for {len(self)} samples")
            if chosen.all():
                return self
            chosen = np.flatnonzero(chosen)
        chosen = chosen.astype(np.int64, copy=False)
        selection = self._like(self.positions[chosen])
        selection._ids = None if self._ids is None else [self._ids[index] for index in chosen.tolist()]
        selection._own = {name: taken(values, chosen) for name, values in self._own.items()}
        selection._shared = {key: taken(values, chosen) for key, values in self._shared.items()}
        selection.stats = {name: taken(values, chosen) for name, values in self.stats.items()}
        selection.known_stats = dict(self.known_stats)
        return selection

    def with_columns(self, columns: Mapping[str, Any]) -> Self:
        """The batch with some columns replaced or added.

        Args:
            columns: A value for each sample, as a list, an ndarray or an Arrow array.
        """
        if not columns:
            return self
        for name, values in columns.items():
            check_column(name, values, len(self))
        changed = self._like(self.positions)
        changed._ids = self._ids
        changed._own = {**self._own, **columns}
        kept_keys = {("media", role) for role in ROLES if self.roles.column(role) not in columns}
        changed._shared = {key: value for key, value in self._shared.items() if key in kept_keys}
        changed.stats = dict(self.stats)
        return changed

    def with_stats(self, stats: Mapping[str, pa.Array], digest: str) -> Self:
        """The batch with additional statistics.

        Args:
            stats: Arrow arrays with a value for each sample.
            digest: The digest of the filter that computed them; see `Filter.stats_digest`.
        """
        for name, values in stats.items():
            check_count(f"the statistic {name!r}", values, len(self))
        changed = self._like(self.positions)
        changed._ids, changed._own, changed._shared = self._ids, self._own, self._shared
        changed.stats = {**self.stats, **stats}
        changed.known_stats = {**self.known_stats, **dict.fromkeys(stats, digest)}
        return changed

    def with_ids(self, ids: Sequence[str]) -> Self:
        """The batch with different ids."""
        named = self.with_stats({}, "")
        named._ids = list(ids)
        return named

    def opened(self) -> Self:
        """The batch with `is_open` set, for operators that may add a column to only some samples."""
        opened = self.with_stats({}, "")
        opened.is_open = True
        return opened

    def forgotten(self) -> Self:
        """The batch without shared values and decoded media, to free their memory."""
        forgotten = self.with_stats({}, "")
        forgotten._shared = {}
        return forgotten

    def copied(self, *, keeps_shared: bool = False) -> Self:
        """The batch with values of its own, which can be edited in place.

        Args:
            keeps_shared: Whether decoded media and all values of `shared` stay, not only arrays that nobody can edit.
        """
        copied = self._like(self.positions)
        copied._source, copied._ids = self._source.copied(self.positions), self._ids
        copied._own = {name: own_column(values) for name, values in self._own.items()}
        copied._shared = {
            key: value for key, value in self._shared.items() if keeps_shared or isinstance(value, pa.Array)
        }
        copied.stats, copied.known_stats = dict(self.stats), dict(self.known_stats)
        return copied

    def unchanged(self) -> Self:
        """The samples as in the source, with their ids."""
        unchanged = self._like(self.positions)
        unchanged._ids = self._ids
        return unchanged

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The concatenation of one or more batches with the same source."""
        joined = parts[0]._like(np.concatenate([part.positions for part in parts]))
        joined._ids = [sample_id for part in parts for sample_id in part.ids]
        joined.is_open = any(part.is_open for part in parts)
        for name in dict.fromkeys(name for part in parts for name in part._own):
            joined._own[name] = concatenated(
                [part._own[name] if name in part._own else part._stored(name) for part in parts]
            )
        for name in dict.fromkeys(name for part in parts for name in part.stats):
            joined.stats[name] = concatenated([part.stats[name] for part in parts])
            digests = {part.known_stats.get(name) for part in parts}
            if len(digests) == 1 and None not in digests:
                joined.known_stats[name] = str(digests.pop())
        return joined

    def slices(self, size: int) -> Iterator[Self]:
        """The batch in parts of `size` samples; the last may be smaller."""
        for start in range(0, len(self), size):
            yield self.take(np.arange(start, min(start + size, len(self))))

    def to_samples(self, *, stats: bool = False, keeps_ranges: bool = False) -> list[dict[str, Any]]:
        """The samples as plain dicts with all values; optionally with their statistics under `__dj__stats__`."""
        samples = [dict(sample) for sample in self.samples(keeps_ranges=keeps_ranges)]
        if stats:
            for sample, values in zip(samples, self.stats_column(), strict=True):
                sample[STATS] = values
        return samples

    def stats_column(self, order: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The statistics of each sample as one dict: those in `stats`, and others from the source.

        Args:
            order: Names of statistics that come last, in this order, whether they are from `stats` or the source.
        """
        names = [*(name for name in self.stats if name not in order), *(name for name in order if name in self.stats)]
        values = [as_list(self.stats[name]) for name in names]
        rows: Iterable[tuple[Any, ...]] = zip(*values, strict=True) if values else [()] * len(self)
        added = [dict(zip(names, row, strict=True)) for row in rows]
        if STATS not in self._source.names():
            return added
        before: list[Any] = self._source.values(self.positions, STATS)
        for old in before:
            if not isinstance(old, Mapping | None):
                what = f"{STATS} is a {type(old).__name__}; it holds the statistics of filters by name"
                raise TypeError(f"{what}: name the column otherwise, or leave the statistics out (keep_stats)")
        merged = [{**(old or {}), **new} for old, new in zip(before, added, strict=True)]
        return [
            {
                **{name: value for name, value in row.items() if name not in order},
                **{name: row[name] for name in order if name in row},
            }
            for row in merged
        ]

    # Private methods.

    def _like(self, positions: "npt.NDArray[np.int64]") -> Self:
        batch = type(self).__new__(type(self))
        batch._source, batch.positions, batch.roles = self._source, positions, self.roles
        batch.stats, batch.known_stats, batch.is_open = {}, {}, self.is_open
        batch._ids, batch._own, batch._shared = None, {}, {}
        return batch

    def _is_removed(self, name: str) -> bool:
        values = self._own.get(name)
        return isinstance(values, list) and len(values) > 0 and all(value is REMOVED for value in values)

    def _lacks(self, name: str) -> bool:
        """Whether no sample has this column.

        Raises:
            KeyError: No other sample has it either; or it is the column of a role, operators added it, and a sample
                lacks it.
        """
        if not len(self._source) or self._source.is_input(name):
            return name not in self._own and name not in self._source.names()
        names = self._source.names()
        role = next((role for role in ROLES if self.roles.column(role) == name), None)
        is_known = name in self._own or name in names
        # The result must not depend on the other samples of the batch.
        if (not is_known and not self.is_open) or (role is not None and not self._is_whole(name)):
            advice = f"; name the column of the {role} in the recipe's dataset, or in Roles" if role else ""
            # If columns differ between samples, the batch cannot show which columns exist.
            there = "" if self.is_open else f"; there are: {', '.join(names)}"
            raise KeyError(f"no column {name!r}{there}{advice}")
        return not is_known

    def _is_whole(self, name: str) -> bool:
        """Whether all samples have a column."""
        if name in self._own:
            return all(value is not REMOVED for value in self._own[name])
        return all(name in sample for sample in self._source.samples(self.positions))

    def _stored(self, name: str) -> list[Any]:
        """A column of the source, with `REMOVED` for samples without it."""
        return [sample.get(name, REMOVED) for sample in self._source.samples(self.positions)]

    def _values(self, steps: Steps) -> list[Any]:
        name, remaining = str(steps[0]), steps[1:]
        if name == STATS and self.stats:
            values: list[Any] = self.stats_column()
        elif self._lacks(name):
            values = [None] * len(self)
        elif name in self._own:
            values = [None if value is REMOVED else with_bytes(value) for value in as_list(self._own[name])]
        else:
            values = self._source.values(self.positions, name)
        if not remaining:
            return values
        if None in remaining:
            return [find(value, remaining) for value in values]
        return [next(iter(find(value, remaining)), None) for value in values]

    def _media_values(self, steps: Steps) -> list[Any]:
        name = str(steps[0])
        if name in self._own:
            return [None if value is REMOVED else value for value in as_list(self._own[name])]
        is_stored = name != STATS and not self._lacks(name)
        return self._source.media_values(self.positions, name) if is_stored else self._values(steps)

    def _plain_text(self) -> pa.Array | None:
        """The texts, if every sample has a single string as its text; otherwise None."""
        if "plain_text" not in self._shared:
            steps = self.roles.steps("text")
            if None in steps or "texts" in self._shared:
                return None
            values: Any
            own = self._own.get(str(steps[0]))
            if own is None:
                lacks = self._lacks(str(steps[0]))
                values = None if lacks else self._source.strings(self.positions, text_of(steps))
            else:
                values = own if len(steps) == 1 else None
            if not isinstance(values, pa.Array):
                if values is None or set(map(type, values)) != {str}:
                    return None
                values = pa.array(values, pa.large_string())
            if values.type not in {pa.string(), pa.large_string()} or values.null_count:
                return None
            self._shared["plain_text"] = values.cast(pa.large_string())
        return self._shared["plain_text"]

    def _joined(self) -> pa.Array:
        plain = self._plain_text()
        if plain is not None:
            return plain
        steps = self.roles.steps("text")
        if None not in steps and "texts" not in self._shared:
            values = self._values(steps)
            if all(value is None or isinstance(value, str) for value in values):
                return pa.array([value or "" for value in values], pa.large_string())
        separator = self.roles.separator
        return pa.array([separator.join(texts) for texts in self.texts], pa.large_string())

    def _separate(self) -> list[list[str]]:
        steps = self.roles.steps("text")
        return [texts_at(value, steps[1:]) for value in self._values((steps[0],))]
