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
    target = os.path.realpath(out)
    for path in inputs:
        real = os.path.realpath(path)
        if target == real or real.startswith(os.path.join(target, "")):  # noqa: PTH118 - str in, str out
            raise ValueError(f"{out} is also an input, which is never changed; choose another name")
