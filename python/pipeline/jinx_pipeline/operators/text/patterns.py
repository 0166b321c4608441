"""Regular expressions of recipes, applied one after another to columns of texts."""

from collections.abc import Iterable

import pyarrow as pa

from jinx.errors import InvalidError
from jinx_pipeline import kernels
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.parameters import ParameterError


def checked_pattern(operator: str, pattern: str, repl: str, parameter: str = "pattern") -> None:
    """Refuse a pattern that cannot be parsed.

    Raises:
        ParameterError: The pattern does not parse, or lacks the groups of its replacement.
    """
    try:
        kernels.replace_pattern([], _plain(pattern), repl)
    except InvalidError as error:
        raise ParameterError(operator, parameter, str(error)) from None


def replaced(texts: pa.Array, steps: Iterable[tuple[str, str]], ctx: Context) -> pa.Array:
    """The texts with the matches of each pattern replaced; a dot also matches a line end."""
    for pattern, repl in steps:
        texts = merged(texts, kernels.replace_pattern(texts, _plain(pattern), repl, threads=ctx.threads))
    return texts


def merged(texts: pa.Array, edited: list[str | None]) -> pa.Array:
    """The edited texts, with the unchanged text wherever there is None."""
    if all(text is None for text in edited):
        return texts
    import pyarrow.compute as pc  # slower to import than the rest of Arrow

    return pc.coalesce(pa.array(edited, texts.type), texts)  # pyright: ignore[reportAttributeAccessIssue] - pyarrow creates it


def _plain(pattern: str) -> str:
    """The pattern without an `r'...'` around it, as Data-Juicer's recipes may have."""
    if len(pattern) > 2 and pattern.startswith(("r'", 'r"')) and pattern[-1] == pattern[1]:  # noqa: PLR2004 - an r and quotes
        pattern = pattern[2:-1]
    return f"(?s){pattern}"
