"""Multimodal training data in one readable file: JSON lines, an index and a binary sidecar, read lazily.

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

# Spelt out instead of imported: `typing` is not needed to open a file, and importing jinx stays cheap.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from jinx import errors
    from jinx.checking import repair, verify
    from jinx.converting import convert, from_arrow, stream
    from jinx.dataset import Dataset, concat
    from jinx.opening import open
    from jinx.parts import merge
    from jinx.writer import Writer

__all__ = [
    "CorruptFileError",
    "Dataset",
    "InternalError",
    "InvalidError",
    "JinxError",
    "LazyDict",
    "LimitError",
    "MismatchError",
    "TruncatedFileError",
    "UnsupportedError",
    "Writer",
    "__version__",
    "concat",
    "convert",
    "errors",
    "from_arrow",
    "merge",
    "open",
    "repair",
    "stream",
    "verify",
]

_LAZY = {
    "Dataset": "jinx.dataset",
    "Writer": "jinx.writer",
    "concat": "jinx.dataset",
    "convert": "jinx.converting",
    "from_arrow": "jinx.converting",
    "merge": "jinx.parts",
    "open": "jinx.opening",
    "repair": "jinx.checking",
    "stream": "jinx.converting",
    "verify": "jinx.checking",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "errors":
        return import_module("jinx.errors")
    if name not in _LAZY:
        raise AttributeError(f"module 'jinx' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
