"""tags_specified_field_selector."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Decision, Divided, Keys
from jinx_pipeline.operators.api.registry import register


@register("tags_specified_field_selector")
class TagsSpecifiedFieldSelector(Divided):
    """Keeps the samples whose tag at a field is one of some tags; of a list of tags one must be.

        create("tags_specified_field_selector", field_key="tag", target_tags=["a"])([{"tag": "a"}, {"tag": "b"}])
        # [{"tag": "a"}]

    Attributes:
        field_key: A column or path.
        target_tags: The tags; if not given, all samples are kept.
    """

    kind = "selector"
    field_key: str = ""
    target_tags: list[str] | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.field_key,) if self.field_key else ()

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        if not self.field_key or self.target_tags is None:
            return pa.table({"is_chosen": np.ones(len(batch), np.bool_)})
        wanted = self.target_tags
        tags = [value if isinstance(value, list) else [value] for value in batch.column(self.field_key)]
        return pa.table({"is_chosen": [any(tag in wanted for tag in one) for one in tags]})

    def shares(self, keys: Keys) -> int:
        return 1

    def look(self, keys: Keys, share: int, shares: int) -> pa.Table:
        found = [np.flatnonzero(table.column("is_chosen").to_numpy()) + start for start, table in keys.placed()]
        return pa.table({"place": np.concatenate([np.empty(0, np.int64), *found])})

    def decide(self, keys: Keys, found: Sequence[pa.Table]) -> Decision:
        return Decision(found[0]["place"].to_numpy())
