"""Outputs at URLs: written on this machine first, and copied when they are complete."""

import os
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast

from jinx import _core
from jinx._convert.formats import format_of
from jinx._object_store import ObjectStore
from jinx._outputs import output_name
from jinx._scratch import scratch_directory
from jinx._urls import is_readable

ONLY_JINX = "only JINX is written at URLs; write the file on this machine, and copy it"
_NO_OPTIONS: Mapping[str, Any] = {}
F = TypeVar("F", bound=Callable[..., Any])


class RemoteOutput:
    """A dataset that is written to a temporary directory on this machine, and then copied to a URL.

    Args:
        url: Its place.
        overwrite: Replace an existing dataset there.
        options: The options of a reader that reach the store.

    Attributes:
        path: Where to write it.

    Raises:
        FileExistsError: There is a dataset, and `overwrite` is not set.
        ValueError: The name is that of another format.
    """

    def __init__(self, url: str, *, overwrite: bool, options: Mapping[str, Any] = _NO_OPTIONS) -> None:
        if format_of(url) not in {None, "jinx"}:
            raise ValueError(f"{url}: {ONLY_JINX}")
        self._url = url.rstrip("/")
        self._overwrite = overwrite
        self._options = {"storage": options.get("storage")}
        if not overwrite:
            self._refuse_existing()
        self._stack = ExitStack()
        work = self._stack.enter_context(scratch_directory(tempfile.gettempdir()))
        self.path = os.path.join(work, self._url.rpartition("/")[2])  # noqa: PTH118 - str in, str out

    def _refuse_existing(self) -> None:
        """Refuse an existing output before hours of work; the copy checks again."""
        store = ObjectStore(self._options["storage"])
        if store.exists(self._url if self._url.endswith(".jinx") else f"{self._url}/jinx.json"):
            raise FileExistsError(
                f"{self._url}: there is a dataset at this URL; replace it with overwrite=True (--overwrite), or choose "
                "another name"
            )

    def publish(self) -> None:
        """Copy the finished dataset to the URL."""
        with self._stack:
            _core.upload(self.path, self._url, self._overwrite, self._options)

    def discard(self) -> None:
        """Remove the temporary dataset."""
        self._stack.close()


@contextmanager
def local_output(out: str, *, overwrite: bool, options: Mapping[str, Any] = _NO_OPTIONS) -> Generator[str]:
    """The path to write: `out` itself, or for a URL a temporary one, whose dataset is copied to the URL at the end.

    Args:
        out: A path or a URL.
        overwrite: Replace an existing dataset at the URL.
        options: The options of a reader that reach the store of the URL.
    """
    if not is_readable(out):
        yield out
        return
    output = RemoteOutput(out, overwrite=overwrite, options=options)
    try:
        yield output.path
        output.publish()
    finally:
        output.discard()


def also_to_urls(function: F) -> F:
    """Let a function whose second parameter `out` names its output also write to URLs."""

    @wraps(function)
    def write(source: Any, out: Any = None, *arguments: Any, **options: Any) -> Any:
        if out is None or not is_readable(url := output_name(out)):
            return function(source, out, *arguments, **options)
        if options.get("view"):
            raise ValueError(f"{url}: a view is written at a URL by ds.save(url)")
        if options.get("output_format") not in {None, "jinx"}:
            raise ValueError(f"{url}: {ONLY_JINX}")
        with local_output(url, overwrite=bool(options.pop("overwrite", False))) as path:
            done = function(source, path, *arguments, **options)
        return replace(done, path=url)

    return cast("F", write)
