"""Functions over whole columns of texts, computed in Rust on several cores without the GIL.

    jinx.kernels.count_words(["two words", ""])  # array([2, 0])

Texts are a pyarrow array or chunked array of strings, anything with Arrow's C interface, or a list of str; a null
counts as the empty text. `threads` is the number of threads to use: all cores if it is not given, and fewer where
there is little to do. They need pyarrow: `pip install 'jinx-data[arrow]'`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from jinx import _core
from jinx._optional import require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "Clusters",
    "band_keys",
    "character_repetition",
    "code_points",
    "count_characters",
    "count_words",
    "hash128",
    "minhash",
    "replace_links",
    "word_repetition",
]

CharacterClass = Literal["all", "letter", "alphanumeric", "digit", "whitespace", "symbol"]
Split = Literal["space", "unicode"]
Tokens = Literal["space", "punctuation", "character"]


def code_points(texts: Any, *, threads: int | None = None) -> "npt.NDArray[np.int64]":
    """The length of each text in code points, int64 of shape (n,)."""
    return count_characters(texts, "all", threads=threads)


def count_characters(texts: Any, of: CharacterClass = "all", *, threads: int | None = None) -> "npt.NDArray[np.int64]":
    """How many code points of a class each text has, int64 of shape (n,).

    Args:
        texts: Strings.
        of: `"letter"`, `"digit"` and `"whitespace"` as Unicode has them, of any script; `"symbol"` is everything that
            is neither of them.
        threads: How many threads to use.

    Raises:
        InvalidError: The class is not known, or the column does not hold strings.
    """
    return _array(_core.kernel_count_characters(_table(texts), of, threads or 0), "int64")


def count_words(texts: Any, *, split: Split = "space", threads: int | None = None) -> "npt.NDArray[np.int64]":
    """How many words each text has, int64 of shape (n,).

    Args:
        texts: Strings.
        split: `"space"`: what lies between white space, without digits, punctuation and symbols at either end; what
            has no letter is not a word. `"unicode"`: at Unicode's word boundaries, for scripts without spaces, where
            each ideograph is a word.
        threads: How many threads to use.
    """
    return _array(_core.kernel_count_words(_table(texts), split, threads or 0), "int64")


def character_repetition(texts: Any, n: int, *, threads: int | None = None) -> "npt.NDArray[np.float64]":
    """The share of the most frequent n-grams of characters among all of each text, float64 of shape (n,), from 0 to 1.

    If a text has k different n-grams of which m occur more than once, the min(sqrt(k), m) most frequent ones count.
    """
    return _array(_core.kernel_character_repetition(_table(texts), n, threads or 0), "float64")


def word_repetition(
    texts: Any, n: int, *, split: Split = "space", threads: int | None = None
) -> "npt.NDArray[np.float64]":
    """The share of n-grams of words that occur more than once in a text, float64 of shape (n,), from 0 to 1.

    Words are those of `count_words`, in lower case.
    """
    return _array(_core.kernel_word_repetition(_table(texts), n, split, threads or 0), "float64")


def replace_links(texts: Any, replacement: str = "", *, threads: int | None = None) -> list[str | None]:
    """The texts with `http://`, `https://`, `ftp://` and `www.` links replaced; None for a text that has none.

    A link ends before white space, a quotation mark, an angle bracket or Chinese and Japanese punctuation.
    Punctuation at its end and a closing bracket that it does not open belong to the sentence and stay.
    """
    return _core.kernel_replace_links(_table(texts), replacement, threads or 0)


def hash128(
    texts: Any, *, ignore_case: bool = False, ignore_non_letters: bool = False, threads: int | None = None
) -> "npt.NDArray[np.uint64]":
    """A 128-bit hash of each text, uint64 of shape (n, 2): equal where texts are equal.

    Args:
        texts: Strings.
        ignore_case: Texts that differ in case only have the same hash.
        ignore_non_letters: Only letters count: not white space, digits, punctuation and symbols.
        threads: How many threads to use.
    """
    found = _core.kernel_hash128(_table(texts), ignore_case, ignore_non_letters, threads or 0)
    return _array(found, "uint64").reshape(-1, 2)


def minhash(
    texts: Any,
    *,
    tokens: Tokens = "space",
    window: int = 5,
    lowercase: bool = True,
    permutations: int = 256,
    threads: int | None = None,
) -> "npt.NDArray[np.uint32]":
    """The MinHash signature of each text, uint32 of shape (n, permutations).

    The share of equal elements of two signatures estimates the Jaccard similarity of the texts' sets of shingles. The
    signatures are the same on every machine.

    Args:
        texts: Strings.
        tokens: What shingles are made of: what lies between white space, or between white space and punctuation, or
            code points.
        window: Tokens of a shingle; a text with fewer has one shingle of all its tokens.
        lowercase: Whether case makes no difference.
        permutations: Elements of a signature.
        threads: How many threads to use.

    Raises:
        InvalidError: The numbers are not possible.
    """
    found = _core.kernel_minhash(_table(texts), tokens, window, lowercase, permutations, threads or 0)
    return _array(found, "uint32").reshape(-1, permutations)


def band_keys(signatures: "npt.NDArray[np.uint32]", bands: int, rows: int | None = None) -> "npt.NDArray[np.uint64]":
    """A key for each band of each signature, uint64 of shape (n, bands): equal where all elements of the band are.

    Args:
        signatures: Those of `minhash`, of shape (n, permutations).
        bands: How many.
        rows: Elements of a band; permutations // bands if not given.

    Raises:
        InvalidError: The bands do not fit into a signature.
    """
    data, permutations = signatures.astype("<u4", copy=False).tobytes(), signatures.shape[1]
    length = permutations // max(bands, 1) if rows is None else rows
    return _array(_core.kernel_band_keys(data, permutations, bands, length), "uint64").reshape(-1, bands)


class Clusters:
    """Groups of positions that are connected by equal keys (a union-find).

    Args:
        count: Positions are those below it. Each takes 8 bytes.
    """

    def __init__(self, count: int) -> None:
        self._groups = _core.Clusters(count)

    def join_equal(self, keys: "npt.NDArray[np.uint64]", positions: "npt.NDArray[np.integer[Any]]") -> None:
        """Join the positions whose keys are equal.

        Args:
            keys: uint64 of shape (n,).
            positions: Integers of shape (n,).

        Raises:
            InvalidError: The lengths differ, or a position is out of range.
        """
        self._groups.join_equal(keys.astype("<u8", copy=False).tobytes(), positions.astype("<u8", copy=False).tobytes())

    def roots(self) -> "npt.NDArray[np.int64]":
        """The least position of the group of each position, int64 of shape (count,)."""
        return _array(self._groups.roots(), "int64")


def _table(texts: Any) -> Any:
    """Texts as an Arrow table of one column."""
    pyarrow = require("pyarrow", extra="arrow", what="A kernel")
    if isinstance(texts, pyarrow.Array | pyarrow.ChunkedArray):
        column = texts
    elif hasattr(texts, "__arrow_c_array__"):
        column = pyarrow.array(texts)
    elif hasattr(texts, "__arrow_c_stream__"):
        column = pyarrow.chunked_array(texts)
    elif isinstance(texts, Iterable) and not isinstance(texts, str | bytes):
        column = pyarrow.array(texts, pyarrow.large_string())
    else:
        raise TypeError(f"texts are an Arrow array or a list of str, not {type(texts).__name__}")
    return pyarrow.table([column], names=["text"])


def _array(data: bytearray, dtype: str) -> Any:
    import numpy as np

    return np.frombuffer(data, dtype=np.dtype(dtype).newbyteorder("<")).astype(dtype, copy=False)
