"""Functions over columns of texts, computed in Rust (`rust/jinx-kernels`) on several cores without the GIL.

    kernels.count_words(["two words", ""])  # array([2, 0])

Texts are a pyarrow array or chunked array of strings, anything with Arrow's C interface, or a list of str; a null
counts as the empty text. `threads` is the number of threads to use: by default all cores, or fewer if there is little
to do.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

try:
    from jinx_pipeline import _kernels
except ImportError as error:
    raise ImportError(
        f"the compiled part of jinx-pipeline does not load ({error}): install a wheel, or build it in a clone with"
        " `make develop`",
        name="jinx_pipeline._kernels",
    ) from error

if TYPE_CHECKING:
    import os

    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

__all__ = [
    "Clusters",
    "LanguageModel",
    "LanguageModelTrainer",
    "NgramIndex",
    "band_keys",
    "character_repetition",
    "code_points",
    "count_characters",
    "count_listed_words",
    "count_words",
    "hash128",
    "lines",
    "minhash",
    "near_simhashes",
    "replace_characters",
    "replace_emails",
    "replace_ips",
    "replace_links",
    "replace_pattern",
    "simhash",
    "word_repetition",
]

CharacterClass = Literal["all", "letter", "alphanumeric", "digit", "whitespace", "symbol", "special"]
Split = Literal["space", "unicode"]
Tokens = Literal["space", "punctuation", "character"]
Unit = Literal["word", "character"]


def code_points(texts: Any, *, threads: int | None = None) -> "npt.NDArray[np.int64]":
    """The length of each text in code points, int64 of shape (n,)."""
    return count_characters(texts, "all", threads=threads)


def count_characters(texts: Any, of: CharacterClass = "all", *, threads: int | None = None) -> "npt.NDArray[np.int64]":
    """The number of code points of a class in each text, int64 of shape (n,).

    Args:
        texts: Strings.
        of: `"letter"`, `"digit"` and `"whitespace"` as Unicode has them, of any script; `"symbol"` is everything that
            is neither of them; `"special"` is punctuation, symbols, emoji, digits, white space and control characters,
            but not the marks with which many scripts write vowels.
        threads: How many threads to use.

    Raises:
        InvalidError: The class is not known, or the column does not hold strings.
    """
    return _array(_kernels.count_characters(_table(texts), of, threads or 0), "int64")


def count_words(texts: Any, *, split: Split = "space", threads: int | None = None) -> "npt.NDArray[np.int64]":
    """The number of words in each text, int64 of shape (n,).

    Args:
        texts: Strings.
        split: `"space"`: words are separated by white space; digits, punctuation and symbols at either end do not
            belong to a word, and a word has at least one letter. `"unicode"`: words end at Unicode's word boundaries,
            for scripts without spaces; each ideograph is a word.
        threads: How many threads to use.
    """
    return _array(_kernels.count_words(_table(texts), split, threads or 0), "int64")


def count_listed_words(
    texts: Any,
    words: Iterable[str],
    *,
    split: Split = "space",
    groups: Sequence[int] = (),
    joiner: str = "",
    threads: int | None = None,
) -> "npt.NDArray[np.int64]":
    """The number of words of each text that are in a list, and the number of all its words, int64 of shape (n, 2).

    Args:
        texts: Strings.
        words: The list; case is ignored.
        split: As in `count_words`.
        groups: Sizes of groups of consecutive words that are also looked up joined: 2 finds a word that a text spells
            in two parts.
        joiner: The string between joined words.
        threads: How many threads to use.
    """
    listed, sizes = list(words), list(groups)
    counts = _kernels.count_listed_words(_table(texts), listed, split, sizes, joiner, threads or 0)
    return _array(counts, "int64").reshape(-1, 2)


def lines(texts: Any, *, threads: int | None = None) -> "npt.NDArray[np.int64]":
    """The number of lines of each text and the code points of its longest line, int64 of shape (n, 2).

    Lines are those of `str.splitlines`.
    """
    return _array(_kernels.lines(_table(texts), threads or 0), "int64").reshape(-1, 2)


def character_repetition(texts: Any, n: int, *, threads: int | None = None) -> "npt.NDArray[np.float64]":
    """The share of the most frequent character n-grams among all of a text, float64 of shape (n,), from 0 to 1.

    If a text has k different n-grams of which m occur more than once, the min(sqrt(k), m) most frequent ones count.
    """
    return _array(_kernels.character_repetition(_table(texts), n, threads or 0), "float64")


def word_repetition(
    texts: Any, n: int, *, split: Split = "space", threads: int | None = None
) -> "npt.NDArray[np.float64]":
    """The share of n-grams of words that occur more than once in a text, float64 of shape (n,), from 0 to 1.

    Words are those of `count_words`, in lower case.
    """
    return _array(_kernels.word_repetition(_table(texts), n, split, threads or 0), "float64")


def replace_links(texts: Any, replacement: str = "", *, threads: int | None = None) -> list[str | None]:
    """The texts with `http://`, `https://`, `ftp://` and `www.` links replaced; None for a text without links.

    A link ends before white space, a quotation mark, an angle bracket or Chinese and Japanese punctuation. Punctuation
    at the end of a link, and a closing bracket that the link does not open, belong to the sentence and stay.
    """
    return _kernels.replace_links(_table(texts), replacement, threads or 0)


def replace_characters(
    texts: Any, replacements: Mapping[str, str], *, strip: bool = False, threads: int | None = None
) -> list[str | None]:
    """The texts with characters replaced; None for a text that is unchanged.

    Args:
        texts: Strings.
        replacements: The replacement of each character; an empty string deletes it.
        strip: Also remove white space at both ends, including characters whose replacement is white space or empty.
        threads: How many threads to use.
    """
    return _kernels.replace_characters(_table(texts), dict(replacements), strip, threads or 0)


def replace_emails(texts: Any, replacement: str = "", *, threads: int | None = None) -> list[str | None]:
    """The texts with e-mail addresses replaced; None for a text without addresses."""
    return _kernels.replace_emails(_table(texts), replacement, threads or 0)


def replace_ips(texts: Any, replacement: str = "", *, threads: int | None = None) -> list[str | None]:
    """The texts with IP addresses (version 4 and 6) replaced; None for a text without addresses.

    Text that only looks like an address stays: `999.1.1.1`, a version of five numbers, a time of day.
    """
    return _kernels.replace_ips(_table(texts), replacement, threads or 0)


def replace_pattern(texts: Any, pattern: str, replacement: str = "", *, threads: int | None = None) -> list[str | None]:
    r"""The texts with the matches of a regular expression replaced; None for a text without a match.

    The number of steps for one text is limited, so that no pattern runs forever.

    Args:
        texts: Strings.
        pattern: A regular expression, in the syntax that Python's `re` and Rust's `regex` share, with lookaround and
            back references. Flags such as `(?s)` may be at the beginning.
        replacement: The replacement: `\1` and `\g<1>` are groups, a double backslash is a backslash, and `\n` and `\t`
            are as in Python.
        threads: How many threads to use.

    Raises:
        InvalidError: The pattern does not parse, or lacks a group of the replacement.
        LimitError: The pattern takes too many steps; the message names the text.
    """
    return _kernels.replace_pattern(_table(texts), pattern, _template(replacement), threads or 0)


def hash128(
    texts: Any,
    *,
    ignore_case: bool = False,
    ignore_non_letters: bool = False,
    ignore_ends: bool = False,
    threads: int | None = None,
) -> "npt.NDArray[np.uint64]":
    """A 128-bit hash of each text, uint64 of shape (n, 2): equal where texts are equal.

    Args:
        texts: Strings.
        ignore_case: Texts that only differ in case have the same hash.
        ignore_non_letters: Hash only letters, and ignore white space, digits, punctuation and symbols. A text without
            letters is hashed unchanged.
        ignore_ends: White space at both ends is ignored.
        threads: How many threads to use.
    """
    hashes = _kernels.hash128(_table(texts), ignore_case, ignore_non_letters, ignore_ends, threads or 0)
    return _array(hashes, "uint64").reshape(-1, 2)


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
        tokens: The tokens of shingles: text between white space, text between white space and punctuation, or code
            points.
        window: Tokens of a shingle; a text with fewer tokens is one shingle.
        lowercase: Whether case is ignored.
        permutations: Elements of a signature.
        threads: How many threads to use.

    Raises:
        InvalidError: A number is out of range.
    """
    signatures = _kernels.minhash(_table(texts), tokens, window, lowercase, permutations, threads or 0)
    return _array(signatures, "uint32").reshape(-1, permutations)


