"""Filters texts by how useful they are for a task: the operator `llm_task_relevance_filter`."""

from collections.abc import Mapping

import msgspec

from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.score import ScoreFilter


@register("llm_task_relevance_filter", modality="text")
class LlmTaskRelevanceFilter(ScoreFilter):
    """Keeps samples that a language model rates as useful for learning a task.

        create("llm_task_relevance_filter", api_or_hf_model="qwen", task_desc="Answer questions about medicines.")

    The task is a description, some samples of it, or both. The statistics are the score, and the record of the
    judgement with its reason.

    Attributes:
        task_desc: What the task is.
        valid_dataset: Samples of the task, such as those of its validation set.
        n_shot: How many of these samples the model sees; None: all.
    """

    task_desc: str | None = None
    valid_dataset: list[dict[str, str]] | None = None
    n_shot: int | None = None

    stats = {"llm_task_relevance": "float64", "llm_task_relevance_record": "string"}
    bounds = {"llm_task_relevance": ("min_score", "max_score")}

    def check(self) -> None:
        super().check()
        if not self.task_desc and not self.valid_dataset:
            raise ParameterError(self.name, "task_desc", "task_desc or valid_dataset is needed: what is the task?")

    def given(self) -> Mapping[str, str]:
        samples = (self.valid_dataset or [])[: self.n_shot]
        shown = "\n".join(msgspec.json.encode(sample).decode() for sample in samples)
        parts = [self.task_desc or "", f"Samples of the task:\n{shown}" if shown else ""]
        return {"task": "\n\n".join(part for part in parts if part)}
