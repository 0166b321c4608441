"""Captions of videos by VideoBLIP: a BLIP-2 whose Q-Former sees the patches of all frames at once."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.sample.media import Media

VIDEO_BLIP: Final = Expected(
    "a VideoBLIP model", ("VideoBlipForConditionalGeneration", "Blip2ForConditionalGeneration"), ("texts", "images")
)
"""VideoBLIP, and BLIP-2, which has the same weights."""
DEFAULT_VIDEO_BLIP: Final = Model(path="kpyu/video-blip-opt-2.7b-ego4d")
"""The model of Data-Juicer's operator."""


class _Input(NamedTuple):
    frames: Any  # shape: (n, channels, height, width)
    prompt: list[int]


def load_video_blip(model: Model, device: str) -> Pretrained:
    """Load a model for `Context.model`."""
    return load_pretrained(model, device, "Blip2ForConditionalGeneration", "AutoTokenizer", "AutoImageProcessor")


def video_captions(
    model: Model,
    media: Sequence[Media],
    prompts: Sequence[str | None],
    pictures: Pictures,
    ctx: Context,
    *,
    count: int,
    max_new_tokens: int,
) -> list[list[str]]:
    """Caption candidates for each video from beam search, most likely first; empty for a video without frames.

    Args:
        model: The model.
        media: The videos.
        prompts: The beginning of the caption of each.
        pictures: How to make their frames.
        ctx: The context of the operator.
        count: The number of candidates.
        max_new_tokens: The largest number of tokens of a caption.
    """
    if not media:
        return []
    loaded = ctx.model(model, load_video_blip)
    options = {"num_beams": count, "num_return_sequences": count, "do_sample": False, "max_new_tokens": max_new_tokens}

    def prepare(number: int) -> list[_Input]:
        import torch

        frames, prompt = [loaded.pixels(picture) for picture in pictures.make(media[number])], prompts[number]
        return [_Input(torch.stack(frames), loaded.encoded([prompt])[0] if prompt else [])] if frames else []

    def run(batch: list[_Input]) -> Results[list[str]]:
        with loaded.inference():
            # Each video has its own number of frames and its own prompt, so the frames of each video are a batch.
            found = [_caption(loaded, video, options) for video in batch]
        return lambda: found

    results: list[list[str]] = [[] for _ in media]
    limits, threads = loaded.picture_limits, ctx.threads or 1
    for number, found in feed(
        range(len(media)), prepare, run, limits=limits, size=lambda video: video.frames.numel(), threads=threads
    ):
        results[number] = found[0] if found else []
    return results


def _caption(loaded: Pretrained, video: _Input, options: dict[str, Any]) -> list[str]:
    """The captions of a video."""
    import torch

    network = loaded.network
    patches = network.vision_model(loaded.on_device(video.frames), return_dict=True).last_hidden_state
    seen = patches.reshape(1, -1, patches.shape[-1])
    queries = network.qformer(
        query_embeds=network.query_tokens,
        encoder_hidden_states=seen,
        encoder_attention_mask=torch.ones(seen.shape[:-1], dtype=torch.long, device=seen.device),
        return_dict=True,
    ).last_hidden_state
    shown = network.language_projection(queries.to(patches.dtype))
    # Without a prompt, a caption begins with the token that begins a text.
    ids = video.prompt or [network.config.text_config.bos_token_id or network.config.text_config.pad_token_id or 0]
    words = network.get_input_embeddings()(torch.tensor([ids], device=shown.device)).to(shown.dtype)
    inputs = torch.cat([shown, words], dim=1)
    mask = torch.ones(inputs.shape[:-1], dtype=torch.long, device=inputs.device)
    made = network.language_model.generate(inputs_embeds=inputs, attention_mask=mask, **options)
    return [text.strip() for text in loaded.tokenizer.batch_decode(made, skip_special_tokens=True)]
