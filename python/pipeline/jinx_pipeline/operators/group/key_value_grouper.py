"""key_value_grouper."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx import kernels
from jinx_pipeline.dedup.exact import HASH, hash_table
from jinx_pipeline.dedup.pairs import equal_groups
from jinx_pipeline.dedup.signatures import ROWS_AT_ONCE
from jinx_pipeline.operators.batch import Batch
from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.key_texts import exact_texts
from jinx_pipeline.operators.keyed import Decision, Divided, Keys
from jinx_pipeline.operators.kinds import Grouper
from jinx_pipeline.operators.parameters import ParameterError
from jinx_pipeline.operators.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("key_value_grouper")
class KeyValueGrouper(Grouper, Divided):
    """Groups samples that have the same values in some fields; a missing value is a value.

        create("key_value_grouper", group_by_keys=["lang"])([{"lang": "en", "n": 1}, {"lang": "en", "n": 2}])
        # [{"lang": ["en", "en"], "n": [1, 2]}]

    Attributes:
        group_by_keys: Columns or paths.
    """

    group_by_keys: list[str]

    def check(self) -> None:
        if not self.group_by_keys:
            raise ParameterError(self.name, "group_by_keys", "group_by_keys is empty; name a column or path")

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(self.group_by_keys)

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        columns = [batch.column(path) for path in self.group_by_keys]
        return hash_table(kernels.hash128(exact_texts(columns, len(batch)), threads=ctx.threads))

    def shares(self, keys: Keys) -> int:
        return keys.shares_of(len(keys), ROWS_AT_ONCE)

    def look(self, keys: Keys, share: int, shares: int) -> pa.Table:
        return equal_groups(keys.tables, list(HASH), share, shares)

    def decide(self, keys: Keys, found: Sequence[pa.Table]) -> Decision:
        places, firsts = (
            np.concatenate([np.empty(0, np.int64), *(one[name].to_numpy() for one in found)])
            for name in ("place", "first")
        )
        order = np.lexsort((places, firsts))
        places, firsts = places[order], firsts[order]
        bounds = np.flatnonzero(np.diff(firsts, prepend=-1, append=len(keys)))
        return Decision(places, bounds.astype(np.int64))

    def group(self, columns: Mapping[str, Sequence[Any]], count: int) -> "list[npt.NDArray[np.int64]]":
        groups: dict[str, list[int]] = {}
        for at, key in enumerate(exact_texts([columns[name] for name in self.group_by_keys], count)):
            groups.setdefault(key, []).append(at)
        return [np.array(places, dtype=np.int64) for places in groups.values()]
