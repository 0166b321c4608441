"""Multimodal training data in two plain files: readable JSON lines with an index, and a binary sidecar, read lazily.

jinx.convert("in.parquet", "out.jinx")
ds = jinx.open("out.jinx")
ds[42]["image"]
"""

from jinx._core import (
    CorruptFileError,
    InternalError,
    InvalidError,
    JinxError,
    LazyDict,
    LimitError,
    MismatchError,
    TruncatedFileError,
    UnsupportedError,
    __version__,
)

# `TYPE_CHECKING` is defined here instead of imported: opening a file does not need `typing`, and importing jinx stays
# cheap.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from jinx import errors, mds, torch
    from jinx._annotate.annotate import annotate
    from jinx._convert.convert import convert
    from jinx._convert.stream import stream
    from jinx._dataset.dataset import Dataset
    from jinx._files.merge import merge
    from jinx._files.verify import repair, verify
    from jinx._open import open
    from jinx._order.shuffle import shuffle
    from jinx._order.sort import sort
    from jinx._pack.comparison import PackComparison, compare_packing
    from jinx._pack.config import PackConfig
    from jinx._pack.pack import pack
    from jinx._pack.plan import PackPlan
    from jinx._pack.schedule import PackSchedule
    from jinx._pack.stats import PackStats
    from jinx._results import (
        BaseInfo,
        CompactResult,
        DatasetInfo,
        DedupResult,
        OrderResult,
        Problem,
        RepairResult,
        SplitResult,
        WriteResult,
    )
    from jinx._rewrite.compact import compact
    from jinx._rewrite.concat import concat
    from jinx._rewrite.dedup import dedup
    from jinx._rewrite.select import select
    from jinx._rewrite.split import split
    from jinx._saved_views.rebase import rebase
    from jinx._writer import Writer

__all__ = [
    "BaseInfo",
    "CompactResult",
    "CorruptFileError",
    "Dataset",
    "DatasetInfo",
    "DedupResult",
    "InternalError",
    "InvalidError",
    "JinxError",
    "LazyDict",
    "LimitError",
    "MismatchError",
    "OrderResult",
    "PackComparison",
    "PackConfig",
    "PackPlan",
    "PackSchedule",
    "PackStats",
    "Problem",
    "RepairResult",
    "SplitResult",
    "TruncatedFileError",
    "UnsupportedError",
    "WriteResult",
    "Writer",
    "__version__",
    "annotate",
    "compact",
    "compare_packing",
    "concat",
    "convert",
    "dedup",
    "errors",
    "mds",
    "merge",
    "open",
    "pack",
    "rebase",
    "repair",
    "select",
    "shuffle",
    "sort",
    "split",
    "stream",
    "torch",
    "verify",
]

_LAZY = {
    "BaseInfo": "jinx._results",
    "CompactResult": "jinx._results",
    "Dataset": "jinx._dataset.dataset",
    "DatasetInfo": "jinx._results",
    "OrderResult": "jinx._results",
    "DedupResult": "jinx._results",
    "PackComparison": "jinx._pack.comparison",
    "PackConfig": "jinx._pack.config",
    "PackPlan": "jinx._pack.plan",
    "PackSchedule": "jinx._pack.schedule",
    "PackStats": "jinx._pack.stats",
    "Problem": "jinx._results",
    "RepairResult": "jinx._results",
    "SplitResult": "jinx._results",
    "WriteResult": "jinx._results",
    "Writer": "jinx._writer",
    "annotate": "jinx._annotate.annotate",
    "compact": "jinx._rewrite.compact",
    "concat": "jinx._rewrite.concat",
    "compare_packing": "jinx._pack.comparison",
    "convert": "jinx._convert.convert",
    "dedup": "jinx._rewrite.dedup",
    "merge": "jinx._files.merge",
    "open": "jinx._open",
    "pack": "jinx._pack.pack",
    "rebase": "jinx._saved_views.rebase",
    "repair": "jinx._files.verify",
    "shuffle": "jinx._order.shuffle",
    "sort": "jinx._order.sort",
    "select": "jinx._rewrite.select",
    "split": "jinx._rewrite.split",
    "stream": "jinx._convert.stream",
    "verify": "jinx._files.verify",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in {"errors", "mds", "torch"}:
        return import_module(f"jinx.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'jinx' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