def band_keys(signatures: "npt.NDArray[np.uint32]", bands: int, rows: int | None = None) -> "npt.NDArray[np.uint64]":
    """A key for each band of each signature, uint64 of shape (n, bands); equal keys mean equal bands.

    Args:
        signatures: Those of `minhash`, of shape (n, permutations).
        bands: The number of bands.
        rows: Elements of a band; by default permutations // bands.

    Raises:
        InvalidError: The bands do not fit into a signature.
    """
    data, permutations = signatures.astype("<u4", copy=False).tobytes(), signatures.shape[1]
    length = permutations // max(bands, 1) if rows is None else rows
    return _array(_kernels.band_keys(data, permutations, bands, length), "uint64").reshape(-1, bands)


def simhash(
    texts: Any, *, tokens: Tokens = "space", window: int = 6, lowercase: bool = True, threads: int | None = None
) -> "npt.NDArray[np.uint64]":
    """The SimHash of each text, uint64 of shape (n,): the hashes of similar texts differ in few bits.

    Args:
        texts: Strings.
        tokens: As in `minhash`.
        window: Tokens of a shingle.
        lowercase: Whether case is ignored.
        threads: How many threads to use.

    Raises:
        InvalidError: The window is out of range.
    """
    return _array(_kernels.simhash(_table(texts), tokens, window, lowercase, threads or 0), "uint64")


