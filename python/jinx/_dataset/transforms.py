"""The transforms that `select_columns` and `map` apply to samples."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jinx._unpickle import rebuild


class KeepColumns(NamedTuple):
    """Keeps some columns of a transformed sample; picklable, as every transform should be."""

    columns: tuple[str, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("KeepColumns", self.columns)

    def __call__(self, sample: Any) -> dict[str, Any]:
        """The sample with only these columns."""
        return {name: sample[name] for name in self.columns if name in sample}


class MergeIntoSample(NamedTuple):
    """Merges what a function returns into the sample; see `Dataset.map`."""

    function: Callable[[Any], Any]
    removed: tuple[str, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, ("MergeIntoSample", self.function, self.removed)

    def __call__(self, sample: Any) -> Any:
        """A copy of the sample, as lazy as it was, with the function's columns."""
        new = self.function(sample)
        if new is not None and not isinstance(new, Mapping):
            raise TypeError(
                f"the function given to map returned {type(new).__name__}; return a dict of columns to merge, or use "
                "with_transform to replace the sample"
            )
        merged = sample.copy()
        for name in self.removed:
            merged.pop(name, None)
        merged.update(new or {})
        return merged
