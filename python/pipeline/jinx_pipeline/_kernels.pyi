"""The compiled part of `jinx_pipeline.kernels`."""

from collections.abc import Sequence
from os import PathLike
from typing import Self, final

from jinx.errors import InternalError

__version__: str

class PanicError(InternalError):
    """Rust code has panicked."""

def count_characters(texts: object, of: str, threads: int) -> bytearray: ...
def count_words(texts: object, split: str, threads: int) -> bytearray: ...
def character_repetition(texts: object, n: int, threads: int) -> bytearray: ...
def word_repetition(texts: object, n: int, split: str, threads: int) -> bytearray: ...
def replace_links(texts: object, replacement: str, threads: int) -> list[str | None]: ...
def hash128(
    texts: object, ignore_case: bool, ignore_non_letters: bool, ignore_ends: bool, threads: int
) -> bytearray: ...
def minhash(texts: object, tokens: str, window: int, lowercase: bool, size: int, threads: int) -> bytearray: ...
def band_keys(signatures: bytes, size: int, bands: int, rows: int) -> bytearray: ...
def lines(texts: object, threads: int) -> bytearray:
    """Two uint64 for each text: the number of lines, and the code points of the longest."""

def count_listed_words(
    texts: object, list: Sequence[str], split: str, groups: Sequence[int], joiner: str, threads: int
) -> bytearray:
    """Two uint64 for each text: words in the list, and all words."""

def replace_characters(
    texts: object, replacements: dict[str, str], is_trimmed: bool, threads: int
) -> list[str | None]: ...
def replace_emails(texts: object, replacement: str, threads: int) -> list[str | None]: ...
def replace_ips(texts: object, replacement: str, threads: int) -> list[str | None]: ...
def replace_pattern(texts: object, pattern: str, parts: Sequence[int | str], threads: int) -> list[str | None]: ...
def simhash(texts: object, tokens: str, window: int, lowercase: bool, threads: int) -> bytearray:
    """A uint64 for each text."""

def near_simhashes(hashes: bytes, blocks: int, distance: int) -> bytearray:
    """For each hash, the lowest position in its group, as little-endian u64."""

@final
class NgramIndex:
    """N-grams of words, by hash."""

    def __new__(cls, n: int, split: str) -> Self: ...
    def add(self, texts: object, first: int, threads: int) -> None:
        """Adds the n-grams of texts, numbered from `first` on."""
    def find(self, texts: object, threads: int) -> bytearray:
        """For each text, the number of an added text that shares an n-gram, and its position, as little-endian u64."""

@final
class LanguageModel:
    """A model of an ARPA file."""

    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    @property
    def order(self) -> int:
        """The number of words in its longest n-grams."""
    @property
    def words(self) -> int:
        """The number of words that it knows."""
    def score(self, texts: object, units: str, threads: int) -> bytearray:
        """Two float64 for each text: the decimal logarithm of its probability, and the number of its words."""

@final
class LanguageModelTrainer:
    """Counts n-grams and makes a model from the counts."""

    def __new__(cls, order: int, units: str) -> Self: ...
    def add(self, texts: object) -> None:
        """Counts the n-grams of texts."""
    def arpa(self) -> bytes:
        """The model as an ARPA file."""

@final
class Clusters:
    def __new__(cls, count: int) -> Self: ...
    def join_equal(self, keys: bytes, positions: bytes) -> None: ...
    def roots(self) -> bytearray: ...

def descend_factors(
    matrix: bytes, left: bytes, right: bytes, iterations: int, tolerance: float
) -> tuple[bytearray, bytearray]:
    """Improves the factors of rank two of a matrix, all little-endian f32."""
