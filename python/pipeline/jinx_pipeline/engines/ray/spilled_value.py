"""Passes values that are too large for a Ray message in a file of the working directory.

Ray would put them into the object stores of two nodes, which other programs may have filled. Storage that all nodes see
is needed anyway.
"""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinx_pipeline.runlog.work_dir import remove_part
from jinx_pipeline.store.mirror import fetched, push, writable

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
    """The value itself if it is small; otherwise it is written to a file, and a `SpilledValue` is returned."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    if len(data) <= _MOST_BYTES:
        return value
    own = writable(path)
    own.write_bytes(data)
    push(own)
    return SpilledValue(str(path))


def loaded_value(value: Any) -> Any:
    """The value in the file of a `SpilledValue`; any other value is returned as it is."""
    if not isinstance(value, SpilledValue):
        return value
    return pickle.loads(fetched(value.path).read_bytes())  # noqa: S301 - written by this run


def take_value(value: Any) -> Any:
    """Like `loaded_value`, but also removes the file, because nothing else needs it."""
    loaded = loaded_value(value)
    discard(value)
    return loaded


def discard(value: Any) -> None:
    """Remove the file of a `SpilledValue`."""
    if isinstance(value, SpilledValue):
        remove_part(Path(value.path))