def near_simhashes(hashes: "npt.NDArray[np.uint64]", distance: int, blocks: int) -> "npt.NDArray[np.int64]":
    """The lowest position in the group of each hash, int64 of shape (n,).

    Hashes that differ in at most `distance` bits are in one group, as are hashes that such pairs connect. The result is
    exact.

    Args:
        hashes: uint64 of shape (n,).
        distance: The maximum number of different bits.
        blocks: The number of parts into which a hash is divided to find candidates; more than `distance`. It only
            affects the time.

    Raises:
        InvalidError: `blocks` is not larger than `distance`, or is far too large.
    """
    return _array(_kernels.near_simhashes(hashes.astype("<u8", copy=False).tobytes(), blocks, distance), "int64")


class NgramIndex:
    """An index of the word n-grams of some texts, which finds other texts that share one.

    Args:
        n: Words of an n-gram; an added text with fewer words is one n-gram.
        split: As in `count_words`. Words are compared in lower case.
    """

    def __init__(self, n: int, *, split: Split = "space") -> None:
        self._index = _kernels.NgramIndex(n, split)
        self._count = 0

    def __len__(self) -> int:
        """The number of added texts."""
        return self._count

    def add(self, texts: Any, *, threads: int | None = None) -> None:
        """Add texts; they are numbered in the order in which they are added."""
        table = _table(texts)
        self._index.add(table, self._count, threads or 0)
        self._count += table.num_rows

    def find(self, texts: Any, *, threads: int | None = None) -> "npt.NDArray[np.int64]":
        """Find, for each text, the first n-gram that it shares with an added text.

        Returns:
            For each text, int64 of shape (n, 2): the number of the first added text that has this n-gram, and the index
            of the word in the given text at which it starts; -1 and -1 if no n-gram is shared.
        """
        return _array(self._index.find(_table(texts), threads or 0), "int64").reshape(-1, 2)


class LanguageModel:
    """An n-gram language model with back-off.

    Args:
        path: An ARPA file, as KenLM, SRILM and `jinx-pipeline train-lm` write it.

    Raises:
        OSError: The file cannot be read.
        CorruptFileError: The file is not an ARPA file; the message names the line.
        TruncatedFileError: The end of the file is missing.
    """

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self._model = _kernels.LanguageModel(path)

    @property
    def order(self) -> int:
        """The number of words in the longest n-grams."""
        return self._model.order

    @property
    def words(self) -> int:
        """The number of words that the model knows, including the marks `<s>`, `</s>` and `<unk>`."""
        return self._model.words

    def score(self, texts: Any, *, unit: Unit = "word", threads: int | None = None) -> "npt.NDArray[np.float64]":
        """The probability of each text, float64 of shape (n, 2).

        Each line is a sentence, and its end counts as a word. Lines without words are ignored.

        Args:
            texts: Strings.
            unit: The words of the model: `"word"` is text between white space; `"character"` is each character, with
                `▁` for white space.
            threads: How many threads to use.

        Returns:
            The decimal logarithm of the probability, and the number of words: the perplexity is
            `10 ** (-logarithm / number)`. Both are 0 for a text without words.
        """
        return _array(self._model.score(_table(texts), unit, threads or 0), "float64").reshape(-1, 2)


