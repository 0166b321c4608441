"""Captions of pictures, from models that generate text for images."""

from collections.abc import Sequence
from typing import Any, Final

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.sample.media import Media

CAPTIONER: Final = Expected(
    "a model that captions images",
    ("BlipForConditionalGeneration", "Blip2ForConditionalGeneration", "GitForCausalLM", "VisionEncoderDecoderModel"),
    ("texts", "images"),
)
"""The models of the family BLIP and others that need no chat template."""


def load_captioner(model: Model, device: str) -> Pretrained:
    """A captioner, for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForImageTextToText", "AutoProcessor")


def captions(
    model: Model,
    media: Sequence[Media],
    pictures: Pictures,
    ctx: Context,
    *,
    count: int,
    prompt: str | None,
    max_new_tokens: int,
) -> list[list[list[str]]]:
    """The candidates for a caption of each picture of each medium, by beam search, the most likely first.

    Args:
        model: The model.
        media: The media.
        pictures: How to make their pictures.
        ctx: The context of the operator.
        count: The number of candidates.
        prompt: The beginning of each caption.
        max_new_tokens: The largest number of tokens of a caption.
    """
    if not media:
        return []
    loaded = ctx.model(model, load_captioner)
    processor = loaded.processors["AutoProcessor"]
    options = {"num_beams": max(count, 1), "num_return_sequences": count, "do_sample": False}

    texts = {} if prompt is None else {"text": [prompt]}

    def prepare(medium: Media) -> list[Any]:
        return [loaded.processed(images=[picture], **texts) for picture in pictures.make(medium)]

    def run(batch: list[Any]) -> Results[list[str]]:
        import torch

        with loaded.inference():
            on_device = {name: loaded.on_device(torch.cat([inputs[name] for inputs in batch])) for name in batch[0]}
            ids = loaded.network.generate(**on_device, max_new_tokens=max_new_tokens, **options)
        return lambda: _grouped(processor.batch_decode(ids, skip_special_tokens=True), count)

    found: list[Any] = [None] * len(media)
    for number, candidates in feed(media, prepare, run, limits=loaded.picture_limits, threads=ctx.threads or 1):
        found[number] = candidates
    return found


def _grouped(texts: list[str], count: int) -> list[list[str]]:
    stripped = [text.strip() for text in texts]
    return [stripped[start : start + count] for start in range(0, len(stripped), count)]
