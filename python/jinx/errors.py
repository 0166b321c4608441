"""Every error of JINX, by cause.

They derive from `JinxError` and, where Python has one, from the standard type too; each rebuilds from its one
message, so that worker processes can hand them on.
"""

from jinx._core import (
    CorruptFileError,
    InternalError,
    InvalidError,
    JinxError,
    LimitError,
    MismatchError,
    PanicError,
    TruncatedFileError,
    UnsupportedError,
)

__all__ = [
    "CorruptFileError",
    "InternalError",
    "InvalidError",
    "JinxError",
    "LimitError",
    "MismatchError",
    "PanicError",
    "TruncatedFileError",
    "UnsupportedError",
]
