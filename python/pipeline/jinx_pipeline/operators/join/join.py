"""Joins two datasets by a key: the operator `join`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

import jinx
from jinx._suggest import some_of
from jinx_pipeline import kernels
from jinx_pipeline.dedup.exact import HASH, hash_table
from jinx_pipeline.exchange.chunks import all_positions
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.hash_keys import HashKeys
from jinx_pipeline.operators.api.key_texts import present_key_texts
from jinx_pipeline.operators.api.keyed import Decision, Edits, Exchanged, Keys, Partitioned
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.join.column_conflict import ColumnTakenError
from jinx_pipeline.operators.join.matches import Matches, matched
from jinx_pipeline.sample.content_identity import content_identity, digest_of, refuse_replaced
from jinx_pipeline.sample.paths import parse, text_of
from jinx_pipeline.sample.roles import ROLES
from jinx_pipeline.store.mirror import fetched

if TYPE_CHECKING:
    import numpy.typing as npt

    Rows = npt.NDArray[np.int64]


@register("join")
class Join(HashKeys, Partitioned, Edits):
    """Adds columns of another dataset: each sample gets those of the row with the same key.

    1 and 1.0 are the same key; true and "1" are different keys. A sample whose key is missing, or is not in the other
    dataset, gets null (`how: left`) or is dropped (`inner`); both are counted. Existing columns are never replaced.

        create("join", path="path/to/captions.jinx", on="id", columns=["caption"])([{"id": 1}])

    Attributes:
        path: The other dataset: JINX, a saved view or MDS.
        on: The column or path of the key in both datasets, or a list of them; or a dict that maps columns or paths of
            the samples to those of the other dataset.
        how: Whether samples without a row in the other dataset stay.
        columns: The columns to add; by default all except the columns of the key.
        prefix: A prefix for the names of the added columns.
        duplicates: For rows with the same key in the other dataset, `first` uses the first row, and `fail` stops the
            run.
    """

    kind = "join"
    version = 3
    path: str
    on: str | list[str] | dict[str, str]
    how: Literal["left", "inner"] = "left"
    columns: list[str] | None = None
    prefix: str = ""
    duplicates: Literal["fail", "first"] = "fail"

    # In a worker, the `content_digest` that the dataset had when the run began.
    _expected: ClassVar[str] = ""

    def check(self) -> None:
        if not self.pairs:
            raise ParameterError(self.name, "on", "on is empty; name a column or path")
        try:
            for key in (*self.pairs, *self.pairs.values()):
                parse(key)
        except ValueError as error:
            raise ParameterError(self.name, "on", str(error)) from None
        repeated = [name for name, count in Counter(self.columns or []).items() if count > 1]
        if repeated:
            raise ParameterError(self.name, "columns", f"columns has {repeated[0]!r} twice; name each column once")

    def resolve(self) -> None:
        for name in ("_other", "_identity"):
            self.__dict__.pop(name, None)
        self._other = self._opened()
        _ = self._identity

    def _opened(self) -> "jinx.Dataset":
        """The other dataset, after checking the columns that the parameters name."""
        try:
            other = jinx.open(self.path)
        except (FileNotFoundError, jinx.errors.JinxError) as error:
            raise ParameterError(self.name, "path", str(error)) from None
        known = other.column_names
        if not len(other):
            return other  # without samples there are no columns to check
        for parameter, names in (
            ("on", [parse(key)[0] for key in self.pairs.values()]),
            ("columns", self.columns or []),
        ):
            for name in names:
                if name not in known:
                    problem = f"{self.path} has no column {name!r}; there are: {some_of(known)}"
                    raise ParameterError(self.name, parameter, problem)
        return other

    @property
    def pairs(self) -> dict[str, str]:
        """The paths of the key in the samples and in the other dataset."""
        if isinstance(self.on, dict):
            return self.on
        return {key: key for key in ([self.on] if isinstance(self.on, str) else self.on) if key}

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.pairs)

    @property
    def writes(self) -> tuple[str, ...]:
        return tuple(f'"{name}"' if name in ROLES else text_of((name,)) for name in self.added.values())

    @property
    def added(self) -> dict[str, str]:
        """The columns of the other dataset to add, with their new names."""
        names = self.columns
        if names is None:
            keys = {steps[0] for steps in map(parse, self.pairs.values()) if len(steps) == 1}
            names = [name for name in self._other.column_names if name not in keys]
        return {name: self.prefix + name for name in names}

    @property
    def other(self) -> tuple[str, Exchanged]:
        """The path of the other dataset, and the operator that computes its keys."""
        return self.path, OtherKeys(join=self)

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        return _key_table(batch, list(self.pairs), ctx)

    @property
    def key_columns(self) -> list[list[str]]:
        return [list(HASH)]

    def partitions(self, samples: int, max_keys: int) -> int:
        return super().partitions(max(samples, len(self._other)), max_keys)

    def look(self, keys: Keys, look: int) -> pa.Table:
        return matched(keys.read(look), keys.read_other(look))

    def decide(self, keys: Keys, looks: Sequence[pa.Table]) -> Decision:
        matches = Matches.from_looks(len(keys), looks)
        if matches.duplicates and self.duplicates == "fail":
            first, second = matches.example
            suffix = f", and {matches.duplicates - 1:,} more like them" if matches.duplicates > 1 else ""
            raise ValueError(
                f"{self.name}: samples {first} and {second} of {self.path} have the same key{suffix}; duplicates: "
                "first takes the first of them"
            )
        order = all_positions(matches.count) if self.how == "left" else matches.matched
        counts = {"unmatched": matches.unmatched, "duplicates": matches.duplicates}
        return Decision(order, keys=matches.rows, counts=counts)

    def editor(self, keys: str) -> "JoinEditor":
        editor = JoinEditor(join=self, rows=Path(keys))
        editor.name = self.name  # pyright: ignore[reportAttributeAccessIssue] - only for this instance
        return editor

    def refuse_taken(self, batch: Batch) -> None:
        """Refuse samples that already have one of the columns that the join adds.

        Raises:
            ColumnTakenError: The samples have such a column.
        """
        conflicts = sorted(set(batch.column_names).intersection(self.added.values()))
        # The column may occur only in samples of other sources.
        taken = [name for name in conflicts if any(name in sample for sample in batch.samples())]
        if taken:
            raise ColumnTakenError(self.name, taken[0])

    def values(self, rows: "Rows") -> Mapping[str, Any]:
        """The columns to add to samples, with the values from rows of the other dataset; row -1 gives null."""
        matched_places = np.flatnonzero(rows >= 0)
        samples = self._other.take(rows[matched_places], list(self.added)) if len(matched_places) else []
        columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in self.added.values()}
        for place, sample in zip(matched_places.tolist(), samples, strict=True):
            for name, new_name in self.added.items():
                columns[new_name][place] = sample.get(name)
        return columns

    def signatures_of_other(self, ctx: Context) -> Sequence[pa.Table]:
        operator, whole = OtherKeys(join=self), Batch(self._other)
        return [operator.signatures(part, ctx) for part in whole.slices(self.batch_size)]

    def run(self, batch: Batch, ctx: Context) -> Batch:
        if len(batch):
            self.refuse_taken(batch)
        return super().run(batch, ctx)

    def apply(self, batch: Batch, decision: Decision, ctx: Context) -> Batch:
        rows: Any = decision.keys
        return super().apply(batch.with_columns(self.values(rows.array())), decision, ctx)

    def _digest_of(self, parameters: dict[str, Any]) -> str:
        return super()._digest_of({**parameters, "other": self._identity})

    @cached_property
    def _other(self) -> "jinx.Dataset":
        if self._expected:
            refuse_replaced(self.path, self._expected)
        return self._opened()

    @cached_property
    def _identity(self) -> dict[str, Any]:
        return content_identity(self._other)

    def __getstate__(self) -> dict[str, Any]:
        # Do not send the dataset: each worker opens it itself.
        state = {name: value for name, value in self.__dict__.items() if name not in {"_other", "_identity"}}
        expected = self._expected or digest_of(self._identity)
        return {**state, "path": str(Path(self.path).absolute()), "_expected": expected}


class OtherKeys(HashKeys):
    """The keys of the dataset that a join adds.

    Attributes:
        join: The join.
    """

    name = Join.name
    join: Join

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        return _key_table(batch, list(self.join.pairs.values()), ctx)

    @property
    def key_columns(self) -> list[list[str]]:
        return self.join.key_columns

    def run(self, batch: Batch, ctx: Context) -> Batch:
        del ctx
        return batch


class JoinEditor(Mapper):
    """Adds the columns of a join to samples.

    Attributes:
        join: The join.
        rows: The file (.npy) with the row of the other dataset for each sample.
    """

    only_adds = True
    join: Join
    rows: Path

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    @property
    def writes(self) -> tuple[str, ...]:
        return self.join.writes

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        self.join.refuse_taken(batch)
        return self.join.values(np.array(ctx.model(str(self.rows), _load_rows)[batch.positions]))


def _key_table(batch: Batch, paths: list[str], ctx: Context) -> pa.Table:
    texts = present_key_texts([batch.column(path) for path in paths], len(batch))
    missing = np.array([text is None for text in texts], dtype=np.bool_)
    return hash_table(kernels.hash128([text or "" for text in texts], threads=ctx.threads), missing)


def _load_rows(path: str, device: str) -> "Rows":
    del device
    return np.load(fetched(path), mmap_mode="r")
