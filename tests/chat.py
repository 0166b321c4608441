"""A small tokenizer with a chat template, and a dataset of conversations with images, made on the spot."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import jinx

WORDS = [f"w{i}" for i in range(60)]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>", "<user>", "<assistant>", "<image>"]
TEMPLATE = (
    "<s>{% for message in messages %}<{{ message['role'] }}> "
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] }} </s>{% endgeneration %}"
    "{% else %}{{ message['content'] }} {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant> {% endif %}"
)


def write_tokenizer(folder: Path, template: str = TEMPLATE) -> Path:
    """A directory as `save_pretrained` writes it: one token per word."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    names = [*SPECIAL, *WORDS]
    tokenizer = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": template,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    return folder


def picture(rng: np.random.Generator, width: int, height: int, form: str = "PNG") -> bytes:
    """The file of an image."""
    from PIL import Image

    out = BytesIO()
    Image.fromarray(rng.integers(0, 255, (height, width, 3), dtype=np.uint8)).save(out, form)
    return out.getvalue()


def conversation(i: int, *, images: int = 0, words: int = 12) -> list[dict[str, Any]]:
    """Questions and answers of words, some of them after images."""
    rng = np.random.default_rng(i)
    turns: list[dict[str, Any]] = []
    for turn in range(1 + i % 2):
        asked, said = (" ".join(rng.choice(WORDS, 1 + rng.integers(words))) for _ in range(2))
        marks = "<image> " * images if turn == 0 else ""
        turns += [{"role": "user", "content": marks + asked}, {"role": "assistant", "content": said}]
    return turns


def write_chat(path: Path, count: int, *, images: int = 0, words: int = 12) -> Path:
    """A dataset of conversations; sample `i` has `i` modulo `images + 1` images."""
    rng = np.random.default_rng(count)
    with jinx.Writer(path) as writer:
        for i in range(count):
            number = i % (images + 1)
            sample: dict[str, Any] = {"id": i, "messages": conversation(i, images=number, words=words)}
            if images:
                sample["images"] = [picture(rng, 8 + 4 * (i % 3), 8) for _ in range(number)]
            writer.write(sample)
    return path
