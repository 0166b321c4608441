"""The texts of evaluation sets, and an index that finds texts overlapping with them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import jinx
from jinx_pipeline import kernels
from jinx_pipeline.dedup.near import best_bands
from jinx_pipeline.sample.content_identity import content_digest
from jinx_pipeline.sample.file_facts import file_facts
from jinx_pipeline.sample.paths import parse
from jinx_pipeline.sample.texts import texts_at

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

_AT_ONCE = 1000
_PERMUTATIONS = 256


class _Finder(Protocol):
    def add(self, texts: list[str]) -> None:
        """Add texts, with consecutive numbers."""
        ...

    def find(self, texts: "pa.Array", threads: int | None) -> "npt.NDArray[np.int64]":
        """The number of an overlapping text and the position, or -1 if there is none; shape (n, 2)."""
        ...


class EvaluationIndex:
    """The texts of evaluation sets.

    Attributes:
        names: The file and sample of each text: `test.jsonl:17`, counted from 0.
    """

    def __init__(self, finder: _Finder) -> None:
        self.names: list[str] = []
        self._finder = finder

    def add(self, path: str, fields: list[str]) -> None:
        """Add the texts of a file.

        Raises:
            ValueError: The file has none of the fields.
        """
        steps = [parse(field) for field in fields]
        texts: list[str] = []
        before = len(self.names)
        for number, sample in enumerate(_samples(path)):
            sample_texts = [text for field_steps in steps for text in texts_at(sample, field_steps)]
            texts += sample_texts
            self.names += [f"{path}:{number}"] * len(sample_texts)
            if len(texts) >= _AT_ONCE:
                self._finder.add(texts)
                texts = []
        self._finder.add(texts)
        if len(self.names) == before:
            raise ValueError(f"{path}: no text at {', '.join(fields)}; name the fields in evaluation_fields")

    def find(self, texts: "pa.Array", threads: int | None) -> list[tuple[int, int]]:
        """For each text, the number of an overlapping text and the position; -1 and -1 if there is none."""
        return [(number, place) for number, place in self._finder.find(texts, threads).tolist()]


def load_evaluation_index(scheme: str, device: str) -> EvaluationIndex:
    """The index of a scheme, for `Context.model`.

    Args:
        scheme: JSON of the operator's parameters and of the stamps of the files.
        device: Not used.
    """
    del device
    parameters = json.loads(scheme)[0]
    index = EvaluationIndex(_finder(parameters))
    for path in parameters["evaluation_paths"]:
        index.add(path, parameters["evaluation_fields"])
    return index


def stamp(path: str) -> list[Any]:
    """Facts that change when an evaluation set changes.

    Raises:
        FileNotFoundError: It does not exist.
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"{path}: no such evaluation set")
    if Path(path).is_dir() or path.endswith(".jinx"):
        return [path, content_digest(jinx.open(path))]  # the bases of a view count too
    return [path, *file_facts(path)]


class _Ngrams:
    def __init__(self, size: int, *, is_unicode: bool) -> None:
        self._index = kernels.NgramIndex(size, split="unicode" if is_unicode else "space")

    def add(self, texts: list[str]) -> None:
        self._index.add(texts)

    def find(self, texts: "pa.Array", threads: int | None) -> "npt.NDArray[np.int64]":
        return self._index.find(texts, threads=threads)


class _Keys:
    """Finds texts with an equal key: the hash of the whole text, or of a band of its signature."""

    def __init__(self, threshold: float | None) -> None:
        self._bands = None if threshold is None else best_bands(threshold, _PERMUTATIONS)
        self._places: dict[Any, int] = {}
        self._count = 0

    def add(self, texts: list[str]) -> None:
        for keys in self._keys(texts, None):
            for key in keys:
                self._places.setdefault(key, self._count)
            self._count += 1

    def find(self, texts: "pa.Array", threads: int | None) -> "npt.NDArray[np.int64]":
        overlaps = np.full((len(texts), 2), -1, dtype=np.int64)
        for row, keys in enumerate(self._keys(texts, threads)):
            number = next((self._places[key] for key in keys if key in self._places), None)
            if number is not None:
                overlaps[row] = number, 0
        return overlaps

    def _keys(self, texts: Any, threads: int | None) -> Iterator[list[Any]]:
        has_letters = kernels.count_characters(texts, "letter", threads=threads) > 0
        if self._bands is None:
            hashes = kernels.hash128(texts, ignore_case=True, ignore_non_letters=True, threads=threads)
            rows = [[tuple(text_hash)] for text_hash in hashes.tolist()]
        else:
            signatures = kernels.minhash(texts, permutations=_PERMUTATIONS, threads=threads)
            rows = [list(enumerate(bands)) for bands in kernels.band_keys(signatures, *self._bands).tolist()]
        return (row if has else [] for row, has in zip(rows, has_letters.tolist(), strict=True))


def _finder(parameters: dict[str, Any]) -> _Finder:
    if parameters["method"] == "ngram":
        return _Ngrams(parameters["ngram_size"], is_unicode=parameters["tokenization"])
    return _Keys(parameters["jaccard_threshold"] if parameters["method"] == "minhash" else None)


def _samples(path: str) -> Iterator[Any]:
    if path.endswith(".parquet"):
        from pyarrow import parquet

        for batch in parquet.ParquetFile(path).iter_batches(_AT_ONCE):
            yield from batch.to_pylist()
        return
    with jinx.open(path, lazy=False) as dataset:
        yield from dataset
