"""Selects samples by tags: the operator `tags_specified_field_selector`."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.dedup.pairs import gathered
from jinx_pipeline.exchange.chunks import Chunks
from jinx_pipeline.exchange.key_file import POSITION
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Decision, Keys, Partitioned
from jinx_pipeline.operators.api.parameters import Words
from jinx_pipeline.operators.api.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("tags_specified_field_selector")
class TagsSpecifiedFieldSelector(Partitioned):
    """Keeps the samples whose tag in a field is one of the given tags; in a list of tags, at least one must be.

        create("tags_specified_field_selector", field_key="tag", target_tags=["a"])([{"tag": "a"}, {"tag": "b"}])
        # [{"tag": "a"}]

    Attributes:
        field_key: A column or path.
        target_tags: The tags; if not given, all samples are kept.
    """

    kind = "selector"
    field_key: str = ""
    target_tags: Words | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.field_key,) if self.field_key else ()

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        if not self.field_key or self.target_tags is None:
            return pa.table({"is_chosen": np.ones(len(batch), np.bool_)})
        targets = self.target_tags
        tags = [value if isinstance(value, list) else [value] for value in batch.column(self.field_key)]
        return pa.table({"is_chosen": [any(tag in targets for tag in sample_tags) for sample_tags in tags]})

    def key_table(self, signatures: pa.Table, kind: int) -> pa.Table:
        del kind
        is_chosen = signatures.column("is_chosen").to_numpy()
        return pa.table({POSITION: np.flatnonzero(is_chosen).astype(np.uint32)})

    def partitioned(
        self, keys: pa.Table, kind: int, partitions: int, edges: Any
    ) -> "tuple[pa.Table, npt.NDArray[np.int64]]":
        del kind, edges
        return keys, np.array([0, *[len(keys)] * partitions], np.int64)

    def keys_at_once(self, memory: int | None) -> int:
        # Keys are not compared with each other, so one call of `look` can take any number of them.
        return sys.maxsize

    def look(self, keys: Keys, look: int) -> pa.Table:
        return pa.table({"place": gathered(keys.read(look))[POSITION]})

    def decide(self, keys: Keys, looks: Sequence[pa.Table]) -> Decision:
        return Decision(Chunks(lambda: (table.column("place").to_numpy() for table in looks)))
