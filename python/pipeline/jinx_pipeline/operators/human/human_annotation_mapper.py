"""Asks people about samples: the operator `human_annotation_mapper`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, Literal

from jinx_pipeline.operators.api.annotation import Annotation, Form, HumanAnswer
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.sample.paths import text_of

_FEWEST_CHOICES = 2


@register("human_annotation_mapper")
class HumanAnnotationMapper(Annotation):
    """Adds people's answers about each sample.

    A run that reaches it writes the samples as tasks, says how to answer them, and ends with the exit code 3;
    `jinx-pipeline resume` goes on once they are answered. A sample without an answer, if the run goes on without it,
    has null.

        create("human_annotation_mapper", question="Is the caption right?", choices=["right", "wrong"])

    Attributes:
        question: The question.
        answer: The kind of answer: one of `choices`, a `rating` from 1 to `stars`, any of `choices` as `tags`, or a
            `text`.
        choices: The answers to choose from.
        stars: The largest rating.
        columns: The columns to show; empty: all.
        result: The column for the answer: a string, a number of a rating, a list of tags. If several people answer, it
            is what most of them answered, or null if there is no such answer; `RESULT_by` has the answer of each
            person, and `RESULT_agreed` says whether all gave the same.
    """

    question: str = ""
    answer: Literal["choices", "rating", "tags", "text"] = "choices"
    choices: list[str] = field(default_factory=list[str])
    stars: Annotated[int, Range(2, 9)] = 5
    columns: list[str] = field(default_factory=list[str])
    result: str = "answer"

    def check(self) -> None:
        super().check()
        has_choices = self.answer in {"choices", "tags"}
        if has_choices and len(set(self.choices)) < _FEWEST_CHOICES:
            raise ParameterError(self.name, "choices", "name at least two different choices")
        if len(set(self.choices)) < len(self.choices) or "" in self.choices:
            raise ParameterError(self.name, "choices", "choices are different strings that are not empty")
        if self.choices and not has_choices:
            raise ParameterError(self.name, "choices", f"a {self.answer} has no choices")

    @property
    def form(self) -> Form:
        stars = [str(number) for number in range(1, self.stars + 1)]
        choices = stars if self.answer == "rating" else self.choices
        return Form(self.answer, self.question, tuple(choices), tuple(self.columns))

    @property
    def writes(self) -> tuple[str, ...]:
        names = [self.result, f"{self.result}_by", f"{self.result}_agreed"]
        return tuple(text_of((name,)) for name in (names if self.overlap > 1 else names[:1]))

    def added(self, batch: Batch, answers: Sequence[Sequence[HumanAnswer]]) -> Mapping[str, Any]:
        del batch
        columns: dict[str, Any] = {self.result: [most_common(given) for given in answers]}
        if self.overlap > 1:
            columns[f"{self.result}_by"] = [{answer.by: answer.value for answer in given} or None for given in answers]
            columns[f"{self.result}_agreed"] = [have_agreed(given) for given in answers]
        return columns


def most_common(answers: Sequence[HumanAnswer]) -> str | int | list[str] | None:
    """The most common answer; None if there is no answer, or a tie."""
    counts = Counter(map(_key, answers)).most_common(2)
    if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
        return None
    return next(answer.value for answer in answers if _key(answer) == counts[0][0])


def have_agreed(answers: Sequence[HumanAnswer]) -> bool | None:
    """Whether all answers are the same; None if there is none."""
    return len(set(map(_key, answers))) == 1 if answers else None


def _key(answer: HumanAnswer) -> Any:
    """The value as a key that ignores the order of tags."""
    return frozenset(answer.value) if isinstance(answer.value, list) else answer.value
