"""A packing plan as rows of segments, and the tokens of one sample."""

from typing import TYPE_CHECKING, Any

from jinx._annotate.conversation import conversation_of
from jinx._core import Reader
from jinx._dataset.identity import identity_of, require_identity
from jinx._pack.plan import PackPlan
from jinx._pack.sizes import TOKENS
from jinx.errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jinx._annotate.tokenizer import TextTokenizer

_MAX_PACKS = 240
_MAX_TOKENS = 20_000
_TEXT_COLUMNS = ("messages", "conversations", "texts", "text", "caption", "prompt", "answer")


class ShownPlan:
    """The plan of an epoch over the first dataset.

    Args:
        path: The plan, which `PackPlan.save` wrote.
        dataset: The dataset that it is for.

    Raises:
        MismatchError: The plan is for another dataset.
        InvalidError: The plan is for several datasets.
    """

    def __init__(self, path: str, dataset: Reader) -> None:
        self._plan = PackPlan.load(path)
        sources = self._plan.stored_sizes.sources
        if len(sources) != 1:
            raise InvalidError(f"{path} is for {len(sources)} datasets; view the plan of one")
        if sources[0] is not None:
            require_identity(sources[0], identity_of(dataset), path)
        elif self._plan.num_samples != (len(dataset),):
            raise InvalidError(f"{path} is for {self._plan.num_samples[0]:,} samples, the dataset has {len(dataset):,}")
        self.path = path

    def about(self) -> dict[str, Any]:
        """The size of the plan, for the page."""
        plan = self._plan
        return {"path": self.path, "packs": len(plan), "max_length": plan.max_length, "efficiency": plan.efficiency}

    def page(self, start: int, count: int) -> dict[str, Any]:
        """The packs from `start` on, with their samples and the number of tokens of each."""
        plan = self._plan
        tokens = plan.sizes[TOKENS]
        stop = min(start + min(count, _MAX_PACKS), len(plan))
        packs = [plan[pack] for pack in range(start, stop)]
        rows = [{"samples": samples.tolist(), "tokens": tokens[samples].tolist()} for samples in packs]
        return {"packs": rows, "total": len(plan)}


def tokens_by(tokenizer: "TextTokenizer") -> "Callable[[Mapping[str, Any]], dict[str, Any]]":
    """A function that shows the tokens of a sample."""
    return lambda sample: tokens_of(sample, tokenizer)


def tokens_of(sample: "Mapping[str, Any]", tokenizer: "TextTokenizer") -> dict[str, Any]:
    """The tokens of a sample's texts, each with the part of the text for which it stands."""
    columns: list[dict[str, Any]] = []
    for name in _TEXT_COLUMNS:
        texts = _texts(sample.get(name))
        if texts:
            tokens = [_pieces(text, tokenizer) for text in texts]
            columns.append({"name": name, "count": sum(map(len, tokens)), "texts": list(_first(tokens, _MAX_TOKENS))})
    if not columns:
        raise InvalidError(f"none of the columns {', '.join(_TEXT_COLUMNS)} has text")
    return {"tokenizer": tokenizer.name, "columns": columns}


def _first(texts: list[list[tuple[str, int]]], limit: int) -> "Iterator[list[tuple[str, int]]]":
    """The first tokens of several texts."""
    for tokens in texts:
        if limit <= 0:
            return
        yield tokens[:limit]
        limit -= len(tokens)


def _texts(value: Any) -> list[str]:
    try:
        messages = conversation_of(value)
    except ValueError:
        return []
    if isinstance(messages, str):
        return [messages]
    contents = [message["content"] for message in messages]
    texts: list[str] = []
    for content in contents:
        parts: list[Any] = [content] if isinstance(content, str) else [part.get("text") for part in content]
        texts += [part for part in parts if isinstance(part, str)]
    return texts


def _pieces(text: str, tokenizer: "TextTokenizer") -> list[tuple[str, int]]:
    """The tokens of a text; characters that belong to no token are added to the next one."""
    (encoding,) = tokenizer.encode([text], special=False)
    pieces: list[tuple[str, int]] = []
    done = 0
    for token_id, (_, stop) in zip(encoding.ids, encoding.offsets, strict=True):
        pieces.append((text[done : max(done, stop)], token_id))
        done = max(done, stop)
    return pieces
