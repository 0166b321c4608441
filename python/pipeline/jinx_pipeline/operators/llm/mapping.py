"""The bases of mappers and splitters that ask a language model about each sample."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from jinx_pipeline.llm.prompt import Prompt
from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, metadata_of, with_metadata
from jinx_pipeline.operators.api.operator_kinds import Mapper, Splitter
from jinx_pipeline.operators.llm.asking import Answer, Asking, AskingModel, Messages, as_text


class AskingAboutSamples(Asking):
    """Asks about each sample, except samples without data."""

    @property
    @abstractmethod
    def keys(self) -> Mapping[str, str]:
        """The columns that the model sees, by their placeholders in the prompt."""

    def given(self) -> Mapping[str, str]:
        """Values from the recipe that are inserted into the prompt."""
        return {}

    def data(self, sample: Mapping[str, Any]) -> Mapping[str, str] | None:
        """The data of a sample by placeholder; None to ask nothing."""
        data = {place: as_text(sample.get(key)) for place, key in self.keys.items()}
        return data if any(text.strip() for text in data.values()) else None

    def fault(self, sample: Mapping[str, Any], value: Any) -> str:
        """What is wrong with the value of an answer that fits the schema; empty if nothing is."""
        del sample, value
        return ""

    optional: ClassVar[tuple[str, ...]] = ()
    """The places whose columns may be missing."""

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for place, key in self.keys.items() if place not in self.optional))

    def messages_for(self, prompt: Prompt, sample: Mapping[str, Any]) -> Messages | None:
        """The messages about a sample; None to ask nothing."""
        data = self.data(sample)
        return None if data is None else prompt.messages(data, self.given())

    def messages_of(self, batch: Batch, ctx: Context) -> list[Messages]:
        prompt = self.template()
        messages = [self.messages_for(prompt, sample) for sample in self.samples_of(batch, ctx)]
        return [conversation for conversation in messages if conversation is not None]

    def answers(self, samples: Sequence[Mapping[str, Any]], ctx: Context) -> list[Answer | None]:
        """The answers about samples; None if nothing was asked."""
        prompt = self.template()
        asked: list[int] = []

        def messages() -> Iterator[Messages]:
            for row, sample in enumerate(samples):
                if (conversation := self.messages_for(prompt, sample)) is not None:
                    asked.append(row)
                    yield conversation

        found = self.ask(ctx, prompt, messages(), lambda number, value: self.fault(samples[asked[number]], value))
        answers: list[Answer | None] = [None] * len(samples)
        for row, answer in zip(asked, found, strict=True):
            answers[row] = answer
        return answers

    def samples_of(self, batch: Batch, ctx: Context) -> list[dict[str, Any]]:
        """The values of each sample that the prompt needs; a column that no sample has is an error."""
        del ctx
        keys = [key for key in self.keys.values() if key in self.reads or key in batch.column_names]
        columns = {key: batch.text.to_pylist() if key == "text" else batch.column(key) for key in keys}
        known = batch.column(META) if META in batch.column_names else [None] * len(batch)
        return [
            {META: facts, **dict(zip(columns, row, strict=True))}
            for facts, row in zip(known, zip(*columns.values(), strict=True), strict=True)
        ]


class FactsMapper(AskingAboutSamples, Mapper):
    """Adds facts to `__dj__meta__` that a language model finds in a sample."""

    @abstractmethod
    def facts(self, value: Any) -> Mapping[str, Any]:
        """The facts in an answer that was understood."""

    @property
    def reads(self) -> tuple[str, ...]:
        return (META, *super().reads)

    @property
    def writes(self) -> tuple[str, ...]:
        return (META,)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        samples = self.samples_of(batch, ctx)
        return with_metadata(samples, [self._facts_of(answer) for answer in self.answers(samples, ctx)])

    def _facts_of(self, answer: Answer | None) -> Mapping[str, Any]:
        if answer is None:
            return {}
        return self.facts(answer.value) if answer.parsed.is_good else {self.name: answer.record}


class RewritingMapper(AskingAboutSamples, Mapper):
    """Replaces columns with what a language model writes. A sample whose answer was not understood stays as it is.

    What was wrong with such an answer is in `__dj__meta__` under the name of the operator.
    """

    @abstractmethod
    def columns(self, value: Any) -> Mapping[str, Any]:
        """The new values of columns, from an answer that was understood."""

    @property
    def reads(self) -> tuple[str, ...]:
        return (META, *super().reads)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        samples = self.samples_of(batch, ctx)
        answers = self.answers(samples, ctx)
        names = [name for name in self.writes if name != META]
        own = {name: own_column(batch, name) for name in names}
        whole = batch.samples()
        changed = {column: [sample.get(column, REMOVED) for sample in whole] for column in own.values()}
        facts: list[Mapping[str, Any]] = [{} for _ in samples]
        for row, answer in enumerate(answers):
            if answer is not None and answer.parsed.is_good:
                for name, value in self.columns(answer.value).items():
                    changed[own[name]][row] = value
            elif answer is not None:
                facts[row] = {self.name: answer.record}
        return {**changed, **(with_metadata(samples, facts) if any(facts) else {})}


class AskingSplitter(AskingAboutSamples, Splitter):
    """Makes samples from what a language model finds in a sample. A sample without such an answer stays as it is."""

    @abstractmethod
    def children(self, sample: Mapping[str, Any], value: Any) -> Sequence[Mapping[str, Any]]:
        """The columns of each new sample; those under `__dj__meta__` are added to the facts of the original sample."""

    def split(self, batch: Batch, ctx: Context) -> tuple[Any, Mapping[str, Any]]:
        samples = self.samples_of(batch, ctx)
        parents: list[int] = []
        made: list[Mapping[str, Any]] = []
        for row, answer in enumerate(self.answers(samples, ctx)):
            found: Sequence[Mapping[str, Any]] = [{}]
            if answer is not None and answer.parsed.is_good:
                found = self.children(samples[row], answer.value)
            elif answer is not None:
                found = [{META: {self.name: answer.record}}]
            parents += [row] * len(found)
            made += found
        names, whole = dict.fromkeys(name for child in made for name in child), batch.samples()
        columns: dict[str, Any] = {}
        for name in names:
            column = own_column(batch, name)
            old = [sample.get(column, REMOVED) for sample in whole]
            columns[column] = [
                {**metadata_of(samples[parent]), **child.get(META, {})}
                if name == META
                else child.get(name, old[parent])
                for parent, child in zip(parents, made, strict=True)
            ]
        return np.array(parents, np.int64), columns


class JudgeMapper(AskingModel, FactsMapper):
    """Adds a judgement to `__dj__meta__`: a dict of `score`, `reason`, the raw `answer`, and how it was `parsed`.

    An answer that was not understood has no score. The name is that of the operator without `_mapper`.
    """

    @property
    def key(self) -> str:
        """The key of the judgement in `__dj__meta__`."""
        return self.name.removesuffix("_mapper")

    def facts(self, value: Any) -> Mapping[str, Any]:
        return value

    def _facts_of(self, answer: Answer | None) -> Mapping[str, Any]:
        if answer is None:
            return {}
        judgement = dict(self.facts(answer.value)) if answer.parsed.is_good else {"score": None, "reason": ""}
        return {self.key: {**judgement, **answer.record}}


def own_column(batch: Batch, name: str) -> str:
    """The column for a role or name, which will be replaced as a whole.

    Raises:
        TypeError: The role is inside a column, such as the texts of messages.
    """
    if len(batch.roles.steps(name)) != 1:
        raise TypeError(f"{name} is at {getattr(batch.roles, name, name)}; an operator that replaces it needs a column")
    return batch.roles.column(name)
