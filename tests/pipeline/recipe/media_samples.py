"""Samples for the shipped recipes on media and agent traces: good ones, then bad ones."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import jinx
from jinx_pipeline.recipe.shipped import shipped_or_file
from pipeline.operators.images import encoded, hostile, photo

SENTENCE = "A harbour with old boats below a castle, painted by a sailor in the winter of a remarkable year"
WORDS = SENTENCE.split()
HALF = hostile()["half a jpeg"]


@dataclass(frozen=True)
class Made:
    """Samples for a recipe.

    Attributes:
        samples: The samples; their numbers become their ids.
        kept: How many samples of the output come from each.
        broken: The number of samples that cannot be read; None: it is not known.
        packages: What the recipe needs.
    """

    samples: list[dict]
    kept: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(6), 1))
    broken: int | None = 0
    packages: tuple[str, ...] = ("ftfy",)


def caption(seed: int) -> str:
    """A caption that no other seed gives."""
    return " ".join(WORDS[seed:] + WORDS[:seed]) + "."


def image_text() -> Made:
    """Images with captions."""
    good = [{"text": caption(seed), "images": [encoded(photo(96, 80, seed), "JPEG")]} for seed in range(6)]
    bad = [
        {"text": "#### |||| ****", "images": good[0]["images"]},
        {"text": "buy " * 300, "images": good[0]["images"]},
        {"text": caption(7), "images": [encoded(photo(20, 20, 20))]},
        {"text": caption(8), "images": [encoded(photo(900, 80, 21))]},
        {"text": caption(9), "images": good[1]["images"]},
        {"text": caption(9), "images": []},
        {"text": caption(9), "images": [HALF]},
        {"text": caption(9), "images": [b"no image" * 20]},
    ]
    return Made(good + bad[:5] + bad[6:], broken=2)


def llava() -> Made:
    """Dialogs about images."""
    made = image_text()
    samples = [
        {
            "image": sample["images"][0],
            "conversations": [
                {"from": "human", "value": "<image>\nDescribe"},
                {"from": "gpt", "value": sample["text"]},
            ],
        }
        for at, sample in enumerate(made.samples)
        if at != 10  # with consider_text, another caption makes it another sample
    ]
    return Made(samples, broken=made.broken)


def agent_traces() -> Made:
    """Conversations with calls of tools."""

    def trace(seed: int, result: str, times: int = 1) -> dict:
        call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"q": "me@example.org"}'}}
        turns = [{"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "content": result}]
        messages = [{"role": "user", "content": caption(seed)}, *(turns * times)]
        messages.append({"role": "assistant", "content": "It is found, write to me@example.org or call +49 30 901820."})
        return {"messages": messages, "usage": {"prompt_tokens": 10, "completion_tokens": seed}}

    good = [trace(seed, "three results") for seed in range(6)]
    return Made([*good, good[2], trace(7, "Error: no such tool", 3), {"messages": [{"role": "user", "content": "Hi"}]}])


def films() -> Made:
    """Videos of two scenes; then ones that are bad, of which two cannot be read."""
    videos = pytest.importorskip("make_media.videos")

    def film(first: int, **options: object) -> bytes:
        return videos.video(**({"frames": 50, "cuts": (25,), "size": (320, 240), "first": first, "gop": 25} | options))

    good = [film(0), film(50, rotation=90)]
    still = film(150, step=0, frames=30, cuts=(), gop=30)
    bad = [film(100, frames=10, cuts=()), film(0, size=(320, 120)), good[0], still, b"no video" * 9, good[0][:4000]]
    return Made([{"videos": [film]} for film in good + bad], {0: 2, 1: 2}, 2, ("av", "cv2"))


def recordings(seconds: float) -> Made:
    """Sounds of a length."""
    sounds = pytest.importorskip("make_media.sounds")
    good = [sounds.tone(seconds, hertz=hertz) for hertz in (300, 440, 520)]
    bad = [sounds.tone(0.1), np.zeros((int(16_000 * seconds), 1), dtype=np.float32)]
    broken = [sounds.without_channels(), sounds.with_nan() * 1, b"no sound" * 300]
    audios = [*(sounds.encoded(samples, kind="FLAC") for samples in good), *map(sounds.encoded, bad), *broken]
    return Made([{"audios": [audio]} for audio in audios], dict.fromkeys(range(3), 1), None, ("av", "soundfile"))


MADE: dict[str, Callable[[], Made]] = {
    "agent-traces": agent_traces,
    "audio-music": lambda: recordings(6),
    "audio-speech": lambda: recordings(2),
    "general-video": films,
    "image-text": image_text,
    "llava-pretrain": llava,
}
"""Samples by the name of the recipe."""


def write_samples(path: Path, made: Made) -> Path:
    """Write samples as a dataset, after the packages that they need are found."""
    for package in made.packages:
        pytest.importorskip(package)
    with jinx.Writer(path) as writer:
        writer.write_many({"id": at, **sample} for at, sample in enumerate(made.samples))
    return path


def write_job(folder: Path, name: str) -> Path:
    """Write the samples of a recipe, and the recipe with small blocks; returns the path of the recipe."""
    write_samples(folder / "in.jinx", MADE[name]())
    recipe = folder / "recipe.yaml"
    text = Path(shipped_or_file(name)).read_text("utf-8")
    recipe.write_text(f"{text}export: out.jinx\nblock_rows: 2\nmax_bad_rows: 9\n", "utf-8")
    return recipe