class LanguageModelTrainer:
    """Makes an n-gram language model from texts, with interpolated modified Kneser-Ney smoothing.

    The counts of all n-grams are in memory: about 100 bytes for each.

    Args:
        order: The number of words in the longest n-grams, 1 to 10.
        unit: As in `LanguageModel.score`.

    Raises:
        InvalidError: The order is out of range.
    """

    def __init__(self, order: int, *, unit: Unit = "word") -> None:
        self._trainer = _kernels.LanguageModelTrainer(order, unit)

    def add(self, texts: Any) -> None:
        """Count the n-grams of texts. Each line of a text is a sentence."""
        self._trainer.add(_table(texts))

    def arpa(self) -> bytes:
        """The model as the bytes of an ARPA file.

        Raises:
            InvalidError: No text had a word.
        """
        return self._trainer.arpa()


class Clusters:
    """Groups of positions that are connected by equal keys (a union-find).

    Args:
        count: The number of positions, each of which takes 8 bytes.
    """

    def __init__(self, count: int) -> None:
        self._groups = _kernels.Clusters(count)

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
        """The lowest position in the group of each position, int64 of shape (count,)."""
        return _array(self._groups.roots(), "int64")


def descend_factors(
    matrix: "Floats", left: "Floats", right: "Floats", iterations: int, tolerance: float
) -> "tuple[Floats, Floats]":
    """Improve two non-negative factors of rank two of a matrix by coordinate descent; for operators, so not exported.

    Args:
        matrix: Numbers that are not negative, float32 of shape (rows, columns).
        left: The left factor, float32 of shape (2, rows).
        right: The right factor, float32 of shape (2, columns).
        iterations: The largest number of steps.
        tolerance: It stops when what is left to gain is this share of what it was in the first step.

    Raises:
        InvalidError: The shapes do not fit.
    """
    rows, first, second = (part.astype("<f4", copy=False).tobytes() for part in (matrix, left, right))
    found = _kernels.descend_factors(rows, first, second, iterations, tolerance)
    improved, other = (_array(data, "float32").reshape(2, -1) for data in found)
    return improved, other


def _table(texts: Any) -> Any:
    """Texts as an Arrow table of one column."""
    import pyarrow as pa

    if isinstance(texts, pa.Array | pa.ChunkedArray):
        column = texts
    elif hasattr(texts, "__arrow_c_array__"):
        column = pa.array(texts)
    elif hasattr(texts, "__arrow_c_stream__"):
        column = pa.chunked_array(texts)
    elif isinstance(texts, Iterable) and not isinstance(texts, str | bytes):
        column = pa.array(texts, pa.large_string())
    else:
        raise TypeError(f"texts are an Arrow array or a list of str, not {type(texts).__name__}")
    return pa.table([column], names=["text"])


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}


def _template(replacement: str) -> list[int | str]:
    """Parses a replacement for Python's `re.sub` into strings and group numbers."""
    import re

    parts: list[int | str] = []
    place = 0
    for match in re.finditer(r"\\(?:g<(\d{1,2})>|([1-9]\d?)|([ntr\\]))", replacement):
        parts.append(replacement[place : match.start()])
        group = match[1] or match[2]
        parts.append(int(group) if group else _ESCAPES[match[3]])
        place = match.end()
    return [part for part in [*parts, replacement[place:]] if part != ""]


def _array(data: bytearray, dtype: str) -> Any:
    import numpy as np

    return np.frombuffer(data, dtype=np.dtype(dtype).newbyteorder("<")).astype(dtype, copy=False)
