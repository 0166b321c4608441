"""Removes evaluation data from training data: the operator `decontaminate_deduplicator`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.needed_files import NeededFile, needed
from jinx_pipeline.operators.api.parameters import NGrams, NotEmpty, ParameterError, Words
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.dedup.evaluation_texts import load_evaluation_index, stamp

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@register("decontaminate_deduplicator", modality="text")
class DecontaminateDeduplicator(Filter):
    """Removes samples that overlap with evaluation sets, so that a model is not trained on its tests.

    Each sample is compared with the evaluation texts, not with other samples, so it runs block by block like a filter.
    The statistics name the evaluation set and the sample that it overlaps with, and the place.

        create("decontaminate_deduplicator", evaluation_paths=["path/to/test.jsonl"])([{"text": "any"}])

    Attributes:
        evaluation_paths: JSON lines, Parquet or JINX files, or datasets.
        evaluation_fields: The columns or paths of their texts.
        method: `ngram` finds a shared n-gram of words; `exact` finds equal texts, comparing only letters and ignoring
            case; `minhash` finds texts with a similarity of about `jaccard_threshold`.
        ngram_size: Words of an n-gram. An evaluation text with fewer words is a single n-gram.
        tokenization: Split words at Unicode's word boundaries instead of white space, for scripts without spaces.
        jaccard_threshold: The similarity for `minhash`, over sets of five consecutive words.
    """

    evaluation_paths: Words
    evaluation_fields: Annotated[tuple[str, ...], NotEmpty()] = ("text",)
    method: Literal["ngram", "exact", "minhash"] = "ngram"
    ngram_size: NGrams = 13
    tokenization: bool = False
    jaccard_threshold: float = 0.7

    stats = {"contaminated_by": "string", "contaminated_at": "int64"}

    def check(self) -> None:
        if not 0 < self.jaccard_threshold <= 1:
            problem = f"jaccard_threshold is {self.jaccard_threshold}; it lies between 0 and 1"
            raise ParameterError(self.name, "jaccard_threshold", problem)

    @property
    def needed_files(self) -> list[NeededFile]:
        return [needed("evaluation_paths", path) for path in self.evaluation_paths]

    @property
    def digested_files(self) -> list[str]:
        return [path for path in self.evaluation_paths if Path(path).is_file()]  # `_digest_of` covers the others

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        scheme = json.dumps([self.parameters, [stamp(path) for path in self.evaluation_paths]])
        index = ctx.model(scheme, load_evaluation_index)
        overlaps = index.find(batch.text, ctx.threads)
        return {
            "contaminated_by": [None if text < 0 else index.names[text] for text, _ in overlaps],
            "contaminated_at": [None if text < 0 else place for text, place in overlaps],
        }

    def keep(self, stats: Mapping[str, pa.Array]) -> "npt.NDArray[np.bool_]":
        return stats["contaminated_by"].is_null().to_numpy(zero_copy_only=False)

    def _digest_of(self, parameters: dict[str, Any]) -> str:
        return super()._digest_of({**parameters, "stamps": [stamp(path) for path in self.evaluation_paths]})
