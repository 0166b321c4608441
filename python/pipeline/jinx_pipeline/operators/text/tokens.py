"""Tokenizes texts with a tokenizer chosen by the user."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.needed_files import NeededFile, needed
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa


def load_tokenizer(name: str, device: str) -> Any:
    """The tokenizer of a `tokenizer.json`, for `Context.model`.

    Args:
        name: The path of the file, or of its directory.
        device: Not used.

    Raises:
        FileNotFoundError: The file does not exist.
    """
    del device
    file = _file_of(name)
    if not file.is_file():
        raise FileNotFoundError(f"{name}: no tokenizer there; give the path of a tokenizer.json or of its directory")
    return require("tokenizers", extra="text", what="A tokenizer").Tokenizer.from_file(str(file))


def needed_tokenizer(parameter: str, name: str | Path | None) -> list[NeededFile]:
    """The tokenizer that a parameter names, if any."""
    return [] if name is None else [needed(parameter, _file_of(str(name)))]


def _file_of(name: str) -> Path:
    path = Path(name)
    return path / "tokenizer.json" if path.is_dir() else path


def count_tokens(texts: "pa.Array", tokenizer: str | None, ctx: Context) -> "npt.NDArray[np.int64]":
    """The number of tokens of each text, int64 of shape (n,); without a tokenizer, words by Unicode's rules."""
    if tokenizer is None:
        return kernels.count_words(texts, split="unicode", threads=ctx.threads)
    return np.array([len(numbers) for numbers in _encoded(texts, tokenizer, ctx)], dtype=np.int64)


def numbered_tokens(texts: "pa.Array", tokenizer: str, ctx: Context) -> "pa.Array":
    """The token ids of each text, joined by spaces."""
    import pyarrow as pa

    return pa.array([" ".join(map(str, numbers)) for numbers in _encoded(texts, tokenizer, ctx)], pa.large_string())


def _encoded(texts: "pa.Array", tokenizer: str, ctx: Context) -> list[list[int]]:
    encodings = ctx.model(tokenizer, load_tokenizer).encode_batch(texts.to_pylist(), add_special_tokens=False)
    return [encoding.ids for encoding in encodings]
