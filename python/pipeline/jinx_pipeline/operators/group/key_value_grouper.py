"""key_value_grouper."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.kinds import Grouper
from jinx_pipeline.operators.parameters import ParameterError
from jinx_pipeline.operators.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("key_value_grouper")
class KeyValueGrouper(Grouper):
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

    def group(self, columns: Mapping[str, Sequence[Any]], count: int) -> "list[npt.NDArray[np.int64]]":
        groups: dict[Any, list[int]] = {}
        for at, key in enumerate(zip(*(columns[name] for name in self.group_by_keys), strict=True)):
            groups.setdefault(tuple(_comparable(value) for value in key), []).append(at)
        return [np.array(places, dtype=np.int64) for places in groups.values()]


def _comparable(value: Any) -> Any:
    """A value as a key: 1, 1.0 and True are different, and so are lists with different elements."""
    if isinstance(value, list | dict):
        return json.dumps(value, sort_keys=True, default=repr)
    return (type(value), value)
