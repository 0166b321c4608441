"""document_line_deduplicator."""

from collections.abc import Iterable, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jinx_pipeline import kernels
from jinx_pipeline.dedup.frequent import KEYS, all_keys, frequent_keys, key_lists
from jinx_pipeline.exchange.chunks import all_positions
from jinx_pipeline.exchange.hashing import mixed
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.hash_keys import by_hash
from jinx_pipeline.operators.api.keyed import Decision, Keys, Partitioned
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.part_deduplicator import PartDeduplicator
from jinx_pipeline.operators.api.registry import register

if TYPE_CHECKING:
    import numpy.typing as npt

_compute: Any = pc  # its functions are made when it is imported, so their types are not known


@register("document_line_deduplicator", modality="text")
class DocumentLineDeduplicator(PartDeduplicator, Partitioned):
    r"""Removes lines that many samples have: menus, notices, licences. No sample is left out.

    A line that more than `frequency_threshold` samples have goes from all of them; white space at its ends makes no
    difference. What source code and markup consist of is never removed, as the parameters say.

        samples = [{"text": "Home | Contact\n" + word} for word in ("one", "two")]
        create("document_line_deduplicator", frequency_threshold=1)(samples)  # [{"text": "one"}, {"text": "two"}]

    Attributes:
        frequency_threshold: In how many samples a line may be.
        lowercase: Whether case makes no difference.
        ignore_special_character: Compare letters only: not white space, digits, punctuation and symbols. A line without
            letters repeats only one that is equal.
        min_line_length: Shorter lines stay, in code points without white space at the ends.
        skip_brackets: Lines of brackets and semicolons alone stay.
        skip_markdown_headers: Lines that start with `#` stay.
        skip_latex_env: Lines that begin or end an environment of LaTeX stay.
        skip_html_tags: Lines with nothing but a tag stay.
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

    def decide(self, keys: Keys, found: Sequence[pa.Table]) -> Decision:
        frequent = np.sort(np.concatenate([table[KEYS].to_numpy() for table in found]))
        return Decision(all_positions(len(keys)), keys=frequent)

    def edit(self, batch: Batch, keys: "npt.NDArray[np.uint64]", ctx: Context) -> Mapping[str, Any]:
        texts = batch.flat_texts
        lines, texts_of = _lines(texts)
        gone = self._is_counted(lines)
        gone[gone] = np.isin(self._keys(lines.filter(pa.array(gone)), ctx), keys)
        edited: list[str | None] = [None] * len(texts)
        starts = np.searchsorted(texts_of, np.arange(len(texts) + 1))
        for at in np.unique(texts_of[gone]).tolist():
            first, stop = starts[at], starts[at + 1]
            kept = lines[first:stop].filter(pa.array(~gone[first:stop]))
            edited[at] = "\n".join(kept.to_pylist())
        return batch.with_texts_as(edited)

    def _keys(self, lines: pa.Array, ctx: Context) -> "npt.NDArray[np.uint64]":
        found = kernels.hash128(
            lines,
            ignore_case=self.lowercase,
            ignore_non_letters=self.ignore_special_character,
            ignore_ends=True,
            threads=ctx.threads,
        )
        return np.ascontiguousarray(found[:, 0])

    def _is_counted(self, lines: pa.Array) -> "npt.NDArray[np.bool_]":
        """Which lines may be removed."""
        stripped = _compute.utf8_trim_whitespace(lines)
        counted = _compute.greater_equal(_compute.utf8_length(stripped), self.min_line_length)
        for is_skipped, pattern in (
            (self.skip_brackets, r"^[{}\[\]();]*$"),
            (self.skip_markdown_headers, "^#"),
            (self.skip_latex_env, r"^\\(begin|end)\{"),
            (self.skip_html_tags, r"(?i)^</?[a-z][a-z0-9]*[^>]*>?$"),
        ):
            if is_skipped:
                counted = _compute.and_not(counted, _compute.match_substring_regex(stripped, pattern))
        return counted.to_numpy(zero_copy_only=False).copy()


def _lines(texts: pa.Array) -> "tuple[pa.Array, npt.NDArray[np.int64]]":
    """The lines of all texts, and the text of each."""
    split = _compute.split_pattern(texts, "\n")
    return _compute.list_flatten(split), _compute.list_parent_indices(split).to_numpy(zero_copy_only=False).astype(
        np.int64
    )
