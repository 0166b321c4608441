"""The exception classes of JINX, by cause; `rust/jinx-py/src/errors.rs` raises them.

They derive from `JinxError` and, where Python has one, from the standard type too. They pickle, so that worker
processes can pass them on.
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
