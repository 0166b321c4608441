"""The base of operators that show images to a language model."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, overload

from jinx_pipeline.llm.images import data_url
from jinx_pipeline.llm.prompt import Prompt
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.llm.asking import Messages
from jinx_pipeline.operators.llm.mapping import AskingAboutSamples
from jinx_pipeline.sample.media import Media


class AskingAboutImages(AskingAboutSamples):
    """Asks about the images of a sample and its text. Of a sample without images, nothing is asked.

    Attributes:
        max_image_side: The longest side of an image in pixels; larger images are made smaller.
        max_image_bytes: The size limit of an encoded image.
    """

    max_image_side: Annotated[int, Range(64)] = 2048
    max_image_bytes: Annotated[int, Range(4096)] = 5_000_000

    batch_size = 64

    @property
    def keys(self) -> Mapping[str, str]:
        return {"text": "text"}

    @property
    def reads(self) -> tuple[str, ...]:
        return ("text", "images")

    def samples_of(self, batch: Batch, ctx: Context) -> list[dict[str, Any]]:
        has_text = batch.roles.column("text") in batch.column_names
        texts = batch.text.to_pylist() if has_text else [""] * len(batch)
        known = batch.column(META) if META in batch.column_names else [None] * len(batch)
        rows = zip(texts, batch.media("images"), known, strict=True)
        return [
            {
                "text": text,
                META: facts,
                "tokens": batch.roles.image_token * len(media),
                "urls": _Urls(self, media),
            }
            for text, media, facts in rows
        ]

    def url_of(self, medium: Media) -> str:
        """An image as a data URL within the limits."""
        return data_url(medium, self.max_image_side, self.max_image_bytes)

    def data(self, sample: Mapping[str, Any]) -> Mapping[str, str] | None:
        return {"text": sample["text"]} if sample["urls"] else None

    def messages_for(self, prompt: Prompt, sample: Mapping[str, Any]) -> Messages | None:
        data = self.data(sample)
        return None if data is None else prompt.messages(data, self.given(), sample["urls"])


class _Urls(Sequence[str]):
    """The images of a sample as data URLs; these are made on access, while other requests are in progress.

    Args:
        operator: The operator.
        media: The images.
    """

    def __init__(self, operator: AskingAboutImages, media: Sequence[Media]) -> None:
        self._operator, self._media = operator, media

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._operator.url_of(medium) for medium in self._media[index]]
        return self._operator.url_of(self._media[index])

    def __len__(self) -> int:
        return len(self._media)
