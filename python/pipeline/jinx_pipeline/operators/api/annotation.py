"""Operators whose results people give: the run writes tasks, ends, and continues once they are answered."""

import json
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Edits
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import ParameterError, Range

if TYPE_CHECKING:
    import numpy.typing as npt

AnswerKind = Literal["choices", "rating", "pair", "tags", "text"]
ENVIRONMENT = "env:"
"""Begins a webhook that is named by an environment variable."""
_SCHEMES = ("http://", "https://")


@dataclass(frozen=True)
class Form:
    """What people are asked about each sample. `jinx view --form` and Label Studio show it.

    Attributes:
        kind: `choices`: one of `choices`; `rating`: one of these, which are numbers; `pair`: `left`, `right` or `tie`;
            `tags`: any of `choices`; `text`: free text.
        question: The question.
        choices: The answers to choose from.
        columns: The columns to show, of a `pair` the two last ones side by side; empty: all.
    """

    kind: AnswerKind
    question: str = ""
    choices: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The form as `jinx view --form` reads it."""
        return asdict(self)


@dataclass(frozen=True)
class HumanAnswer:
    """A person's answer about a sample.

    Attributes:
        by: Who gave it.
        value: A string of `choices`, `pair` or `text`, a number of `rating`, a list of `tags`.
    """

    by: str
    value: str | int | list[str]


class Annotation(Operator, Edits):
    """Asks people about each sample.

    A run that reaches it writes the samples as a dataset of tasks and ends; it goes on, when it is started again, once
    each task has enough answers. No worker waits.

    Attributes:
        overlap: How many people answer each task.
        label_studio: The URL of a Label Studio server that gets the tasks; its token is in the environment variable
            `LABEL_STUDIO_TOKEN`. None: people answer in `jinx view`.
        label_config: A file with the labeling interface of the Label Studio project; None to derive it from the form.
        webhook: A URL that gets a JSON message when tasks wait and when they are answered, or `env:NAME`, the
            environment variable with the URL.
    """

    kind = "annotation"
    trust = "connects to servers"
    may_probe = False
    overlap: Annotated[int, Range(1, 100)] = 1
    label_studio: str | None = None
    label_config: Path | None = None
    webhook: str | None = None

    def check(self) -> None:
        if self.label_studio is not None and not self.label_studio.startswith(_SCHEMES):
            raise ParameterError(self.name, "label_studio", "label_studio is the URL of a server")
        if self.webhook is not None and not self.webhook.startswith((*_SCHEMES, ENVIRONMENT)):
            raise ParameterError(self.name, "webhook", "webhook is a URL or env:NAME")

    @property
    @abstractmethod
    def form(self) -> Form:
        """What people are asked."""

    @abstractmethod
    def added(self, batch: Batch, answers: Sequence[Sequence[HumanAnswer]]) -> Mapping[str, Any]:
        """The columns to add, from the answers about each sample."""

    @property
    def reads(self) -> tuple[str, ...]:
        return self.form.columns

    @property
    def digest(self) -> str:
        # The service in which people answer does not change the tasks.
        parameters = self.parameters
        for name in ("label_studio", "label_config", "webhook"):
            parameters.pop(name)
        return self._digest_of(parameters)

    @property
    def webhook_url(self) -> str | None:
        """The URL of the webhook; None if there is none."""
        if self.webhook is None or not self.webhook.startswith(ENVIRONMENT):
            return self.webhook
        name = self.webhook.removeprefix(ENVIRONMENT)
        if not os.environ.get(name):
            raise ParameterError(self.name, "webhook", f"the environment variable {name} is not set")
        return os.environ[name]

    def resolve(self) -> None:
        _ = self.webhook_url

    def editor(self, keys: str) -> "AnswersEditor":
        editor = AnswersEditor(annotation=self, answers=Path(keys))
        editor.name = self.name  # pyright: ignore[reportAttributeAccessIssue] - set for this instance only
        return editor

    def run(self, batch: Batch, ctx: Context) -> Batch:
        del batch, ctx
        raise TypeError(f"{self.name} asks people, which only a run can wait for: jinx-pipeline run")


class AnswersEditor(Mapper):
    """Adds the answers to samples.

    Attributes:
        annotation: The operator that asked.
        answers: The file (.npy) with the answers about each sample, from `encoded_answers`.
    """

    only_adds = True
    annotation: Annotation
    answers: Path

    @property
    def reads(self) -> tuple[str, ...]:
        return self.annotation.reads

    @property
    def writes(self) -> tuple[str, ...]:
        return self.annotation.writes

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        lines = ctx.model(str(self.answers), _load_lines)
        answers = [[HumanAnswer(**answer) for answer in json.loads(lines[row])] for row in batch.positions.tolist()]
        return self.annotation.added(batch, answers)


def encoded_answers(answers: Sequence[Sequence[HumanAnswer]]) -> "npt.NDArray[np.uint8]":
    """The answers about all samples, as bytes: a line of JSON for each sample."""
    lines = [json.dumps([asdict(answer) for answer in given]) for given in answers]
    return np.frombuffer("\n".join(lines).encode(), dtype=np.uint8)


def _load_lines(path: str, device: str) -> list[bytes]:
    del device
    return np.load(path).tobytes().split(b"\n")
