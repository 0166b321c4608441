"""Encodes samples as token ids, labels and costs; the same code counts for `annotate` and encodes for training."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jinx._annotate.conversation import conversation_of, find_columns, images_of, with_placeholders
from jinx._annotate.image_rules import parse_image_rule
from jinx._annotate.image_size import size_of
from jinx._annotate.lengths import COUNTS
from jinx._annotate.tokenizer import TextTokenizer

if TYPE_CHECKING:
    import os

    import numpy as np
    import numpy.typing as npt

    from jinx._annotate.chat_template import Span


@dataclass(frozen=True, slots=True)
class Encoded:
    """A sample in the form on which the model is trained.

    Attributes:
        input_ids: Token ids, int64 of shape (tokens,), image tokens included.
        is_label: A mask of the tokens that count in the loss, bool of shape (tokens,); never the first token, because
            nothing predicts it.
        num_images: The number of its images.
        num_patches: The number of patches of its images in the vision encoder.
    """

    input_ids: "npt.NDArray[np.int64]"
    is_label: "npt.NDArray[np.bool_]"
    num_images: int
    num_patches: int


class Encoder:
    """Encodes samples with a tokenizer, a chat template and an image rule.

    Args:
        columns: Names of the dataset's columns.
        tokenizer: As `TextTokenizer` takes it.
        chat_template: A file, or `"auto"` for the template that comes with the tokenizer.
        image_rule: A rule for `parse_image_rule`; if there is no rule, images cost nothing.
        image_token: The token that stands for an image; by default the first common image token in the vocabulary.
        text_column: The column with the conversation or text; by default the first column with a common name.
        image_column: The column with the image or images; by default the first column with a common name.

    Raises:
        ValueError: An argument does not fit the others.
    """

    def __init__(
        self,
        columns: Sequence[str],
        tokenizer: Any,
        *,
        chat_template: "str | os.PathLike[str]" = "auto",
        image_rule: str | Callable[[int, int], Any] | None = None,
        image_token: str | None = None,
        text_column: str | None = None,
        image_column: str | None = None,
    ) -> None:
        self._arguments = (list(columns), tokenizer, chat_template, image_rule, image_token, text_column, image_column)
        self.tokenizer = tokenizer if isinstance(tokenizer, TextTokenizer) else TextTokenizer(tokenizer)
        self.template = self.tokenizer.template(chat_template)
        self.rule = parse_image_rule(image_rule)
        self.text_column, images = find_columns(columns, text_column, image_column)
        self.image_column = images if self.rule is not None else None
        # Without a rule, images are not searched for, so their number is unknown.
        self.counts = COUNTS if self.rule is not None else COUNTS[:2]
        """What is counted of each sample."""
        self._image_token = self.tokenizer.image_token(image_token) if self.image_column else None
        if self.image_column and self._image_token is None:
            raise ValueError(
                f"the tokenizer {self.tokenizer.name} has no usual image token; name it: image_token= (--image-token)"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, self._arguments

    @property
    def columns(self) -> list[str]:
        """The columns that the encoder reads."""
        return [self.text_column, *([self.image_column] if self.image_column else [])]

    @property
    def pad_id(self) -> int:
        """The id that pads a batch."""
        return self.tokenizer.pad_id

    @property
    def vocabulary(self) -> int:
        """The number of token ids."""
        return self.tokenizer.vocabulary

    def settings(self) -> dict[str, Any]:
        """The settings on which the lengths depend: equal settings give equal lengths."""
        return {
            "tokenizer": {"name": self.tokenizer.name, "hash": self.tokenizer.hash},
            "chat_template": None if self.template is None else {"hash": self.template.hash},
            "image_rule": None if self.rule is None else self.rule.text,
            "image_token": self._image_token and self._image_token[0],
            "text_column": self.text_column,
            "image_column": self.image_column,
        }

    def encode(self, samples: Sequence[Mapping[str, Any]]) -> list[Encoded | Exception]:
        """Encode samples. The error of a sample that cannot be encoded takes its place."""
        import numpy as np

        prepared: list[_Text | Exception] = [self._prepared(sample) for sample in samples]
        texts = [item for item in prepared if isinstance(item, _Text)]
        by_kind = {
            special: iter(
                self.tokenizer.encode([item.text for item in texts if item.special is special], special=special)
            )
            for special in (False, True)
        }
        outcomes: list[Encoded | Exception] = []
        for item in prepared:
            if isinstance(item, Exception):
                outcomes.append(item)
                continue
            encoding = next(by_kind[item.special])
            ids = np.array(encoding.ids, dtype=np.int64)
            is_label = _covered(encoding.offsets, item.spans, len(ids))
            try:
                outcomes.append(self._expanded(ids, is_label, item.images))
            except ValueError as error:
                outcomes.append(error)
        return outcomes

    def _prepared(self, sample: Mapping[str, Any]) -> "_Text | Exception":
        try:
            return self._text_of(sample)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - reported with the sample
            return error

    def _text_of(self, sample: Mapping[str, Any]) -> "_Text":
        value: Any = sample[self.text_column]
        if hasattr(value, "to_dict"):
            value = value.to_dict()
        images = [size_of(image) for image in images_of(sample.get(self.image_column))] if self.image_column else []
        costs = [self.rule(*size) for size in images] if self.rule is not None else []
        talk = conversation_of(value)
        if isinstance(talk, str):
            text = f"{self._image_token[0] * len(images)}{talk}" if self._image_token and images else talk
            return _Text(text, None, costs, special=True)
        if self.template is None:
            raise ValueError(
                f"the tokenizer {self.tokenizer.name} came without a chat template; give one: chat_template= "
                "(--chat-template)"
            )
        if self._image_token and talk:
            talk = with_placeholders(talk, len(images), self._image_token[0], parts=self.template.takes_parts)
        rendered = self.template.render(talk)
        return _Text(rendered.text, rendered.assistant, costs, special=False)

    def _expanded(
        self, ids: "npt.NDArray[np.int64]", is_label: "npt.NDArray[np.bool_]", costs: list[tuple[int, int]]
    ) -> Encoded:
        """Repeat the token of each image, so that it occurs as often as the image costs tokens."""
        import numpy as np

        if self._image_token is not None:
            places = np.flatnonzero(ids == self._image_token[1])
            if len(places) != len(costs):
                mismatch = f"{len(places)} image tokens {self._image_token[0]!r} in the text of a sample"
                raise ValueError(
                    f"{mismatch} with {len(costs)} images; the text or the template must hold one for each"
                )
            if costs:
                repeats = np.ones(len(ids), dtype=np.int64)
                repeats[places] = [tokens for tokens, _ in costs]
                ids, is_label = np.repeat(ids, repeats), np.repeat(is_label, repeats)
        is_label[:1] = False
        return Encoded(ids, is_label, len(costs), sum(patches for _, patches in costs))


@dataclass(frozen=True, slots=True)
class _Text:
    """A sample before tokenizing; if `spans` is None, all of its text counts in the loss."""

    text: str
    spans: "list[Span] | None"
    images: list[tuple[int, int]]
    special: bool


def _covered(offsets: Any, spans: "list[Span] | None", tokens: int) -> "npt.NDArray[np.bool_]":
    """A mask of the tokens that contain a character of one of the spans."""
    import numpy as np

    if spans is None:
        return np.ones(tokens, dtype=np.bool_)
    if not spans or not tokens:
        return np.zeros(tokens, dtype=np.bool_)
    starts, ends = np.array(offsets, dtype=np.int64).reshape(-1, 2).T
    begins, stops = np.array(spans, dtype=np.int64).T
    nearest = np.minimum(np.searchsorted(stops, starts, side="right"), len(stops) - 1)
    return (starts < ends) & (starts < stops[nearest]) & (ends > begins[nearest])


def _rebuild(columns: Sequence[str], tokenizer: Any, chat_template: Any, *options: Any) -> Encoder:
    names = ("image_rule", "image_token", "text_column", "image_column")
    return Encoder(columns, tokenizer, chat_template=chat_template, **dict(zip(names, options, strict=True)))
