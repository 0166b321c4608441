"""What the operators are compared on: images of several formats, traces of agents, LaTeX, HTML."""

import io
import random
from pathlib import Path
from typing import Any

import numpy as np

IMAGES = "images"
_KINDS = ("jpeg", "png", "palette", "alpha", "grey", "cmyk", "deep", "webp", "gif", "turned")


def image_files(folder: Path, count: int, *, plain: bool = False) -> list[str]:
    """Image files of many kinds and sizes; with `plain`, JPEG files of a photograph's size."""
    from PIL import Image

    rng = np.random.default_rng(7)
    paths: list[str] = []
    for number in range(count):
        kind = "jpeg" if plain else _KINDS[number % len(_KINDS)]
        width, height = (1280, 960) if plain else tuple(rng.integers(20, 400, 2).tolist())
        small = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
        image = small.resize((width, height), Image.Resampling.BICUBIC)
        path = folder / f"{number:05}-{kind}"
        path.write_bytes(_encoded(image, kind))
        paths.append(str(path))
    return paths


def _encoded(image: Any, kind: str) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    if kind == "deep":
        Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257).save(out, "PNG")
    elif kind == "turned":
        exif = Image.Exif()
        exif[0x0112] = 6
        image.save(out, "JPEG", exif=exif.tobytes())
    else:
        modes = {"palette": "P", "alpha": "RGBA", "grey": "L", "cmyk": "CMYK", "gif": "P"}
        formats = {"jpeg": "JPEG", "grey": "JPEG", "cmyk": "JPEG", "webp": "WEBP", "gif": "GIF"}
        image.convert(modes.get(kind, "RGB")).save(out, formats.get(kind, "PNG"))
    return out.getvalue()


def image_samples(paths: list[str]) -> list[dict[str, Any]]:
    """Samples with one to three images."""
    rng = random.Random(3)
    samples: list[dict[str, Any]] = []
    place = 0
    while place < len(paths):
        count = rng.choice((1, 1, 2, 3))
        samples.append({IMAGES: paths[place : place + count], "number": len(samples)})
        place += count
    return samples


_RESULTS = ("ok", "wrote 12 bytes", "Error: it broke", "three lines", "", "permission denied", "a\nb", "操作失败")


def traces(count: int) -> list[dict[str, Any]]:
    """Dialogs with tool calls, in OpenAI's form, and every third in Anthropic's."""
    rng = random.Random(5)
    samples: list[dict[str, Any]] = []
    for number in range(count):
        messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}] if number % 2 else []
        for turn in range(rng.randint(1, 3)):
            messages.append({"role": "user", "content": f"Question {turn} of {number}, and more words of it"})
            for _ in range(rng.randint(0, 3)):
                messages += _call(rng, is_anthropic=number % 3 == 0)
            messages.append({"role": "assistant", "content": f"Answer {turn}"})
        usage = {"prompt_tokens": rng.randint(1, 99), "completion_tokens": rng.randint(1, 99)}
        sample = {"messages": messages, "usage": usage, "id": f"r{number}", "number": number, "choices": []}
        samples.append(sample)
    return samples


def _call(rng: random.Random, *, is_anthropic: bool) -> list[dict[str, Any]]:
    name, result = rng.choice(("search", "read", "write")), rng.choice(_RESULTS)
    if is_anthropic:
        call = {"type": "tool_use", "id": "t", "name": name, "input": {}}
        answer = {"type": "tool_result", "tool_use_id": "t", "content": result}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": result},
    ]


def papers(count: int) -> list[dict[str, Any]]:
    """LaTeX documents with figures, parts of figures and references."""
    rng = random.Random(9)
    samples: list[dict[str, Any]] = []
    for number in range(count):
        parts = [f"See \\ref{{f{at}}} and \\cref{{f{at}, f{at + 1}}}.\n\nProse {at}." for at in range(3)]
        for at in range(rng.randint(0, 3)):
            body = f"\\includegraphics[width=3cm]{{i{at}}}\\caption{{A \\emph{{caption}} {at}}}\\label{{f{at}}}"
            if rng.random() < 0.3:  # noqa: PLR2004 - a share
                inner = "".join(f"\\subfloat[Part {n}]{{\\includegraphics{{s{n}}}}}" for n in range(2))
                body = f"{inner}\\caption{{Whole}}\\label{{f{at}}}"
            parts.insert(rng.randint(0, len(parts)), f"\\begin{{figure}}[t]{body}\\end{{figure}}")
        samples.append({"text": "\n\n".join(parts), "number": number})
    return samples


def pages(count: int) -> list[dict[str, Any]]:
    """HTML documents with tables."""
    rng = random.Random(11)
    samples: list[dict[str, Any]] = []
    for number in range(count):
        rows = "".join(
            f"<tr>{''.join(f'<td>{rng.randint(0, 99)}</td>' for _ in range(3))}</tr>" for _ in range(rng.randint(0, 4))
        )
        cell = rng.choice(("plain", "a <b>bold</b> word", "x &amp; y", "<p>one</p><p>two</p>"))
        head = f"<tr><th>Name</th><th>{cell}</th></tr>" if number % 2 else ""
        table = f"<table>{head}{rows}</table>" if number % 5 else ""
        samples.append({"text": f"<html><p>Text</p>{table}</html>", "number": number})
    return samples


def facts(count: int) -> list[dict[str, Any]]:
    """Traces with facts that earlier operators have found."""
    rng = random.Random(13)
    samples: list[dict[str, Any]] = []
    for number in range(count):
        fails, successes = rng.choice((0, 0, 0, 1, 3)), rng.randint(0, 5)
        known: dict[str, Any] = {
            "agent_tool_types": rng.choices(("search", "read", " write ", "", "run"), k=rng.randint(0, 9)),
            "tool_fail_count": fails,
            "tool_success_count": successes,
            "tool_success_ratio": successes / (fails + successes) if fails + successes else None,
            "total_tokens": rng.randint(1, 9999),
            "agent_total_cost_time_ms": rng.choice((None, 120, 90_000)),
            "agent_trace_coherence": {"score": rng.randint(1, 5)},
            "dialog_topic_shift": {"score": rng.randint(1, 5), "skipped": number % 5 == 0},
        }
        query, response = "why " * rng.randint(1, 60), "yes " * rng.randint(0, 9)
        samples.append({"query": query, "response": response, "__dj__meta__": known, "number": number})
    return samples
