"""Makes questions and answers like examples: the operator `generate_qa_from_examples_mapper`."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.api.parameters import ParameterError, Range, Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingHfModel
from jinx_pipeline.operators.llm.mapping import RewritingMapper

_MAX_WORDS = 2_000  # the time to compare texts grows with the square of this


@register("generate_qa_from_examples_mapper", modality="text")
class GenerateQaFromExamplesMapper(AskingHfModel, RewritingMapper):
    """Writes a new question with its answer into each sample, modelled on examples from a file.

        create("generate_qa_from_examples_mapper", hf_model="qwen", seed_file="path/to/examples.jsonl")

    A question that is too similar to an example is asked for again, and then left out.

    Attributes:
        seed_file: A JSONL file of samples with the columns `query_key` and `response_key`.
        example_num: How many examples the model sees.
        similarity_threshold: The largest ROUGE-L similarity to an example.
        query_key: The column for the question.
        response_key: The column for the answer.
    """

    seed_file: Path
    example_num: Annotated[int, Range(1, 100)] = 3
    similarity_threshold: Share = 0.7
    query_key: str = "query"
    response_key: str = "response"

    def resolve(self) -> None:
        super().resolve()
        try:
            self._seeds()
        except (OSError, ValueError) as error:
            raise ParameterError(self.name, "seed_file", f"{self.seed_file}: {error}") from None

    @property
    def keys(self) -> Mapping[str, str]:
        return {}

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.query_key, self.response_key, META)

    def samples_of(self, batch: Batch, ctx: Context) -> list[dict[str, Any]]:
        seeds = self._seeds()
        chosen: list[dict[str, Any]] = []
        for sample_id in batch.ids:
            rng = ctx.rng(sample_id, self.name)
            places = rng.choice(len(seeds), size=min(self.example_num, len(seeds)), replace=False)
            # The number makes each request different, so that samples with the same examples get different answers.
            chosen.append({"examples": [seeds[place] for place in places], "number": int(rng.integers(1 << 32))})
        return chosen

    def data(self, sample: Mapping[str, Any]) -> Mapping[str, str] | None:
        examples = [{"question": question, "answer": answer} for question, answer in sample["examples"]]
        shown = "\n".join(msgspec.json.encode(example).decode() for example in examples)
        return {"examples": f"{shown}\n(draw {sample['number']})"}

    def fault(self, sample: Mapping[str, Any], value: Any) -> str:
        nearest = max(similarity(value["question"], question) for question, _ in sample["examples"])
        is_new = nearest <= self.similarity_threshold
        return "" if is_new else f"the question is too similar to an example ({nearest:.2f})"

    def columns(self, value: Any) -> Mapping[str, Any]:
        return {self.query_key: value["question"], self.response_key: value["answer"]}

    def _seeds(self) -> Sequence[tuple[str, str]]:
        return _read(self.seed_file, self.query_key, self.response_key)


@lru_cache(maxsize=8)
def _read(path: Path, query_key: str, response_key: str) -> list[tuple[str, str]]:
    seeds: list[tuple[str, str]] = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            sample = json.loads(line)
            question, answer = sample.get(query_key), sample.get(response_key)
            if not (isinstance(question, str) and isinstance(answer, str)):
                raise ValueError(f"line {number} has no {query_key} and {response_key}")  # noqa: TRY004 - wrong file
            seeds.append((question, answer))
    if not seeds:
        raise ValueError("it has no examples")
    return seeds


def similarity(first: str, second: str) -> float:
    """The ROUGE-L F measure of two texts: the longest common subsequence of their words."""
    a, b = first.lower().split()[:_MAX_WORDS], second.lower().split()[:_MAX_WORDS]
    if not a or not b:
        return 0.0
    row = [0] * (len(b) + 1)
    for word in a:
        before = 0
        for place, other in enumerate(b, 1):
            kept = row[place]
            row[place] = before + 1 if word == other else max(row[place], row[place - 1])
            before = kept
    return 2 * row[-1] / (len(a) + len(b))
