"""What somebody writes by hand for one model: a loop over batches that does nothing else."""

from collections.abc import Callable
from typing import Any

from PIL import Image

from bench.models.made import Made

BATCH = 32
Samples = list[dict[str, Any]]
Loop = Callable[[Samples], list[float]]


def clip(made: Made, device: str, batch: int = BATCH) -> Loop:
    """The cosine of each image and its caption."""
    import torch
    import transformers

    model = transformers.CLIPModel.from_pretrained(made.clip).eval().to(device)
    processor = transformers.CLIPProcessor.from_pretrained(made.clip)

    def loop(samples: Samples) -> list[float]:
        scores: list[float] = []
        for part in _parts(samples, batch):
            texts = [sample["text"].removeprefix("<__dj__image>").strip() for sample in part]
            inputs = processor(text=texts, images=_images(part), return_tensors="pt", padding=True, truncation=True)
            with torch.inference_mode():
                found = model(**inputs.to(device))
            scores += (found.text_embeds * found.image_embeds).sum(dim=-1).tolist()
        return scores

    return loop


def vit(made: Made, device: str, batch: int = BATCH) -> Loop:
    """The probability of the second class of each image."""
    import torch
    import transformers

    model = transformers.ViTForImageClassification.from_pretrained(made.vit).eval().to(device)
    processor = transformers.ViTImageProcessor.from_pretrained(made.vit)

    def loop(samples: Samples) -> list[float]:
        scores: list[float] = []
        for part in _parts(samples, batch):
            inputs = processor(images=_images(part), return_tensors="pt").to(device)
            with torch.inference_mode():
                scores += model(**inputs).logits.softmax(dim=-1)[:, 1].tolist()
        return scores

    return loop


def lm(made: Made, device: str, batch: int = BATCH) -> Loop:
    """The perplexity of each document; batches as the samples come, padded to the longest."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(made.lm).eval().to(device)
    tokenizer = transformers.AutoTokenizer.from_pretrained(made.lm)

    def loop(samples: Samples) -> list[float]:
        scores: list[float] = []
        for part in _parts(samples, batch):
            inputs = tokenizer([sample["document"] for sample in part], return_tensors="pt", padding=True).to(device)
            labels = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)[:, 1:]
            with torch.inference_mode():
                logits = model(**inputs).logits[:, :-1]
                losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
            scores += (losses.sum(dim=1) / (labels != -100).sum(dim=1)).exp().tolist()  # noqa: PLR2004 - the ignored label
        return scores

    return loop


LOOPS = {"clip": clip, "vit": vit, "lm": lm}
"""The loop for each model."""


def _parts(samples: Samples, batch: int) -> list[Samples]:
    return [samples[start : start + batch] for start in range(0, len(samples), batch)]


def _images(samples: Samples) -> list[Image.Image]:
    return [Image.open(sample["images"][0]).convert("RGB") for sample in samples]
