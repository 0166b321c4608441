"""Captions from language models that can see or hear, given as a conversation."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.models.pretrained import ModelFilesError, Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

VISION_CHAT: Final = Expected("a language model with vision", ("ForConditionalGeneration",), ("texts", "images"))
"""Models such as LLaVA and Qwen-VL."""
AUDIO_CHAT: Final = Expected("a language model with hearing", ("ForConditionalGeneration",), ("texts", "audios"))
"""Models such as Qwen2-Audio."""


class Prompted(NamedTuple):
    """A medium with the request about it.

    Attributes:
        medium: The medium.
        prompt: The request.
        pictures: How to make its pictures; None: as those of the others.
    """

    medium: Media
    prompt: str
    pictures: Pictures | None = None


Inputs = Mapping[str, Any]
"""The tensors of a conversation or of several, by the name of the argument of the model."""


def load_vision_chat(model: Model, device: str) -> Pretrained:
    """A vision language model, for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForImageTextToText", "AutoProcessor")


def load_audio_chat(model: Model, device: str) -> Pretrained:
    """An audio language model, for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForMultimodalLM", "AutoProcessor")


def seen_captions(
    model: Model,
    items: Sequence[Prompted],
    pictures: Pictures,
    ctx: Context,
    *,
    system: str | None,
    count: int,
    max_new_tokens: int,
) -> list[list[str]]:
    """Candidate captions of each medium, which is shown as its pictures, from beam search.

    Args:
        model: The model.
        items: The media.
        pictures: How to make their pictures.
        ctx: The context of the operator.
        system: A message of the system before the request.
        count: The number of candidates.
        max_new_tokens: The largest number of tokens of a caption.
    """
    if not items:
        return []
    loaded = ctx.model(model, load_vision_chat)

    def prepare(item: Prompted) -> list[Inputs]:
        shown = list((item.pictures or pictures).make(item.medium))
        text = conversation(loaded, item.prompt, len(shown), "image", system)
        return [loaded.processed(text=[text], images=[shown])] if shown else []

    return _captions(loaded, prepare, items, ctx, count=count, max_new_tokens=max_new_tokens)


def heard_captions(
    model: Model,
    items: Sequence[Prompted],
    sounds: "Callable[[Media, int], npt.NDArray[np.float32] | None]",
    ctx: Context,
    *,
    max_new_tokens: int,
) -> list[list[str]]:
    """A caption of the sound of each medium; empty for a medium without sound.

    Args:
        model: The model.
        items: The media.
        sounds: The sound of a medium at a rate, float32 of shape (n,); None if it has none.
        ctx: The context of the operator.
        max_new_tokens: The largest number of tokens of a caption.
    """
    if not items:
        return []
    loaded = ctx.model(model, load_audio_chat)
    rate = _processor(loaded).feature_extractor.sampling_rate

    def prepare(item: Prompted) -> list[Inputs]:
        sound = sounds(item.medium, rate)
        if sound is None or not len(sound):
            return []
        text = conversation(loaded, item.prompt, 1, "audio", None)
        return [loaded.processed(text=[text], audio=[sound], sampling_rate=rate)]

    return _captions(loaded, prepare, items, ctx, count=1, max_new_tokens=max_new_tokens)


def conversation(loaded: Pretrained, prompt: str, count: int, kind: str, system: str | None) -> str:
    """The text of a conversation that shows media before a request.

    Args:
        loaded: The model.
        prompt: The request.
        count: The number of media.
        kind: `image` or `audio`.
        system: A message of the system before it.

    Raises:
        ModelFilesError: The processor has no template for conversations.
    """
    if not _processor(loaded).chat_template:
        raise ModelFilesError(f"{loaded.model.path} has no template for conversations: chat_template.jinja is missing")
    messages = [] if system is None else [{"role": "system", "content": [{"type": "text", "text": system}]}]
    content = [*[{"type": kind}] * count, {"type": "text", "text": prompt}]
    messages.append({"role": "user", "content": content})
    return _processor(loaded).apply_chat_template(messages, add_generation_prompt=True, tokenize=False)


def _processor(loaded: Pretrained) -> Any:
    return loaded.processors["AutoProcessor"]


def _captions(
    loaded: Pretrained,
    prepare: Callable[[Prompted], list[Inputs]],
    items: Sequence[Prompted],
    ctx: Context,
    *,
    count: int,
    max_new_tokens: int,
) -> list[list[str]]:
    options = {"num_beams": count, "num_return_sequences": count, "do_sample": False, "max_new_tokens": max_new_tokens}

    def run(batch: list[Inputs]) -> Results[list[str]]:
        texts: list[str] = []
        # Only media of the same shape are batched, such as images with the same number of tiles; these are adjacent.
        for _, alike in groupby(batch, _shapes):
            inputs = {name: loaded.on_device(tensor) for name, tensor in _joined(loaded, list(alike)).items()}
            with loaded.inference():
                ids = loaded.network.generate(**inputs, **options)
            # Padding is on the left, so that all answers begin at the same place.
            texts += _processor(loaded).batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        found = [text.strip() for text in texts]
        return lambda: [found[start : start + count] for start in range(0, len(found), count)]

    captions: list[list[str]] = [[] for _ in items]
    limits, threads = loaded.picture_limits, ctx.threads or 1
    fed = feed(items, prepare, run, limits=limits, size=lambda inputs: inputs["input_ids"].shape[1], threads=threads)
    for number, candidates in fed:
        captions[number] = candidates[0] if candidates else []
    return captions


def _shapes(inputs: Inputs) -> list[tuple[Any, ...]]:
    """The shapes of the media of a conversation, whose number may differ within a batch."""
    text = inputs["input_ids"].shape
    return [(name, *tensor.shape[1:]) for name, tensor in sorted(inputs.items()) if tensor.shape != text]


def _joined(loaded: Pretrained, batch: Sequence[Inputs]) -> dict[str, Any]:
    """The tensors of conversations whose media have equal shapes; texts are padded on the left."""
    import torch

    width = max(inputs["input_ids"].shape[1] for inputs in batch)

    def padded(name: str, inputs: Inputs) -> Any:
        tensor, length = inputs[name], inputs["input_ids"].shape[1]
        if tensor.shape != inputs["input_ids"].shape:
            return tensor
        value = (_processor(loaded).tokenizer.pad_token_id or 0) if name == "input_ids" else 0
        return torch.nn.functional.pad(tensor, (width - length, 0), value=value)

    return {name: torch.cat([padded(name, inputs) for inputs in batch]) for name in batch[0]}
