"""The samples that an operator works on: texts as Arrow columns, lazy media, and columns that operators changed."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cache, partial
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, Final, Self, final

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.returned import ReturnedError, check_count
from jinx_pipeline.operators.api.sample_source import STATS, Source, in_order, source_of
from jinx_pipeline.sample.media import MediaList
from jinx_pipeline.sample.paths import Steps, find, text_of
from jinx_pipeline.sample.roles import ROLES, Role, Roles
from jinx_pipeline.sample.texts import texts_at, with_texts

if TYPE_CHECKING:
    import numpy.typing as npt


@final
class Removed:
    """The type of `REMOVED`."""

    def __repr__(self) -> str:
        return "REMOVED"

    def __reduce__(self) -> str:
        return "REMOVED"


REMOVED: Final = Removed()
"""As a value of a changed column: the sample has this column no more."""


class Batch:
    """Some samples of a dataset, and what operators have changed or found out about them.

    Args:
        source: A jinx dataset, or a list of dicts.
        positions: Which of its samples, as int64 of shape (n,); all if not given.
        roles: Where the texts and media are.
        ids: A name for each sample that no other sample of the run has; the positions if not given.

    Attributes:
        positions: Positions of the samples in the source, int64 of shape (n,).
        roles: Where the texts and media are.
        stats: Statistics by name, an Arrow array with a value for each sample; filters add to them.
        known_stats: By name, the digest of the filter that computed a statistic for the texts and media as they are.
        is_open: Whether a column that no sample of the batch has may exist in others, and is missing here, not unknown.
            That of a role is missing only if the input has it: an operator would silently do nothing.
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

    # Contents.

    @property
    def ids(self) -> list[str]:
        """A name for each sample, for `Context.rng`."""
        if self._ids is None:
            self._ids = [str(position) for position in self.positions.tolist()]
        return self._ids

    @property
    def is_named(self) -> bool:
        """Whether the names may be others than the positions."""
        return self._ids is not None

    @property
    def source(self) -> Any:
        """What the batch was made of."""
        return self._source.origin

    @property
    def column_names(self) -> list[str]:
        """The columns of the source and those that operators added."""
        names = dict.fromkeys([*self._source.names(), *in_order(self._own)])
        return [name for name in names if not self._is_removed(name)]

    @property
    def changed(self) -> dict[str, Any]:
        """The columns that operators changed or added, with a value for each sample (`REMOVED`: it has none)."""
        return dict(self._own)

    def column(self, path: str) -> list[Any]:
        """The value at a role or path of each sample; None where there is none, a list for a path with `[*]`.

        Raises:
            KeyError: The source has no such column.
        """
        return self._values(self.roles.steps(path))

    def stored_numbers(self, path: str) -> "npt.NDArray[Any] | None":
        """The numbers of an indexed column, of shape (n,), masked where there is none.

        None if it is not indexed, if one is not a number, or if an operator changed it; `column` has the values then.
        """
        steps = self.roles.steps(path)
        if None in steps or str(steps[0]) in self._own or str(steps[0]) == STATS or self._lacks(str(steps[0])):
            return None
        return self._source.numbers(self.positions, text_of(steps))

    def numbers(self, path: str) -> "npt.NDArray[np.float64]":
        """The numbers at a path, float64 of shape (n,); NaN where there is none.

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
        """The text of each sample as Arrow strings; several are joined, and a sample without text has the empty one."""
        return self.shared("text", self._joined)

    @property
    def texts(self) -> list[list[str]]:
        """The texts of each sample one by one, for operators that edit them; see `with_texts_as`."""
        return self.shared("texts", self._separate)

    @property
    def flat_texts(self) -> pa.Array:
        """The texts of all samples one after another, as Arrow strings."""
        plain = self._plain_text()
        if plain is not None:
            return plain
        texts = self.texts
        return pa.array([text for one in texts for text in one], pa.large_string())

    def with_texts_as(self, edited: Sequence[str | None] | pa.Array) -> dict[str, Any]:
        """The changed columns when `flat_texts` become `edited`; none if every text is as it was.

        Args:
            edited: As many texts; None for one that stays.

        Raises:
            ValueError: The number of texts differs.
        """
        if isinstance(edited, str):
            raise TypeError("an edit returns a list or an array of texts, not one text")
        plain, steps = self._plain_text(), self.roles.steps("text")
        if plain is not None and len(steps) == 1 and len(edited) == len(self):
            import pyarrow.compute as pc  # takes longer than all else that a worker imports of Arrow

            given = edited if isinstance(edited, pa.Array) else pa.array(edited, plain.type)
            # An attribute that pyarrow makes when it is imported.
            whole = pc.coalesce(given.cast(plain.type), plain)  # pyright: ignore[reportAttributeAccessIssue]
            return {} if whole.equals(plain) else {str(steps[0]): whole}
        after: list[str | None] = _python(edited)
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
        """The images, audios or videos of each sample; nothing is read before it is touched.

        Raises:
            KeyError: The source has no such column.
        """
        key = ("media", role)
        if key not in self._shared:
            steps = self.roles.steps(role)
            name = str(steps[0])
            self._lacks(name)
            # The first medium that is touched reads those of the batch, in parallel.
            values = cache(lambda: self._values((name,)))
            self._shared[key] = [
                MediaList(partial(_element, values, at), steps[1:], role, self.roles) for at in range(len(self))
            ]
        return self._shared[key]

    def samples(self) -> list[MutableMapping[str, Any]]:
        """The samples as mappings whose values are read when they are touched; changes to them stay in them."""
        samples = self._source.samples(self.positions)
        for name in in_order(self._own):
            for sample, value in zip(samples, _python(self._own[name]), strict=True):
                if value is REMOVED:
                    sample.pop(name, None)
                else:
                    sample[name] = value
        return samples

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """A value with an element for each sample (a list, an ndarray or an Arrow array) that several operators need.

        It is made once, follows the samples through `take`, and is forgotten when a column changes.
        """
        if key not in self._shared:
            value = make()
            if len(value) != len(self):
                raise ValueError(f"the shared value {key!r} has {len(value)} elements for {len(self)} samples")
            self._shared[key] = value
        return self._shared[key]

    # What becomes of it.

    def take(self, positions: "npt.ArrayLike") -> Self:
        """The samples at positions in this batch, in that order; or, given a boolean mask, those that it selects."""
        chosen = np.asarray(positions).reshape(-1)
        if chosen.dtype == np.bool_:
            if len(chosen) != len(self):
                raise ValueError(f"a mask of {len(chosen)} elements for {len(self)} samples")
            if chosen.all():
                return self
            chosen = np.flatnonzero(chosen)
        chosen = chosen.astype(np.int64, copy=False)
        made = self._like(self.positions[chosen])
        made._ids = None if self._ids is None else [self._ids[at] for at in chosen.tolist()]
        made._own = {name: _taken(values, chosen) for name, values in self._own.items()}
        made._shared = {key: _taken(values, chosen) for key, values in self._shared.items()}
        made.stats = {name: _taken(values, chosen) for name, values in self.stats.items()}
        made.known_stats = dict(self.known_stats)
        return made

    def with_columns(self, columns: Mapping[str, Any]) -> Self:
        """The batch with other values for some columns, or with new ones.

        Args:
            columns: A value for each sample, as a list, an ndarray or an Arrow array.
        """
        if not columns:
            return self
        for name, values in columns.items():
            check_count(f"the column {name!r}", values, len(self))
        made = self._like(self.positions)
        made._ids = self._ids
        made._own = {**self._own, **columns}
        kept = [role for role in ROLES if self.roles.column(role) not in columns]
        made._shared = {key: value for key, value in self._shared.items() if key in {("media", role) for role in kept}}
        made.stats = dict(self.stats)
        return made

    def with_stats(self, stats: Mapping[str, pa.Array], digest: str) -> Self:
        """The batch with more statistics.

        Args:
            stats: Arrow arrays with a value for each sample.
            digest: Of the filter that computed them; see `Filter.stats_digest`.
        """
        for name, values in stats.items():
            check_count(f"the statistic {name!r}", values, len(self))
        made = self._like(self.positions)
        made._ids, made._own, made._shared = self._ids, self._own, self._shared
        made.stats = {**self.stats, **stats}
        made.known_stats = {**self.known_stats, **dict.fromkeys(stats, digest)}
        return made

    def with_ids(self, ids: Sequence[str]) -> Self:
        """The batch with other names for its samples."""
        made = self.with_stats({}, "")
        made._ids = list(ids)
        return made

    def opened(self) -> Self:
        """The batch with `is_open`: after an operator that may add a column to some samples alone."""
        made = self.with_stats({}, "")
        made.is_open = True
        return made

    def forgotten(self) -> Self:
        """The batch without shared values and decoded media, so that they do not stay in memory."""
        made = self.with_stats({}, "")
        made._shared = {}
        return made

    def unchanged(self) -> Self:
        """The samples as the source has them, with their names."""
        made = self._like(self.positions)
        made._ids = self._ids
        return made

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """One batch of several over the same source, in order; at least one."""
        made = parts[0]._like(np.concatenate([part.positions for part in parts]))
        made._ids = [one for part in parts for one in part.ids]
        made.is_open = any(part.is_open for part in parts)
        for name in dict.fromkeys(name for part in parts for name in part._own):
            made._own[name] = _concatenated(
                [part._own[name] if name in part._own else part._stored(name) for part in parts]
            )
        for name in dict.fromkeys(name for part in parts for name in part.stats):
            made.stats[name] = _concatenated([part.stats[name] for part in parts])
            digests = {part.known_stats.get(name) for part in parts}
            if len(digests) == 1 and None not in digests:
                made.known_stats[name] = str(digests.pop())
        return made

    def slices(self, size: int) -> Iterator[Self]:
        """The batch in parts of `size` samples; the last may be smaller."""
        for start in range(0, len(self), size):
            yield self.take(np.arange(start, min(start + size, len(self))))

    def to_samples(self, *, stats: bool = False) -> list[dict[str, Any]]:
        """The samples as plain dicts, everything read; with their statistics under `__dj__stats__` if asked for."""
        samples = [dict(sample) for sample in self.samples()]
        if stats:
            for sample, values in zip(samples, self.stats_column(), strict=True):
                sample[STATS] = values
        return samples

    def stats_column(self, order: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The statistics of each sample as one dict: those in the source, and over them those of `stats`.

        Args:
            order: Names of statistics that come last, in this order, wherever they are from.
        """
        names = [*(name for name in self.stats if name not in order), *(name for name in order if name in self.stats)]
        values = [_python(self.stats[name]) for name in names]
        rows: Iterable[tuple[Any, ...]] = zip(*values, strict=True) if values else [()] * len(self)
        found = [dict(zip(names, row, strict=True)) for row in rows]
        if STATS not in self._source.names():
            return found
        before: list[Any] = self._source.values(self.positions, STATS)
        together = [{**old, **new} if isinstance(old, Mapping) else new for old, new in zip(before, found, strict=True)]
        return [
            {
                **{name: value for name, value in row.items() if name not in order},
                **{name: row[name] for name in order if name in row},
            }
            for row in together
        ]

    # Inside.

    def _like(self, positions: "npt.NDArray[np.int64]") -> Self:
        made = type(self).__new__(type(self))
        made._source, made.positions, made.roles = self._source, positions, self.roles
        made.stats, made.known_stats, made.is_open = {}, {}, self.is_open
        made._ids, made._own, made._shared = None, {}, {}
        return made

    def _is_removed(self, name: str) -> bool:
        values = self._own.get(name)
        return isinstance(values, list) and len(values) > 0 and all(value is REMOVED for value in values)

    def _lacks(self, name: str) -> bool:
        """Whether no sample has a column.

        Raises:
            KeyError: Nor has any other; or it is that of a role that operators have added, and a sample lacks it.
        """
        if not len(self._source) or self._source.is_input(name):
            return name not in self._own and name not in self._source.names()
        names = self._source.names()
        role = next((role for role in ROLES if self.roles.column(role) == name), None)
        is_known = name in self._own or name in names
        # Whether others in the batch have it makes no difference.
        if (not is_known and not self.is_open) or (role is not None and not self._is_whole(name)):
            advice = f"; name the column of the {role} in the recipe's dataset, or in Roles" if role else ""
            # Where columns depend on the sample, others in the batch say nothing.
            there = "" if self.is_open else f"; there are: {', '.join(names)}"
            raise KeyError(f"no column {name!r}{there}{advice}")
        return not is_known

    def _is_whole(self, name: str) -> bool:
        """Whether all samples have a column."""
        if name in self._own:
            return all(value is not REMOVED for value in self._own[name])
        return all(name in sample for sample in self._source.samples(self.positions))

    def _stored(self, name: str) -> list[Any]:
        """A column as the source has it, `REMOVED` where it has none."""
        return [sample.get(name, REMOVED) for sample in self._source.samples(self.positions)]

    def _values(self, steps: Steps) -> list[Any]:
        name, rest = str(steps[0]), steps[1:]
        if name == STATS and self.stats:
            values: list[Any] = self.stats_column()
        elif self._lacks(name):
            values = [None] * len(self)
        elif name in self._own:
            values = [None if value is REMOVED else value for value in _python(self._own[name])]
        else:
            values = self._source.values(self.positions, name)
        if not rest:
            return values
        if None in rest:
            return [find(value, rest) for value in values]
        return [next(iter(find(value, rest)), None) for value in values]

    def _plain_text(self) -> pa.Array | None:
        """The texts, if the role leads to one string in every sample; None otherwise."""
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


def _element(values: Callable[[], list[Any]], at: int) -> Any:
    return values()[at]


def _python(values: Any) -> list[Any]:
    """The values of a column as Python's own."""
    if isinstance(values, list):
        return values
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.to_pylist()
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _taken(values: Any, positions: "npt.NDArray[np.int64]") -> Any:
    """The elements at positions."""
    if isinstance(values, np.ndarray):
        return values[positions]
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.take(pa.array(positions))
    return [values[at] for at in positions.tolist()]


def _concatenated(parts: Sequence[Any]) -> Any:
    """The values of several batches as one column."""
    if all(isinstance(part, pa.Array) for part in parts) and len({part.type for part in parts}) == 1:
        return pa.concat_arrays(parts)
    return [value for part in parts for value in _python(part)]
