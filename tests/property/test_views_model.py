"""Views behave as the plain list of dicts that they show, whatever chain of operations made them."""

import operator
import pickle
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import jinx
import jinx.mds
from property.values import same

Row = dict[str, Any]

LARGEST = 150
NAN = float("nan")
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
}
POSITIONS = st.integers(-60, 60)


def sparse_row(number: int) -> Row:
    """With values that are None, NaN or absent, each in a pattern of its own."""
    row: Row = {"id": f"s{number:03}", "n": number, "group": number % 3, "tags": ["t"] * (number % 4)}
    row["score"] = (None, 0.5, 0.25, NAN, -1.0)[number % 5]
    row["word"] = None if number % 4 == 1 else f"w{number % 6}"
    row["mixed"] = number if number % 2 else str(number)
    row["blob"] = bytes([number]) * (number % 7 * 20)
    if number % 3:
        row["flag"] = number % 2 == 0
    if number % 7 == 2:
        del row["tags"]
    if number % 6 == 4:
        del row["score"]
    return row


def whole_row(number: int) -> Row:
    """What MDS can hold: the same columns in every sample."""
    row = {"id": f"s{number:03}", "n": number, "group": number % 3, "tags": [number] * (number % 4)}
    return {**row, "score": np.float64(number % 5 / 4)}


def text_row(number: int) -> Row:
    """What JSON holds."""
    return {name: value for name, value in sparse_row(number).items() if name != "blob" and value == value}  # noqa: PLR0124 - NaN


def write_pair(out: Path, rows: list[Row]) -> None:
    with jinx.Writer(out) as writer:
        writer.write_many(rows)


def write_pair_without_index(out: Path, rows: list[Row]) -> None:
    with jinx.Writer(out, only_indexed=[], sidecar=False) as writer:
        writer.write_many(rows)


def write_directory(out: Path, rows: list[Row]) -> None:
    with jinx.Writer(out, shard_size=400) as writer:
        writer.write_many(rows)


def write_lines(out: Path, rows: list[Row]) -> None:
    import json

    out.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_mds(out: Path, rows: list[Row]) -> None:
    columns = {"id": "str", "n": "int", "group": "int", "score": "float64", "tags": "json"}
    with jinx.mds.MDSWriter(columns=columns, out=str(out), size_limit=300) as writer:
        for row in rows:
            writer.write(row)


FORMATS: dict[str, tuple[str, Callable[[int], Row], Callable[[Path, list[Row]], None]]] = {
    "pair": ("{}.jinx", sparse_row, write_pair),
    "pair without index": ("{}-plain.jinx", sparse_row, write_pair_without_index),
    "directory": ("{}-shards", sparse_row, write_directory),
    "JSON lines": ("{}.jsonl", text_row, write_lines),
    "MDS": ("{}-mds", whole_row, write_mds),
}


@cache
def stored(kind: str, first: int, last: int) -> tuple[Path, list[Row]]:
    """A dataset of some numbers, written once, and its rows."""
    name, make, write = FORMATS[kind]
    path = Path(directory()) / name.format(f"{first}-{last}")
    rows = [make(number) for number in range(first, last)]
    write(path, rows)
    return path, rows


@cache
def directory() -> str:
    # The object removes the directory when the process ends.
    stored.directory = tempfile.TemporaryDirectory()  # pyright: ignore[reportFunctionMemberAccess]
    return stored.directory.name


def expected_column(values: list[Any], in_files: list[Any]) -> Any:
    """As `Dataset.column` promises: its type follows from the values in the files, not from those of the view."""
    kinds = {float if isinstance(value, float) else type(value) for value in in_files if value is not None}
    if len(kinds) != 1 or not kinds <= {bool, int, float}:
        return values
    [kind] = kinds
    filler = NAN if kind is float else kind()
    array = np.array([filler if value is None else value for value in values], dtype=kind)
    if None not in in_files:
        return array
    return np.ma.MaskedArray(array, mask=[value is None for value in values])


def sorted_rows(rows: list[Row], key: Callable[[Row], Any], *, descending: bool) -> list[Row]:
    """Equal ones keep their order; those without a value, or with NaN, come last."""

    def is_there(row: Row) -> bool:
        value = key(row)
        return value is not None and value == value  # noqa: PLR0124 - NaN

    there = sorted(filter(is_there, rows), key=key, reverse=descending)
    return there + [row for row in rows if not is_there(row)]


def permutation(seed: int, count: int) -> list[int]:
    """The order that a seed means, on every machine and in every version."""
    return np.random.Generator(np.random.PCG64(seed)).permutation(count).tolist()


