"""Merges similar tags of a group: the operator `meta_tags_aggregator`."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.tree import BATCH_META, GroupAggregator, UnparsedError


@register("meta_tags_aggregator", modality="text")
class MetaTagsAggregator(GroupAggregator):
    """Merges tags with the same meaning in a group; returns which tag becomes which, and how often each then occurs.

        create("meta_tags_aggregator", input_key="dialog_topic_labels", target_tags=["work", "home"], api_model="qwen")

    Attributes:
        target_tags: The tags to merge into; None: the model finds them.
        output_key: The name in `__dj__batch_meta__` for a dict of `tags` (which becomes which) and `counts`.
    """

    target_tags: list[str] | None = None
    output_key: str = "meta_tags"

    def aggregate(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        counts = Counter(
            str(tag)
            for value in self.values(batch)
            for tag in (value if isinstance(value, list | tuple) else [value])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        )
        tags = self._merged(sorted(counts), ctx) if counts else {}
        merged: Counter[str] = Counter()
        for tag, count in counts.items():
            merged[tags[tag]] += count
        return {BATCH_META: {self.output_key: {"tags": tags, "counts": dict(merged.most_common())}}}

    def _merged(self, tags: list[str], ctx: Context) -> dict[str, str]:
        prompt = self.template()
        targets = "tags that you choose" if self.target_tags is None else f"one of: {', '.join(self.target_tags)}"
        messages = [prompt.messages({"tags": msgspec.json.encode(tags).decode()}, {"targets": targets})]
        (answer,) = self.ask(ctx, prompt, messages, lambda _, value: self._fault(tags, value))
        if not answer.parsed.is_good:
            raise UnparsedError(f"{answer.parsed.problem}: {answer.text[:200]!r}")
        return {pair["tag"]: pair["becomes"] for pair in answer.value["pairs"]}

    def _fault(self, tags: list[str], value: Any) -> str:
        pairs = {pair["tag"]: pair["becomes"] for pair in value["pairs"]}
        if set(pairs) != set(tags):
            return "it does not have exactly the given tags"
        wrong = [tag for tag in pairs.values() if self.target_tags is not None and tag not in self.target_tags]
        return f"{wrong[0]!r:.60} is not among the tags to merge into" if wrong else ""
