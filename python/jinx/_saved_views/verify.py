"""`jinx.verify` of the bases of a saved view."""

from collections.abc import Callable
from typing import Any

from jinx import _core
from jinx._core import Reader
from jinx._dataset.dataset import Dataset
from jinx._results import Problem
from jinx._saved_views.bases import Base, footer_of, is_view
from jinx._urls import is_url
from jinx.errors import MismatchError, UnsupportedError

_OPTIONS: dict[str, Any] = {"verify": "none"}


def base_problems(view: str, check: Callable[[str], list[Problem]]) -> list[Problem]:
    """The problems of the bases of a view whose own files are intact; none for other datasets."""
    if not is_url(view) and not is_view(view):
        return []
    problems: list[Problem] = []
    checked: set[str] = set()
    whole = Dataset(location=view, **_OPTIONS)
    if not whole._is_saved_view():
        return []
    for rows in _core.view_files(whole):
        file = whole._derive(rows=rows)
        problems += _of_file(view if view.endswith(".jinx") else file._shard_paths[0], file, check, checked)
    return problems


def _of_file(view: str, file: Reader, check: Callable[[str], list[Problem]], checked: set[str]) -> list[Problem]:
    problems: list[Problem] = []
    for i, base in enumerate(footer_of(file)["base"]):
        try:
            path = _core.find_base(file, view, i)
        except (MismatchError, UnsupportedError) as error:
            cause = "mismatch" if isinstance(error, MismatchError) else "unsupported"
            problems.append(Problem(view, None, None, None, cause, str(error).removeprefix(f"{view}: ")))
            continue
        # An empty file may be a base of JSON lines, although it is not a dataset on its own.
        if path not in checked and (base["kind"] != "jsonl" or base["num_samples"]):
            checked.add(path)
            problems += check(path)
        if base["kind"] == "jsonl":
            problems += _problems_of_lines(base, i, view, file, path)
    return problems


def _problems_of_lines(base: Base, i: int, view: str, file: Reader, path: str) -> list[Problem]:
    if _core.hash_file(path) != base.get("content"):
        return [Problem(path, None, None, None, "mismatch", f"the lines are not those that {view} was saved over")]
    [root] = Dataset([path], plain=True, verify="none")._root_files()
    if root.line_offsets(0) != _core.view_line_offsets(file, i):
        return [Problem(view, None, None, None, "corrupt", f"the stored line offsets are not those of {path}")]
    return []