class ViewsModel(RuleBasedStateMachine):
    """The same operations on a view and on a list."""

    @initialize(kind=st.sampled_from(sorted(FORMATS)), count=st.sampled_from([0, 1, 23]), lazy=st.booleans())
    def open(self, kind: str, count: int, lazy: bool):
        if count == 0 and kind in {"directory", "MDS", "JSON lines"}:
            count = 1
        self.kind, self.options = kind, {"lazy": lazy}
        path, rows = stored(kind, 0, count)
        self.view = jinx.open(path, **self.options)
        self.files = self.rows = rows
        self.columns = list(dict.fromkeys(name for row in rows for name in row))
        self.is_narrowed = False
        assert sorted(self.view.column_names) == sorted(self.columns)
        self.columns = self.view.column_names

    def shown(self, rows: list[Row]) -> list[Row]:
        return [{name: row[name] for name in self.columns if name in row} for row in rows]

    def has(self, *names: str) -> bool:
        return all(name in self.columns for name in names)

    # Operations that select samples.

    @rule(start=st.none() | POSITIONS, stop=st.none() | POSITIONS, step=st.sampled_from([None, 1, 2, 7, -1, -3]))
    def slice(self, start, stop, step):
        self.view, self.rows = self.view[start:stop:step], self.rows[start:stop:step]

    @rule(data=st.data(), kind=st.sampled_from([list, tuple, np.array, iter]))
    def select(self, data, kind):
        limit = len(self.rows)
        picked = data.draw(st.lists(st.integers(-limit, limit - 1), max_size=30)) if limit else []
        self.view = self.view.select(kind(picked))
        self.rows = [self.rows[index] for index in picked]

    @rule(data=st.data(), by=st.sampled_from(["filter", "index", "list"]))
    def filter_by_mask(self, data, by):
        mask = data.draw(st.lists(st.booleans(), min_size=len(self.rows), max_size=len(self.rows)))
        given = mask if by == "list" else np.array(mask, dtype=bool)
        self.view = self.view.filter(given) if by == "filter" else self.view.select(given)
        self.rows = [row for row, kept in zip(self.rows, mask, strict=True) if kept]

    @precondition(lambda self: self.has("score") and any(isinstance(row.get("score"), float) for row in self.files))
    @rule(name=st.sampled_from(sorted(COMPARISONS)), bound=st.sampled_from([-1.0, 0.25, 0.5]), negated=st.booleans())
    def filter_by_comparison(self, name, bound, negated):
        """A missing value passes no condition, negated or not."""
        compare = COMPARISONS[name]
        mask = compare(self.view["score"], bound)
        self.view = self.view.filter(~mask if negated else mask)
        self.rows = [
            row for row in self.rows if row.get("score") is not None and compare(row["score"], bound) != negated
        ]

    @precondition(lambda self: self.has("n"))
    @rule(divisor=st.integers(1, 5))
    def filter_by_function(self, divisor):
        self.view = self.view.filter(lambda sample: sample["n"] % divisor == 0)
        self.rows = [row for row in self.rows if row["n"] % divisor == 0]

    @rule(shards=st.integers(1, 9), data=st.data(), remainder=st.sampled_from([None, "drop", "pad"]))
    def shard(self, shards, data, remainder):
        index = data.draw(st.integers(0, shards - 1))
        self.view = self.view.shard(num_shards=shards, index=index, remainder=remainder)
        count = len(self.rows)
        if remainder is None:
            sizes = [count // shards + (number < count % shards) for number in range(shards)]
            chosen = range(sum(sizes[:index]), sum(sizes[: index + 1]))
        else:
            size = count // shards if remainder == "drop" else -(-count // shards)
            chosen = range(index * size, (index + 1) * size)
        self.rows = [self.rows[position % count] for position in chosen]

    @rule(fraction=st.floats(0, 1), seed=st.none() | st.integers(0, 3), first=st.booleans())
    def split(self, fraction, seed, first):
        count = len(self.rows)
        order = list(range(count)) if seed is None else permutation(seed, count)
        size = round(count * fraction)
        parts = [[self.rows[position] for position in sorted(part)] for part in (order[:size], order[size:])]
        views = self.view.split(fraction, seed=seed)
        assert [len(view) for view in views] == [len(part) for part in parts]
        chosen = 0 if first else 1
        self.view, self.rows = views[chosen], parts[chosen]

    # Operations that order samples.

    @rule(seed=st.integers(0, 5))
    def shuffle(self, seed):
        self.view = self.view.shuffle(seed)
        self.rows = [self.rows[position] for position in permutation(seed, len(self.rows))]

    @precondition(lambda self: self.rows)
    @rule(data=st.data(), minus=st.booleans(), reverse=st.booleans(), how=st.sampled_from(["name", "function"]))
    def sort(self, data, minus, reverse, how):
        sortable = [name for name in ("n", "group", "score", "word", "flag", "tags") if self.has(name)]
        if not sortable:
            return
        name = data.draw(st.sampled_from(sortable))

        def key(row: Any) -> Any:
            value = row.get(name)
            return len(value) if name == "tags" and value is not None else value

        if how == "function":
            minus = False
            self.view = self.view.sort(key, reverse=reverse)
        else:
            text = f"len({name})" if name == "tags" else name
            self.view = self.view.sort(f"-{text}" if minus else text, reverse=reverse)
        self.rows = sorted_rows(self.rows, key, descending=minus != reverse)

    # Operations on columns, and on whole datasets.

    @precondition(lambda self: self.columns)
    @rule(data=st.data(), drop=st.booleans())
    def narrow(self, data, drop):
        chosen = data.draw(
            st.lists(st.sampled_from(self.columns), unique=True, min_size=1, max_size=3 if drop else None)
        )
        if drop and len(chosen) < len(self.columns):
            self.view = self.view.drop_columns(chosen)
            self.columns = [name for name in self.columns if name not in chosen]
        else:
            self.view = self.view.select_columns(chosen)
            self.columns = chosen
        self.is_narrowed = True

    @precondition(lambda self: 2 * len(self.rows) + 4 < LARGEST and len(self.files) < LARGEST)
    @rule(cut=st.integers(0, 30), other=st.booleans())
    def concat(self, cut, other):
        """With views over the same files, and with another dataset."""
        views, rows, files = [self.view[:cut], self.view[::-1]], self.rows[:cut] + self.rows[::-1], self.files * 2
        if other:
            path, more = stored(self.kind, 30, 34)
            dataset = jinx.open(path, **self.options)
            if self.is_narrowed:
                if not set(self.columns) <= set(dataset.column_names):
                    return
                dataset = dataset.select_columns(self.columns)
            views, rows, files = [*views, dataset], rows + more, files + more
        self.view, self.rows, self.files = jinx.concat(views), rows, files
        if not self.is_narrowed:
            self.columns = self.view.column_names
            assert set(self.columns) == {name for row in files for name in row}

    @rule()
    def pickle(self):
        self.view = pickle.loads(pickle.dumps(self.view))

    # What a view shows.

    @rule(data=st.data())
    def take(self, data):
        if self.rows:
            limit = len(self.rows)
            picked = data.draw(st.lists(st.integers(-limit, limit - 1), max_size=12))
            expected = self.shown([self.rows[index] for index in picked])
            assert same_samples(self.view.take(picked), expected)
            assert same_samples(self.view.__getitems__(picked), expected)
            assert same_samples([self.view[index] for index in picked], expected)

    @precondition(lambda self: self.has("tags"))
    @rule()
    def lengths(self):
        assert self.view.lengths("tags").tolist() == [len(row.get("tags") or []) for row in self.rows]

    @invariant()
    def equal(self):
        if not hasattr(self, "view"):
            return
        assert len(self.view) == len(self.rows)
        expected = self.shown(self.rows)
        assert same_samples(self.view, expected)
        if self.rows:
            assert same_samples([self.view[-1]], expected[-1:])
        assert self.view.column_names == self.columns
        for name in self.columns:
            found = self.view[name]
            wanted = expected_column([row.get(name) for row in self.rows], [row.get(name) for row in self.files])
            assert type(found) is type(wanted), name
            if isinstance(wanted, list):
                assert same(found, wanted), name
            else:
                assert found.dtype.kind == wanted.dtype.kind or {found.dtype.kind, wanted.dtype.kind} == {"i", "u"}
                assert np.ma.getmaskarray(found).tolist() == np.ma.getmaskarray(wanted).tolist(), name
                assert np.array_equal(found.data, wanted.data, equal_nan=wanted.dtype.kind == "f"), name


def same_samples(found: Any, expected: list[Row]) -> bool:
    """In any order of their columns, which depends on how the dataset was narrowed."""
    samples = [dict(sorted(dict(sample).items())) for sample in found]
    return same(samples, [dict(sorted(row.items())) for row in expected])


TestViews = ViewsModel.TestCase
TestViews.settings = settings(stateful_step_count=12)
