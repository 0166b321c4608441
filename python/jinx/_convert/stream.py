"""`jinx.stream`: the samples of any input format, one after another; `_core.stream` reads the files."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jinx import _core
from jinx._arguments import encodable
from jinx._convert.inputs import find_inputs, paths_of
from jinx._convert.options import Path
from jinx._convert.remote import fetched, is_url
from jinx._saved_views.bases import is_view

if TYPE_CHECKING:
    from jinx._convert.formats import FormatName


def stream(
    path: Path | Sequence[Path],
    columns: str | Iterable[str] | None = None,
    *,
    input_format: "FormatName | None" = None,
    where: str | None = None,
    markers: bool = False,
) -> Iterator[dict[str, Any]]:
    """The samples of any input format as plain dicts, one after another.

    Args:
        path: A file, a directory, a pattern, a URL, or a list of these.
        columns: Only these columns.
        input_format: The format, if the suffix does not show it.
        where: Only the samples that this expression selects; see `Dataset.filter`.
        markers: Read markers also in rows that do not begin with `"$jinx": 1`; see `convert`.
    """
    names = [columns] if isinstance(columns, str) else None if columns is None else list(columns)
    if where is not None:
        encodable("the expression", where)
    paths = paths_of(path)

    def read(files: Sequence[str]) -> Iterator[dict[str, Any]]:
        inputs = find_inputs(files, input_format)
        if not inputs.files:
            return iter(())
        # Files are opened one after another, and the working directory may change in between.
        if inputs.format == "jinx" and any(is_view(file) for file in inputs.files):
            return _of_views(inputs.files, names, where)
        absolute = [file if file == "-" else os.path.abspath(file) for file in inputs.files]  # noqa: PTH100
        return _core.stream(absolute, input_format=inputs.format, columns=names, where=where, markers=markers)

    def download() -> Iterator[dict[str, Any]]:
        with fetched(paths, tempfile.gettempdir()) as local:
            yield from read(local)

    return download() if any(is_url(name) for name in paths) else read(paths)


def _of_views(files: Sequence[str], columns: list[str] | None, where: str | None) -> Iterator[dict[str, Any]]:
    from jinx._dataset.dataset import Dataset
    from jinx._open import open

    whole = Dataset.concat([open(file) for file in files])
    chosen = whole if where is None else whole.filter(where)
    return map(dict, chosen if columns is None else chosen.select_columns(columns))
