"""The base class of filters by the loss of a causal language model."""

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Annotated, Any

from jinx_pipeline.models.causal_lm import CAUSAL_LM, Scored
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.filter import Filter
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.text.padded import PaddedTexts


class LanguageModelFilter(PaddedTexts, Filter):
    """Keeps samples by the loss of a causal language model on a response, which may follow a query.

    A sample with a list `messages` has the last message as its response, and those before it as its query.

    Attributes:
        hf_model: The directory of a causal language model with its tokenizer, its name in the local cache, or in the
            recipe's `models`.
        query_template: The query, with columns in braces; None if there is none.
        response_template: The response, with columns in braces; None: the text of the sample.
        max_length: The largest number of tokens, of which the last count; None: what the model takes.
    """

    hf_model: Annotated[Model, Kinds("transformers")] = Model(path="Qwen/Qwen2.5-0.5B")
    query_template: str | None = None
    response_template: str | None = None
    max_length: Annotated[int, Range(2)] | None = None

    batch_size = 512
    pure = False  # rounding differs between devices

    @property
    def reads(self) -> tuple[str, ...]:
        named = [*columns_in(self.query_template), *columns_in(self.response_template)]
        return tuple(dict.fromkeys([*(["text"] if self.response_template is None else []), *named]))

    def check(self) -> None:
        for parameter in ("query_template", "response_template"):
            try:
                columns_in(getattr(self, parameter))
            except ValueError as error:
                raise ParameterError(self.name, parameter, f"{parameter}: {error}") from None

    def resolve(self) -> None:
        refuse_other_models(self, hf_model=CAUSAL_LM)

    def scored(self, batch: Batch) -> list[Scored]:
        """The query and the response of each sample."""
        texts = batch.text.to_pylist() if "text" in self.reads else [""] * len(batch)
        return [self.of_sample(sample, text) for sample, text in zip(batch.samples(), texts, strict=True)]

    def of_sample(self, sample: Mapping[str, Any], text: str) -> Scored:
        """The query and the response of a sample with a text."""
        messages = sample.get("messages")
        if isinstance(messages, Sequence) and messages:
            contents = [str(message["content"]) for message in messages]
            return Scored(" ".join(contents[:-1]), contents[-1])
        values = {**sample, "text": text} if "text" in self.reads else sample
        response = text if self.response_template is None else filled(self.response_template, values)
        return Scored("" if self.query_template is None else filled(self.query_template, values), response)


def columns_in(template: str | None) -> list[str]:
    """The columns that are named in the braces of a template.

    Raises:
        ValueError: Something in braces is not the name of a column.
    """
    names: list[str] = []
    for _, name, spec, conversion in Formatter().parse(template or ""):
        if name is None:
            continue
        if not name.isidentifier() or spec or conversion:
            raise ValueError(f"{{{name}}} is not a column in braces")
        names.append(name)
    return names


def filled(template: str, sample: Mapping[str, Any]) -> str:
    """A template filled with the values of columns.

    Raises:
        KeyError: The sample does not have a column.
    """
    return template.format_map({name: sample[name] for name in columns_in(template)})
