"""Datasets for the tests and the benchmark of the viewer."""

import io
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jinx

_SOURCES = ("laion", "coyo", "cc12m", "docs")
_COLOURS = ("red", "green", "blue", "yellow", "violet")
_THINGS = ("house", "boat", "bird", "tree", "bridge", "lamp")


# How long the browser may take for one step on a machine that stands still at times.
PATIENCE_MS = 120_000


class Served(NamedTuple):
    """A dataset that is served, and its samples without media."""

    url: str
    path: Path
    samples: list[dict[str, Any]]


def until(page: Any, condition: str, argument: Any = None, seconds: float = 60) -> None:
    """Wait until a JavaScript function of the argument is true; the page's policy forbids Playwright's own way."""
    limit = time.monotonic() + seconds
    while not page.evaluate(condition, argument):
        assert time.monotonic() < limit, f"{condition} is not true after {seconds} seconds"
        page.wait_for_timeout(40)


def pictures(count: int = 48, size: tuple[int, int] = (320, 240)) -> list[bytes]:
    """Small JPEGs that differ from each other: soft shapes on a ground."""
    from PIL import Image, ImageDraw, ImageFilter

    drawn: list[bytes] = []
    for seed in range(count):
        chance = random.Random(seed)
        colour = lambda low, high: tuple(chance.randrange(low, high) for _ in range(3))  # noqa: B023, E731
        width, height = size if seed % 3 else (size[1], size[0])
        image = Image.new("RGB", (width, height), colour(150, 245))
        draw = ImageDraw.Draw(image)
        for _ in range(6):
            x, y = chance.randrange(width), chance.randrange(height)
            radius = chance.randrange(height // 12, height // 3)
            shape = draw.ellipse if chance.random() < 0.6 else draw.rectangle
            shape((x - radius, y - radius, x + radius, y + radius), fill=colour(30, 235))
        out = io.BytesIO()
        image.filter(ImageFilter.GaussianBlur(1.2)).save(out, "JPEG", quality=82)
        drawn.append(out.getvalue())
    return drawn


def samples(count: int, images: list[bytes]) -> Iterator[dict[str, Any]]:
    """Samples with numbers, strings, a picture and a conversation."""
    chance = random.Random(7)
    for i in range(count):
        colour, thing = chance.choice(_COLOURS), chance.choice(_THINGS)
        caption = f"A {colour} {thing} near the water, seen from the {chance.choice(['left', 'right'])} side."
        yield {
            "id": f"s{i:07}",
            "image": images[i % len(images)],
            "caption": caption,
            "score": round(chance.betavariate(2, 5), 4),
            "width": chance.choice([256, 320, 512, 640, 1024, 1280]),
            "source": chance.choices(_SOURCES, [8, 4, 2, 1])[0],
            "is_safe": chance.random() < 0.9,
            "messages": [
                {"role": "user", "content": f"<image>\nWhat is {chance.choice(['shown', 'here', 'in the picture'])}?"},
                {"role": "assistant", "content": caption if i % 7 else f"{caption} The {thing} is quite old."},
            ],
            "meta": {"license": "cc-by", "page": i // 10},
        }


def write(path: Path, count: int) -> list[dict[str, Any]]:
    """A dataset, and its samples without the pictures."""
    images = pictures()
    plain: list[dict[str, Any]] = []
    with jinx.Writer(path, sidecar=True) as writer:
        for sample in samples(count, images):
            writer.write(sample)
            plain.append({name: value for name, value in sample.items() if name != "image"})
    return plain


def write_mixed(path: Path) -> list[dict[str, Any]]:
    """80 samples in clusters of five: conversations with media, and texts before and after a change."""
    from make_media import sounds, videos

    chance = random.Random(3)
    images, sound, video = pictures(12), sounds.wav(1.5), videos.video(40, size=(320, 192))
    words = [
        "the",
        "quick",
        "brown",
        "fox",
        "jumps",
        "over",
        "a",
        "lazy",
        "dog",
        "while",
        "rain",
        "falls",
        "on",
        "roofs",
    ]
    plain: list[dict[str, Any]] = []
    with jinx.Writer(path, sidecar=True) as writer:
        for i in range(80):
            before = chance.choices(words, k=24)
            kind = ("image", "audio", "video", "text")[i % 4]
            question = "Describe it." if kind == "text" else f"<{kind}>\nDescribe it."
            sample = {
                "id": f"m{i}",
                "kind": kind,
                "cluster": i // 5,
                "num_tokens": chance.randrange(20, 900),
                "before": " ".join(before),
                "after": " ".join([*before[:5], *before[7:], "added"]),
                "messages": [
                    {"role": "system", "content": "You are a helpful assistant."},
                    {"role": "user", "content": question},
                    {"role": "assistant", "content": " ".join(chance.choices(words, k=30))},
                ],
            }
            media = {"image": images[i % 12], "audio": sound, "video": video}
            writer.write(sample if kind == "text" else {**sample, kind: media[kind]})
            plain.append(sample)
    return plain
