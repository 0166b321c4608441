"""Outputs at URLs: written on this machine first, and copied when they are complete."""

import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from jinx import _core
from jinx._urls import is_readable

_OPTIONS: Mapping[str, Any] = {}


@contextmanager
def local_output(out: str, *, overwrite: bool, options: Mapping[str, Any] = _OPTIONS) -> Generator[str]:
    """The path to write: `out` itself, or for a URL a temporary one, whose dataset is copied to the URL at the end.

    Args:
        out: A path or a URL.
        overwrite: Replace an existing dataset at the URL.
        options: The options of a reader that reach the store of the URL.
    """
    if not is_readable(out):
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="jinx-") as directory:
        path = os.path.join(directory, out.rstrip("/").rpartition("/")[2] or "out")  # noqa: PTH118 - str in, str out
        yield path
        _core.upload(path, out, overwrite, {"storage": options.get("storage")})
