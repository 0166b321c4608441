"""Reports, metrics and pictures that the user names: where they may be written, and what they may replace."""

import os
import stat
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from jinx._outputs import output_name, refuse_input, refuse_within
from jinx_pipeline.publish.destination import refuse_folder_of
from jinx_pipeline.runlog.work_dir import publish_text
from jinx_pipeline.store.mirror import is_remote

if TYPE_CHECKING:
    from jinx_pipeline.recipe.model import Recipe

# Beginnings of files that these commands write. A file of metrics begins with the name of the first one.
_MARKS = (b"made by jinx-pipeline", b"# HELP jinx_pipeline_")
_BEGINNING_BYTES = 1024


def refuse_file_places(files: Sequence[str | None], recipe: "Recipe", *, overwrite: bool = False) -> None:
    """Refuse file names for reports that would replace anything but earlier reports, before the run begins.

    Args:
        files: The paths, as the user gave them.
        recipe: The recipe, whose inputs, outputs and files are never replaced.
        overwrite: Whether any other regular file may be replaced.

    Raises:
        ValueError: The file is an input, an output or another file of the run, or is not a regular file.
        FileExistsError: Another file is there.
        OSError: Its directory is missing or not writable.
    """
    named = [source.path for source in recipe.sources]
    outputs = [export.path for export in recipe.exports if not is_remote(export.path)]
    folders = [f"{outputs[0]}.work"] if outputs and recipe.options.work_dir is None else []
    folders += [path for path in (recipe.options.work_dir,) if path is not None and not is_remote(path)]
    code = [*recipe.options.custom_operators, *([] if recipe.file is None else [recipe.file])]
    needed = [str(file.path) for step in recipe.steps for file in step.operator.needed_files]
    given = [file for file in files if file is not None]
    for file in given:
        refuse_place_of_file(file, overwrite=overwrite)
        refuse_input(file, [*map(str, named), *map(str, code), *needed])
        refuse_within(file, named)
        for output in (*outputs, *folders):
            names = (output, f"{output.removesuffix('jinx')}binx") if output.endswith(".jinx") else (output,)
            if any(_is_or_holds(name, file) for name in names):
                raise ValueError(f"{file} is, or lies in, {output}, which the run writes; choose another name")
    for first, second in combinations(given, 2):
        if os.path.realpath(first) == os.path.realpath(second):
            raise ValueError(f"{first} is named twice; choose another name")


def refuse_place_of_file(file: str, *, overwrite: bool = False) -> None:
    """Refuse a path with a file that these commands did not write.

    Raises:
        ValueError: The path is a directory, or another thing than a regular file.
        FileExistsError: Another file is there.
        OSError: Its directory is missing or not writable.
    """
    output_name(file)
    # Keep a link, and write to the file that it points to.
    path = Path(os.path.realpath(file))
    refuse_folder_of(path)
    if not path.exists():
        if file.endswith("/"):
            raise ValueError(f"{file}: this is the name of a directory; name a file")
        return
    kind = path.stat().st_mode
    if stat.S_ISDIR(kind):
        raise ValueError(f"{file}: this is a directory; name a file")
    if not stat.S_ISREG(kind):
        raise ValueError(f"{file}: this is not a regular file, and is never replaced; choose another name")
    if overwrite:
        return
    with path.open("rb") as opened:
        beginning = opened.read(_BEGINNING_BYTES)
    if beginning and not any(mark in beginning for mark in _MARKS):
        raise FileExistsError(f"{file} exists, and jinx-pipeline did not make it; remove it, or choose another name")


def write_file(file: str, text: str) -> None:
    """Write a file about a run atomically; an earlier one is replaced."""
    publish_text(Path(os.path.realpath(file)), text)


def _is_or_holds(path: str, file: str) -> bool:
    real, other = os.path.realpath(path), os.path.realpath(file)
    return other == real or other.startswith(os.path.join(real, ""))  # noqa: PTH118 - both are strings
