"""Probabilities of classes, from image classification models."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pictures import Pictures, rows_of_pictures
from jinx_pipeline.models.pretrained import ModelFilesError, Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from jinx_pipeline.models.feed import Results

CLASSIFIER: Final = Expected("a model that classifies images", ("ForImageClassification",), ("images",))
"""Any such model of transformers, such as a ViT."""

_BINARY: Final = 2


def load_classifier(model: Model, device: str) -> Pretrained:
    """A classifier, for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForImageClassification", "AutoImageProcessor")


def probabilities(
    model: Model, media: Sequence[Media], pictures: Pictures, ctx: Context, *, label: str
) -> "list[npt.NDArray[np.float32]]":
    """The probability of a class for the pictures of media, float32 of shape (k,) for each medium.

    Args:
        model: The model.
        media: The media.
        pictures: How to make their pictures.
        ctx: The context of the operator.
        label: The class: that with this name, or else the second of two, as in Data-Juicer.
    """
    loaded = ctx.model(model, load_classifier)
    number = _class_number(loaded, label)
    rows = _rows(loaded, media, pictures, ctx)
    return [classes[:, number] if len(classes) else classes.reshape(0) for classes in rows]


def most_probable(model: Model, media: Sequence[Media], pictures: Pictures, ctx: Context) -> list[list[str]]:
    """The most probable class of each picture of each medium.

    Args:
        model: The model.
        media: The media.
        pictures: How to make their pictures.
        ctx: The context of the operator.
    """
    loaded = ctx.model(model, load_classifier)
    names = {int(number): str(name) for number, name in loaded.network.config.id2label.items()}
    return [
        [names[number] for number in classes.argmax(axis=1).tolist()] if len(classes) else []
        for classes in _rows(loaded, media, pictures, ctx)
    ]


def _rows(
    loaded: Pretrained, media: Sequence[Media], pictures: Pictures, ctx: Context
) -> "list[npt.NDArray[np.float32]]":
    """The probabilities of all classes, float32 of shape (k, classes) for each medium."""

    def run(pixels: Any) -> "Results[npt.NDArray[np.float32]]":
        found = loaded.network(pixel_values=pixels).logits.float().softmax(dim=-1)
        return lambda: found.cpu().numpy()

    return rows_of_pictures(loaded, media, pictures, run, what="classes", threads=ctx.threads)


def _class_number(loaded: Pretrained, label: str) -> int:
    names = {int(number): str(name) for number, name in loaded.network.config.id2label.items()}
    for number, name in names.items():
        if name.casefold() == label.casefold():
            return number
    if len(names) == _BINARY:
        return 1
    some = ", ".join(list(names.values())[:10])
    raise ModelFilesError(f"{loaded.model.path} has no class {label!r}; it has: {some}")
