"""Answers that were not understood, as facts about samples."""

from collections.abc import Mapping, Sequence
from typing import Any

from jinx_pipeline.operators.llm.asking import Answer


def faults_of(rows: Sequence[int], answers: Sequence[Answer]) -> dict[int, Mapping[str, Any]]:
    """For each row, what was wrong with its first answer that was not understood."""
    pairs = reversed(list(zip(rows, answers, strict=True)))
    return {row: answer.record for row, answer in pairs if not answer.parsed.is_good}


def with_faults(
    facts: Sequence[Mapping[str, Any]], faults: Mapping[int, Mapping[str, Any]], name: str
) -> list[dict[str, Any]]:
    """The facts about each sample, plus what was wrong with an answer, under the given key."""
    return [{**fact, **({name: faults[row]} if row in faults else {})} for row, fact in enumerate(facts)]
