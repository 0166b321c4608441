"""tags_specified_field_selector."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.context import Context
from jinx_pipeline.operators.kinds import Selector
from jinx_pipeline.operators.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("tags_specified_field_selector")
class TagsSpecifiedFieldSelector(Selector):
    """Keeps the samples whose tag at a field is one of some tags; of a list of tags one must be.

        create("tags_specified_field_selector", field_key="tag", target_tags=["a"])([{"tag": "a"}, {"tag": "b"}])
        # [{"tag": "a"}]

    Attributes:
        field_key: A column or path.
        target_tags: The tags; if not given, all samples are kept.
    """

    field_key: str = ""
    target_tags: list[str] | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.field_key,) if self.field_key else ()

    def select(self, columns: Mapping[str, Sequence[Any]], count: int, ctx: Context) -> "npt.NDArray[np.int64]":
        if not self.field_key or self.target_tags is None:
            return np.arange(count, dtype=np.int64)
        wanted = self.target_tags
        tags = [value if isinstance(value, list) else [value] for value in columns[self.field_key]]
        return np.array([at for at, one in enumerate(tags) if any(tag in wanted for tag in one)], dtype=np.int64)
