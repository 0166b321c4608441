"""Keeps the settings of counted lengths in a copy whose samples functions changed, as far as they still apply."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jinx._annotate.lengths import COUNTS, IDS, MASK
from jinx._dataset.added_columns import with_replaced
from jinx._saved_views.meta import counted

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset
    from jinx._writer import Writer


class KeptLengths:
    """Compares the counted columns and the lengths of the source with those written.

    Args:
        source: A dataset with functions, decoders or other names for its columns.
    """

    def __init__(self, source: "Dataset") -> None:
        self._stored = source._derive(transforms=[], decoders=None)
        ways = [way.settings for way in counted(self._stored) if way.settings is not None]
        names = dict.fromkeys([*(name for way in ways for name in way.get("columns", [])), *COUNTS, IDS, MASK])
        self._names = [name for name in names if name in self._stored.column_names] if ways else []
        self._replaced: list[str] = []
        self._samples: Iterator[Mapping[str, Any]] = iter(self._stored.select_columns(self._names))

    @property
    def is_needed(self) -> bool:
        """Whether the source has counted lengths."""
        return bool(self._names)

    def compare(self, written: Mapping[str, Any]) -> None:
        """Compare the next sample with its written form."""
        stored = next(self._samples)
        for name in self._names:
            is_same = name not in written or (name in stored and _is_equal(written[name], stored[name]))
            if not is_same and name not in self._replaced:
                self._replaced.append(name)

    def tell(self, writer: "Writer") -> None:
        """Store in the output how its lengths were counted, and for which columns they no longer apply."""
        seen = with_replaced(self._stored, self._replaced) if self._replaced else self._stored
        writer._core.inherit(seen, seen.column_names, [], None, untyped=True)


def _is_equal(new: Any, old: Any) -> bool:
    import numpy as np

    if type(new) is not type(old):
        return False
    try:
        return new.dtype == old.dtype and np.array_equal(new, old) if hasattr(new, "dtype") else bool(new == old)
    except (TypeError, ValueError):  # array comparisons raise these
        return False
