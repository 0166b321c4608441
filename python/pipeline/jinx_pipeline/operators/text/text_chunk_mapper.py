"""Splits texts into chunks: the operator `text_chunk_mapper`."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.needed_files import NeededFile
from jinx_pipeline.operators.api.operator_kinds import Splitter
from jinx_pipeline.operators.api.parameters import NotEmpty, ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.patterns import checked_pattern, replaced
from jinx_pipeline.operators.text.tokens import load_tokenizer, needed_tokenizer

if TYPE_CHECKING:
    import numpy.typing as npt


@register("text_chunk_mapper", modality="text")
class TextChunkMapper(Splitter):
    """Makes a sample of each chunk of a text: cut at each match of a pattern, or into chunks of a given length.

    With a pattern and a length, a chunk is as long as possible: it ends at the last match within the length, or at the
    largest length if there is no match. Chunks of white space are left out; a text without other chunks stays whole. A
    sample has one text.

        create("text_chunk_mapper", max_len=5)([{"text": "abcdefgh"}])  # [{"text": "abcde"}, {"text": "fgh"}]

    Attributes:
        max_len: The largest length of a chunk, in tokens or code points.
        split_pattern: A regular expression for separators between chunks, which are removed; a dot also matches
            line ends.
        overlap_len: How much of a chunk that was cut at its largest length the next chunk repeats.
        tokenizer: The path of a `tokenizer.json` or of its directory; without one, lengths are in code points.
    """

    max_len: int | None = None
    split_pattern: Annotated[str, NotEmpty()] | None = r"\n\n"
    overlap_len: Annotated[int, Range(0)] = 0
    tokenizer: str | None = None

    @property
    def writes(self) -> tuple[str, ...]:
        return ("text",)

    def check(self) -> None:
        if self.max_len is None and self.split_pattern is None:
            raise ParameterError(self.name, "max_len", "give max_len or split_pattern")
        if self.max_len is not None and not 0 <= self.overlap_len < self.max_len:
            problem = f"overlap_len is {self.overlap_len}; it is not negative and less than max_len ({self.max_len})"
            raise ParameterError(self.name, "overlap_len", problem)
        if self.split_pattern is not None:
            checked_pattern(self.name, self.split_pattern, "", "split_pattern")

    @property
    def needed_files(self) -> list[NeededFile]:
        return needed_tokenizer("tokenizer", self.tokenizer)

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], Mapping[str, Any]]":
        parents: list[int] = []
        chunks: list[str] = []
        for row, (pieces, texts) in enumerate(zip(self._pieces(batch.text, ctx), batch.texts, strict=True)):
            if len(texts) > 1:
                raise ValueError(f"{self.name}: a sample has several texts; name a column with one")
            cut = pieces[::2] if self.max_len is None else self._cut(pieces, self.max_len, ctx)
            text_chunks = [chunk for chunk in cut if chunk.strip()] or ["".join(pieces)]
            parents += [row] * len(text_chunks)
            chunks += text_chunks if texts else []
        children = batch.take(np.array(parents, dtype=np.int64))
        return np.array(parents, dtype=np.int64), children.with_texts_as(chunks)

    def _pieces(self, texts: pa.Array, ctx: Context) -> list[list[str]]:
        """Each text split at the pattern: the parts between matches, alternating with the matches."""
        if self.split_pattern is None:
            return [[text] for text in texts.to_pylist()]
        mark = "\x00"
        while any(mark in text for text in texts.to_pylist()):
            mark += "\x01"
        marked = replaced(texts, [(self.split_pattern, rf"{mark}\g<0>{mark}")], ctx)
        return [text.split(mark) for text in marked.to_pylist()]

    def _cut(self, pieces: list[str], max_len: int, ctx: Context) -> Iterator[str]:
        text = "".join(pieces)
        ends = self._ends(text, ctx)
        bounds = list(accumulate(map(len, pieces), initial=0))
        # The starts and ends of the matches; empty matches do not separate chunks.
        matches = [(start, stop) for start, stop in zip(bounds[1::2], bounds[2::2], strict=False) if start < stop]
        start, first = 0, 0
        while True:
            token = bisect_left(ends, start)
            if len(ends) - 1 - token <= max_len:
                yield text[start:]
                return
            # A character may be several tokens, and is never cut.
            reached = max(ends[token + max_len], ends[bisect_right(ends, start)])
            last = bisect_right(matches, (reached, len(text)), lo=first) - 1
            if last >= first:
                yield text[start : matches[last][0]]
                start, first = matches[last][1], last + 1
            else:
                yield text[start:reached]
                overlap = ends[token + max_len - self.overlap_len]
                start = overlap if overlap > start else reached

    def _ends(self, text: str, ctx: Context) -> list[int]:
        """The starts of the tokens, and the end of the text."""
        if self.tokenizer is None:
            return list(range(len(text) + 1))
        offsets = ctx.model(self.tokenizer, load_tokenizer).encode(text, add_special_tokens=False).offsets
        return [0, *(start for start, _ in offsets[1:]), len(text)]
