"""Filters by how much a sample helps as an example: the operator `in_context_influence_filter`."""

from typing import Annotated, Any

from jinx_pipeline.models.causal_lm import Scored, load_causal_lm, losses
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Stats
from jinx_pipeline.operators.api.parameters import NotEmpty, ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.language_model_scores import LanguageModelFilter


@register("in_context_influence_filter", modality="text")
class InContextInfluenceFilter(LanguageModelFilter):
    """Keeps samples by their influence as an example before a task: the loss without it, by the loss with it.

    Above 1, the sample helps a language model to predict the responses of a validation set. The influence is the mean
    over that set.

        create("in_context_influence_filter", hf_model="/models/qwen", query_template="{query}",
               response_template="{response}", valid_dataset=[{"query": "2 + 2", "response": "4"}])

    Needs transformers and torch (the extra `model`).

    Attributes:
        valid_dataset: The samples of the validation set, with the columns that the templates name.
        task_desc: A description of the task, before each sample of the validation set.
        valid_as_demo: Whether the samples of the validation set are the examples, before each sample of the data.
        n_shot: The number of samples of the validation set that are used, from its beginning; None: all.
        min_score: The smallest influence.
        max_score: The largest influence.
    """

    valid_dataset: Annotated[list[dict[str, Any]], NotEmpty()]
    task_desc: str | None = None
    valid_as_demo: bool = False
    n_shot: Annotated[int, Range(1)] | None = None
    min_score: float = 1.0
    max_score: float = 100.0

    batch_size = 32
    stats = {"in_context_influence": "float64"}
    bounds = {"in_context_influence": ("min_score", "max_score")}

    def check(self) -> None:
        super().check()
        try:
            self._valid()
        except (KeyError, TypeError) as error:
            problem = f"a sample of valid_dataset has no {error}"
            raise ParameterError(self.name, "valid_dataset", problem) from None

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        ctx.begins(0)  # no time limit per row while the model runs
        samples, valid = self.scored(batch), self._valid()
        if self.valid_as_demo:
            without = [loss for loss in self._losses(samples, ctx) for _ in valid]
            asked = [_after(example, sample) for sample in samples for example in valid]
        else:
            without = self._valid_losses(valid, ctx) * len(samples)
            asked = [_after(sample, task) for sample in samples for task in valid]
        ratios = [
            before / after if before is not None and after else None
            for before, after in zip(without, self._losses(asked, ctx), strict=True)
        ]
        return {
            "in_context_influence": [
                _mean(ratios[start : start + len(valid)]) for start in range(0, len(ratios), len(valid))
            ]
        }

    def _valid(self) -> list[Scored]:
        """The samples of the validation set, after the description of the task."""
        found = [self.of_sample(sample, str(sample.get("text", ""))) for sample in self.valid_dataset[: self.n_shot]]
        return [Scored(f"{self.task_desc or ''} {scored.context}".strip(), scored.text) for scored in found]

    def _valid_losses(self, valid: list[Scored], ctx: Context) -> list[float | None]:
        """The losses of the validation set alone; computed once per process."""
        kept = ctx.model(self.hf_model, load_causal_lm).kept
        key = ("losses", tuple(valid), self.max_length)
        if key not in kept:
            kept[key] = self._losses(valid, ctx)
        return kept[key]

    def _losses(self, scored: list[Scored], ctx: Context) -> list[float | None]:
        return losses(self.hf_model, scored, ctx, max_length=self.max_length)


def _after(example: Scored, sample: Scored) -> Scored:
    """A sample that follows an example."""
    return Scored(" ".join(part for part in (example.context, example.text, sample.context) if part), sample.text)


def _mean(ratios: list[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio is not None]
    return sum(known) / len(known) if known else None
