"""Asks people which of two answers is better: the operator `human_preference_annotation_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Any

from jinx_pipeline.operators.api.annotation import Annotation, Form, HumanAnswer
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.human.human_annotation_mapper import most_common
from jinx_pipeline.sample.paths import text_of


@register("human_preference_annotation_mapper", modality="text")
class HumanPreferenceAnnotationMapper(Annotation):
    """Adds the better and the worse of two answers to a prompt, according to people.

    It waits for people as `human_annotation_mapper` does. If they find both equally good, disagree or give no answer,
    both columns are null.

        create("human_preference_annotation_mapper", answer1_key="answer_a", answer2_key="answer_b")

    Attributes:
        prompt_key: The column with the prompt.
        answer1_key: The column with the first answer, which is shown at the left.
        answer2_key: The column with the second answer.
        chosen_key: The column for the better answer.
        rejected_key: The column for the worse answer.
    """

    prompt_key: str = "prompt"
    answer1_key: str = "answer1"
    answer2_key: str = "answer2"
    chosen_key: str = "chosen"
    rejected_key: str = "rejected"

    def check(self) -> None:
        super().check()
        if self.answer1_key == self.answer2_key:
            raise ParameterError(self.name, "answer2_key", "answer1_key and answer2_key are the same column")
        if self.chosen_key == self.rejected_key:
            raise ParameterError(self.name, "rejected_key", "chosen_key and rejected_key are the same column")

    @property
    def form(self) -> Form:
        shown = (self.prompt_key, self.answer1_key, self.answer2_key)
        return Form("pair", "Which answer is better?", ("left", "right", "tie"), shown)

    @property
    def writes(self) -> tuple[str, ...]:
        return tuple(text_of((name,)) for name in (self.chosen_key, self.rejected_key))

    def added(self, batch: Batch, answers: Sequence[Sequence[HumanAnswer]]) -> Mapping[str, Any]:
        left, right = (batch.column(name) for name in (self.answer1_key, self.answer2_key))
        preferred = [most_common(given) for given in answers]
        pairs = [
            (first, second) if choice == "left" else (second, first) if choice == "right" else (None, None)
            for choice, first, second in zip(preferred, left, right, strict=True)
        ]
        return {self.chosen_key: [chosen for chosen, _ in pairs], self.rejected_key: [worse for _, worse in pairs]}
