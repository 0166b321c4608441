"""The exception classes of JINX, by cause; `rust/jinx-py/src/errors.rs` raises them.

The classes derive from `JinxError` and from a standard exception, if there is one for the cause. They can be pickled,
so that worker processes can pass them on.
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
