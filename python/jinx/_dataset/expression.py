"""`Dataset.filter` by an expression such as `"score > 0.5"`; `rust/jinx-format/src/expression` evaluates it."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from jinx import _core
from jinx._arguments import encodable
from jinx._core import Reader
from jinx._dataset.columns import parse_name, require_path
from jinx.errors import InvalidError

D = TypeVar("D", bound=Reader)


def matching(dataset: D, expression: str, limit: int | None = None) -> D:
    """The samples that an expression selects, in their order; see `Dataset.filter`.

    Args:
        dataset: The view.
        expression: The condition.
        limit: The maximum number of samples to select; reading stops at this number.

    Raises:
        InvalidError: The expression does not parse, or compares values that cannot be compared.
        KeyError: No sample has one of its paths; the message names the nearest path.
    """
    if dataset._transforms:
        raise InvalidError(
            "an expression is about stored columns, and map or with_transform changes the samples; filter first, or "
            "give filter a function"
        )
    try:
        encodable("the expression", expression)
    except ValueError as error:
        raise InvalidError(str(error)) from None
    written = _core.expression_paths(expression)
    if not dataset._base_len():  # the columns of an empty dataset are not all known
        return dataset
    stats = dataset._path_stats()
    paths = [_resolved(dataset, text) for text in written]
    kinds = [_kinds(path, stats) for path in paths]
    chosen, not_found = dataset._filter(expression, paths, kinds, limit)
    for path, is_missing in zip(paths, not_found, strict=True):
        require_path(dataset, path, exists=not is_missing)
    return dataset._derive(indices=chosen)


def _resolved(dataset: Reader, text: str) -> list[str]:
    """The names in a path of an expression.

    Raises:
        KeyError: No sample has this column.
    """
    try:
        return parse_name(dataset, text)
    except KeyError as error:
        hint = f"; a string is written '{text[1:-1]}'" if text.startswith('"') else ""
        raise KeyError(f"{error.args[0]}{hint}") from None


def _kinds(path: Sequence[str], stats: Sequence[Mapping[str, Any]]) -> list[str]:
    """The kinds of all values at a path, if the files list them; below the top level, these lists are incomplete."""
    if len(path) > 1:
        return []
    return [kind for entry in stats if list(entry["path"]) == list(path) for kind in entry["kinds"]]
