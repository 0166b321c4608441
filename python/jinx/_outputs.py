"""Names of outputs."""

import os


def refuse_existing(path: str) -> None:
    """Refuse an existing output, which is replaced only when the caller asks for it.

    Raises:
        FileExistsError: The name exists.
    """
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists; replace it with overwrite=True (--overwrite), or choose another name")
