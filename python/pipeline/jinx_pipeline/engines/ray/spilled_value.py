"""What is too large for a message of Ray: a file of the working directory.

Ray would put it into the object stores of two nodes, which may be full of what other programs keep there. The storage
that all nodes see is needed anyway.
"""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Ray's limit is 100 KiB for each value.
_MOST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class SpilledValue:
    """A value in a file.

    Attributes:
        path: The file.
    """

    path: str


def spilled_if_large(value: Any, path: Path) -> Any:
    """The value itself if it is small, and a parcel otherwise, whose file is made."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    if len(data) <= _MOST_BYTES:
        return value
    path.write_bytes(data)
    return SpilledValue(str(path))


def loaded_value(value: Any) -> Any:
    """The value of a parcel; anything else is a value itself."""
    if not isinstance(value, SpilledValue):
        return value
    return pickle.loads(Path(value.path).read_bytes())  # noqa: S301 - made by this run


def taken(value: Any) -> Any:
    """The same for the only one who needs it: the file is removed."""
    found = loaded_value(value)
    discard(value)
    return found


def discard(value: Any) -> None:
    """Remove the file of a parcel."""
    if isinstance(value, SpilledValue):
        Path(value.path).unlink(missing_ok=True)
