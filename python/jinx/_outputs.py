"""Names of outputs."""

import os
from collections.abc import Iterable


def refuse_existing(path: str) -> None:
    """Refuse an existing output, which is replaced only when the caller asks for it.

    Raises:
        FileExistsError: The name exists.
    """
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists; replace it with overwrite=True (--overwrite), or choose another name")


def refuse_input(out: str, inputs: Iterable[str]) -> None:
    """Refuse an output that is also an input, or a directory that holds one.

    Raises:
        ValueError: It is.
    """
    target, there = os.path.realpath(out), _status(out)
    for path in inputs:
        real, found = os.path.realpath(path), _status(path)
        # Two names of one file, too.
        is_same = there is not None and found is not None and os.path.samestat(there, found)
        if is_same or target == real or real.startswith(os.path.join(target, "")):  # noqa: PTH118 - str in, str out
            raise ValueError(f"{out} is also an input, which is never changed; choose another name")


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - str in, str out
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
