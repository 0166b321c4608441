"""Mosaic Data Shards: readers, a writer, and a reader for the library Streaming; `rust/jinx-mds` does the work.

`jinx.open` opens an MDS directory like any other dataset.
"""

# `TYPE_CHECKING` is defined here instead of imported. Streaming and its dependencies are loaded only for names that
# need them.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from jinx.mds._readers import BulkReader, RamReader
    from jinx.mds._streaming import MDSReader, patch_streaming, unpatch, unpatch_streaming
    from jinx.mds._writer import MDSWriter, merge_index

__all__ = [
    "BulkReader",
    "MDSReader",
    "MDSWriter",
    "RamReader",
    "merge_index",
    "patch_streaming",
    "unpatch",
    "unpatch_streaming",
]

_LAZY = {
    "BulkReader": "jinx.mds._readers",
    "MDSReader": "jinx.mds._streaming",
    "MDSWriter": "jinx.mds._writer",
    "RamReader": "jinx.mds._readers",
    "merge_index": "jinx.mds._writer",
    "patch_streaming": "jinx.mds._streaming",
    "unpatch": "jinx.mds._streaming",
    "unpatch_streaming": "jinx.mds._streaming",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _LAZY:
        raise AttributeError(f"module 'jinx.mds' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
