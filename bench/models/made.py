"""Models with random weights, in the sizes of real ones or tiny, and samples for them."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

WORDS = [f"w{number}" for number in range(4000)]
_SPECIAL = ["<unk>", "<pad>", "<bos>", "<eos>"]
_TINY: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}


@dataclass(frozen=True)
class Made:
    """The directories of models.

    Attributes:
        clip: A CLIP model, by default in the size of ViT-B/32.
        vit: A ViT that classifies images, by default ViT-B/16.
        lm: A causal language model, by default of 124 M parameters.
    """

    clip: Path
    vit: Path
    lm: Path


def save_models(folder: Path, *, is_tiny: bool, clip_size: str = "base", only: Collection[str] | None = None) -> Made:
    """Save the models.

    Args:
        folder: The directory for their directories.
        is_tiny: Whether to make them tiny, to try the benchmark.
        clip_size: `base` or `large`, ViT-L/14.
        only: Which models; None: all.
    """
    import torch

    torch.manual_seed(0)
    made = Made(folder / "clip", folder / "vit", folder / "lm")
    for name, save in (("clip", _save_clip), ("vit", _save_vit), ("lm", _save_lm)):
        if only is None or name in only:
            save(getattr(made, name), is_tiny=is_tiny, size=clip_size)
    return made


def _save_clip(folder: Path, *, is_tiny: bool, size: str) -> None:
    import transformers

    vision = _TINY if is_tiny else {}
    text = {**(_TINY if is_tiny else {}), "vocab_size": len(WORDS) + len(_SPECIAL), "eos_token_id": 3}
    if size == "large" and not is_tiny:
        vision = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
        vision |= {"patch_size": 14}
    # The scale of trained models: Data-Juicer's operator divides logits by it to get cosines.
    scale = math.log(100)
    clip = transformers.CLIPConfig(text_config=text, vision_config=vision, logit_scale_init_value=scale)
    transformers.CLIPModel(clip).save_pretrained(folder)
    transformers.CLIPProcessor(transformers.CLIPImageProcessor(), _tokenizer(77)).save_pretrained(folder)


def _save_vit(folder: Path, *, is_tiny: bool, size: str) -> None:
    import transformers

    del size
    names = {"id2label": {0: "normal", 1: "nsfw"}, "label2id": {"normal": 0, "nsfw": 1}}
    vit = transformers.ViTConfig(**(_TINY if is_tiny else {}), **names)
    transformers.ViTForImageClassification(vit).save_pretrained(folder)
    transformers.ViTImageProcessor().save_pretrained(folder)


def _save_lm(folder: Path, *, is_tiny: bool, size: str) -> None:
    import transformers

    del size
    small = {"n_embd": 32, "n_layer": 2, "n_head": 2} if is_tiny else {}
    lm = transformers.GPT2Config(**small, bos_token_id=2, eos_token_id=3)
    transformers.GPT2LMHeadModel(lm).save_pretrained(folder)
    _tokenizer(1024).save_pretrained(folder)


def _tokenizer(length: int) -> Any:
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {name: number for number, name in enumerate([*_SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=_SPECIAL[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 2)])
    named = zip(("unk_token", "pad_token", "bos_token", "eos_token"), _SPECIAL, strict=True)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=length, **dict(named))


def samples(folder: Path, count: int) -> list[dict[str, Any]]:
    """Samples with an image file of 640 x 480 pixels, a caption, and a document of 20 to 200 words."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    made: list[dict[str, Any]] = []
    for number in range(count):
        small = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        out = BytesIO()
        small.resize((640, 480), Image.Resampling.BICUBIC).save(out, "JPEG", quality=90)
        path = folder / f"{number}.jpg"
        path.write_bytes(out.getvalue())
        made.append(
            {
                "text": f"<__dj__image> {_words(rng, 12)}",
                "document": _words(rng, int(rng.integers(20, 200))),
                "images": [str(path)],
            }
        )
    return made


def _words(rng: np.random.Generator, count: int) -> str:
    return " ".join(WORDS[at] for at in rng.integers(0, len(WORDS), count))
