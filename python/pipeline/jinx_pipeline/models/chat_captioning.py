"""Captions by language models with vision or hearing that take a conversation."""

from collections.abc import Callable, Mapping, Sequence
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
    """A medium with what to say about it.

    Attributes:
        medium: The medium.
        prompt: The request.
    """

    medium: Media
    prompt: str


class _Input(NamedTuple):
    prompt: str
    shown: list[Any]


def load_vision_chat(model: Model, device: str) -> Pretrained:
    """A language model with vision, for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForImageTextToText", "AutoProcessor")


def load_audio_chat(model: Model, device: str) -> Pretrained:
    """A language model with hearing, for `Context.model`."""
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
    """Candidates for a caption of each medium, which is shown as its pictures, by beam search.

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

    def prepared(batch: Sequence[_Input]) -> Mapping[str, Any]:
        texts = [conversation(loaded, one.prompt, len(one.shown), "image", system) for one in batch]
        return _processor(loaded)(
            text=texts, images=[one.shown for one in batch], padding=True, padding_side="left", return_tensors="pt"
        )

    run = _Run(loaded, lambda medium: list(pictures.make(medium)), prepared)
    return _captions(run, items, ctx, count=count, max_new_tokens=max_new_tokens)


def heard_captions(
    model: Model,
    items: Sequence[Prompted],
    sounds: "Callable[[Media, int], npt.NDArray[np.float32] | None]",
    ctx: Context,
    *,
    max_new_tokens: int,
) -> list[list[str]]:
    """A caption of the sound of each medium; none for one without sound.

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

    def shown(medium: Media) -> list[Any]:
        sound = sounds(medium, rate)
        return [] if sound is None or not len(sound) else [sound]

    def prepared(batch: Sequence[_Input]) -> Mapping[str, Any]:
        texts = [conversation(loaded, one.prompt, 1, "audio", None) for one in batch]
        sounds = [sound for one in batch for sound in one.shown]
        return _processor(loaded)(
            text=texts, audio=sounds, sampling_rate=rate, padding=True, padding_side="left", return_tensors="pt"
        )

    return _captions(_Run(loaded, shown, prepared), items, ctx, count=1, max_new_tokens=max_new_tokens)


def conversation(loaded: Pretrained, prompt: str, count: int, kind: str, system: str | None) -> str:
    """The text of a conversation in which media are shown before a request.

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


class _Run(NamedTuple):
    """How a model is run on media.

    Attributes:
        loaded: The model.
        shown: The pictures or sounds of a medium; none if it has none.
        prepared: The tensors of a batch.
    """

    loaded: Pretrained
    shown: Callable[[Media], list[Any]]
    prepared: Callable[[Sequence[_Input]], Mapping[str, Any]]


def _captions(
    model: _Run, items: Sequence[Prompted], ctx: Context, *, count: int, max_new_tokens: int
) -> list[list[str]]:
    loaded = model.loaded
    options = {"num_beams": count, "num_return_sequences": count, "do_sample": False, "max_new_tokens": max_new_tokens}

    def prepare(one: Prompted) -> list[_Input]:
        made = model.shown(one.medium)
        return [_Input(one.prompt, made)] if made else []

    def run(batch: list[_Input]) -> Results[list[str]]:
        with loaded.inference():
            inputs = {name: loaded.on_device(tensor) for name, tensor in model.prepared(batch).items()}
            ids = loaded.network.generate(**inputs, **options)
        # Padding is on the left, so that all answers begin at the same place.
        answers = _processor(loaded).batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        texts = [text.strip() for text in answers]
        return lambda: [texts[start : start + count] for start in range(0, len(texts), count)]

    found: list[list[str]] = [[] for _ in items]
    limits, threads = loaded.picture_limits, ctx.threads or 1
    for number, candidates in feed(
        items, prepare, run, limits=limits, size=lambda one: len(one.shown) + len(one.prompt), threads=threads
    ):
        found[number] = candidates[0] if candidates else []
    return found
