"""Whether two values are stored in the same form."""

import struct
from typing import Any

import numpy as np


def is_same_value(new: Any, old: Any) -> bool:
    """Whether two values are stored as the same bytes, as far as a cheap check shows: 1, 1.0 and True differ."""
    if new is old:
        return True
    if type(new) is not type(old):
        return False
    match new:
        case str() | bytes() | int():
            same = new == old
        case float():
            same = struct.pack("d", new) == struct.pack("d", old)
        case list():
            same = len(new) == len(old) and all(map(is_same_value, new, old))
        case dict():
            same = list(new) == list(old) and all(is_same_value(new[name], old[name]) for name in new)
        case np.ndarray():
            is_alike = new.dtype == old.dtype and new.shape == old.shape and not new.dtype.hasobject
            same = is_alike and new.tobytes() == old.tobytes()
        case _:
            same = False
    return same
