"""Deduplication of lines: the operator `document_line_deduplicator`."""

from collections.abc import Iterable, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.dedup.frequent import KEYS, all_keys, frequent_keys, key_lists
from jinx_pipeline.exchange.chunks import all_positions
from jinx_pipeline.exchange.hashing import mixed
from jinx_pipeline.exchange.numbers import numbers_of
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.hash_keys import by_hash
from jinx_pipeline.operators.api.keyed import Decision, Keys, Partitioned
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.part_deduplicator import PartDeduplicator
from jinx_pipeline.operators.api.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt


@register("document_line_deduplicator", modality="text")
class DocumentLineDeduplicator(PartDeduplicator, Partitioned):
    r"""Removes lines that many samples share, such as menus, notices and licences. No sample is removed.

    A line that occurs in more than `frequency_threshold` samples is removed from all of them; white space at its ends
    is ignored. Typical lines of source code and markup are never removed, depending on the parameters.

        samples = [{"text": "Home | Contact\n" + word} for word in ("one", "two")]
        create("document_line_deduplicator", frequency_threshold=1)(samples)  # [{"text": "one"}, {"text": "two"}]

    Attributes:
        frequency_threshold: In how many samples a line may occur.
        lowercase: Whether case is ignored.
        ignore_special_character: Compare only letters, and ignore white space, digits, punctuation and symbols. A line
            without letters is only equal to the same line.
        min_line_length: Shorter lines stay, in code points without white space at the ends.
        skip_brackets: Lines that only consist of brackets and semicolons stay.
        skip_markdown_headers: Lines that start with `#` stay.
        skip_latex_env: Lines that begin or end a LaTeX environment stay.
        skip_html_tags: Lines that only consist of a tag stay.
    """

    frequency_threshold: Annotated[int, Range(1)] = 6
    lowercase: bool = False
    ignore_special_character: bool = False
    min_line_length: Annotated[int, Range(0, 100_000)] = 2
    skip_brackets: bool = True
    skip_markdown_headers: bool = True
    skip_latex_env: bool = True
    skip_html_tags: bool = True

    keys_per_sample = 16

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        samples = np.repeat(np.arange(len(batch)), [len(texts) for texts in batch.texts])
        lines, texts_of = _lines(batch.flat_texts)
        counted = self._is_counted(lines)
        keys = self._keys(lines.filter(pa.array(counted)), ctx)
        return key_lists(keys, samples[texts_of[counted]], len(batch))

    def repeated(self, signatures: Iterable[pa.Table]) -> "npt.NDArray[np.uint64]":
        with TemporaryDirectory(prefix="jinx-pipeline-") as folder:
            frequent: Any = self.decided(list(signatures), folder).keys
        return np.empty(0, np.uint64) if frequent is None else frequent

    def key_table(self, signatures: pa.Table, kind: int) -> pa.Table:
        del kind
        return all_keys(signatures)

    def partitioned(
        self, keys: pa.Table, kind: int, partitions: int, edges: Any
    ) -> "tuple[pa.Table, npt.NDArray[np.int64]]":
        del kind, edges
        return by_hash(keys, mixed(keys.column(KEYS).to_numpy()), partitions)

    def look(self, keys: Keys, look: int) -> pa.Table:
        return pa.table({KEYS: frequent_keys((table for _, table in keys.read(look)), self.frequency_threshold)})

    def decide(self, keys: Keys, looks: Sequence[pa.Table]) -> Decision:
        frequent = np.sort(np.concatenate([numbers_of(table, KEYS) for table in looks]))
        return Decision(all_positions(len(keys)), keys=frequent)

    def edit(self, batch: Batch, keys: "npt.NDArray[np.uint64]", ctx: Context) -> Mapping[str, Any]:
        texts = batch.flat_texts
        lines, texts_of = _lines(texts)
        is_removed = self._is_counted(lines)
        is_removed[is_removed] = np.isin(self._keys(lines.filter(pa.array(is_removed)), ctx), keys)
        edited: list[str | None] = [None] * len(texts)
        starts = np.searchsorted(texts_of, np.arange(len(texts) + 1))
        for text in np.unique(texts_of[is_removed]).tolist():
            first, stop = starts[text], starts[text + 1]
            kept_lines = lines[first:stop].filter(pa.array(~is_removed[first:stop]))
            edited[text] = "\n".join(kept_lines.to_pylist())
        return batch.with_texts_as(edited)

    def _keys(self, lines: pa.Array, ctx: Context) -> "npt.NDArray[np.uint64]":
        hashes = kernels.hash128(
            lines,
            ignore_case=self.lowercase,
            ignore_non_letters=self.ignore_special_character,
            ignore_ends=True,
            threads=ctx.threads,
        )
        return np.ascontiguousarray(hashes[:, 0])

    def _is_counted(self, lines: pa.Array) -> "npt.NDArray[np.bool_]":
        """A mask of the lines that the parameters allow to be removed."""
        compute = _compute()
        stripped = compute.utf8_trim_whitespace(lines)
        counted = compute.greater_equal(compute.utf8_length(stripped), self.min_line_length)
        for is_skipped, pattern in (
            (self.skip_brackets, r"^[{}\[\]();]*$"),
            (self.skip_markdown_headers, "^#"),
            (self.skip_latex_env, r"^\\(begin|end)\{"),
            (self.skip_html_tags, r"(?i)^</?[a-z][a-z0-9]*[^>]*>?$"),
        ):
            if is_skipped:
                counted = compute.and_not(counted, compute.match_substring_regex(stripped, pattern))
        return counted.to_numpy(zero_copy_only=False).copy()


def _lines(texts: pa.Array) -> "tuple[pa.Array, npt.NDArray[np.int64]]":
    """The lines of all texts, and the text of each."""
    compute = _compute()
    split = compute.split_pattern(texts, "\n")
    parents = compute.list_parent_indices(split).to_numpy(zero_copy_only=False)
    return compute.list_flatten(split), parents.astype(np.int64)


def _compute() -> Any:
    """Functions of Arrow, which pyarrow makes on import: that is slow, and their types are unknown."""
    import pyarrow.compute

    return pyarrow.compute
