"""Finds entities and their relations: the operator `extract_entity_relation_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from jinx_pipeline.llm.prompt import shipped_prompt
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import Answer, as_text
from jinx_pipeline.operators.llm.extract import ExtractingMapper

_AGAIN = "extract_entity_relation_again"


@register("extract_entity_relation_mapper", modality="text")
class ExtractEntityRelationMapper(ExtractingMapper):
    """Adds the entities of a text and their relations to `__dj__meta__`, as for a knowledge graph.

        create("extract_entity_relation_mapper", api_model="qwen", entity_types=["person", "place"])

    Attributes:
        entity_types: The types of entities; None: organization, person, place and event.
        max_gleaning: How often the model is asked for what it has missed; until it finds nothing.
        entity_key: The name in `__dj__meta__` for the entities: dicts of `name`, `type` and `description`.
        relation_key: The name in `__dj__meta__` for the relations: dicts of `source`, `target`, `description`,
            `keywords` and `strength` from 1 to 10.
    """

    entity_types: list[str] | None = None
    max_gleaning: Annotated[int, Range(0, 10)] = 1
    entity_key: str = "entity"
    relation_key: str = "relation"

    prompts = ("extract_entity_relation_mapper", _AGAIN)

    def given(self) -> Mapping[str, str]:
        return {"types": ", ".join(self.entity_types or ["organization", "person", "place", "event"])}

    def answers(self, samples: Sequence[Mapping[str, Any]], ctx: Context) -> list[Answer | None]:
        answers = super().answers(samples, ctx)
        prompt = shipped_prompt(_AGAIN)
        rows = [row for row, answer in enumerate(answers) if answer is not None and answer.parsed.is_good]
        for _ in range(self.max_gleaning):
            if not rows:
                break
            known = {row: answer.value for row in rows if (answer := answers[row]) is not None}
            messages = [
                prompt.messages({**(self.data(samples[row]) or {}), "known": as_text(known[row])}, self.given())
                for row in rows
            ]
            more = self.ask(ctx, prompt, messages)
            missed = [
                row
                for row, answer in zip(rows, more, strict=True)
                if answer.parsed.is_good and _add(known[row], answer.value)
            ]
            rows = missed
        return answers

    def facts(self, value: Any) -> Mapping[str, Any]:
        return {self.entity_key: value["entities"], self.relation_key: value["relations"]}


def _add(known: dict[str, list[Any]], more: Mapping[str, list[Any]]) -> bool:
    """Add entities and relations that are not known yet; returns whether there were any."""
    before = sum(map(len, known.values()))
    names = {entity["name"] for entity in known["entities"]}
    pairs = {(relation["source"], relation["target"]) for relation in known["relations"]}
    known["entities"] += [entity for entity in more["entities"] if entity["name"] not in names]
    known["relations"] += [
        relation for relation in more["relations"] if (relation["source"], relation["target"]) not in pairs
    ]
    return sum(map(len, known.values())) > before
