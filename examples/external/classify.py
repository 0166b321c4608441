"""An adapter for `external_operator_mapper`: the probabilities of a small image classifier of transformers.

It runs in an environment with pyarrow, transformers, torch and Pillow, which need not have jinx.
"""

from collections.abc import Callable
from io import BytesIO
from typing import Any


def load(options: dict[str, Any], device: str) -> Callable[[dict[str, list[Any]]], dict[str, list[Any]]]:
    """The function that is called with batches.

    Args:
        options: `model`: the directory of the model.
        device: Where it runs.
    """
    import torch
    from PIL import Image
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    processor = AutoImageProcessor.from_pretrained(options["model"])
    model = AutoModelForImageClassification.from_pretrained(options["model"]).to(device).eval()
    names = [model.config.id2label[number] for number in range(model.config.num_labels)]

    def classify(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        images = [Image.open(BytesIO(media[0])).convert("RGB") for media in columns["images"]]
        with torch.no_grad():
            pixels = processor(images=images, return_tensors="pt").to(device)
            scores = model(**pixels).logits.softmax(dim=1).cpu()
        return {"label": [names[number] for number in scores.argmax(dim=1).tolist()], "scores": scores.tolist()}

    return classify
