"""Variants of images from diffusion models of the library diffusers."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jinx_pipeline.models.feed import TooLargeError, free_memory, is_out_of_memory
from jinx_pipeline.models.pretrained import ModelFilesError
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    from PIL.Image import Image

_CLASSES: Final = ("StableDiffusion", "Flux", "LatentConsistency", "Kandinsky", "QwenImage")
# The number of other seeds to try if a pipeline's safety checker blanks an image.
_TRIES: Final = 3


@dataclass(eq=False)
class Diffusion:
    """A pipeline of diffusers in this process.

    Attributes:
        pipeline: The pipeline, which makes an image from an image.
        model: What it was loaded from.
    """

    pipeline: Any
    model: Model


def refuse_other_pipelines(
    operator: Operator, *, classes: tuple[str, ...] = _CLASSES, makes: str = "images from images", **models: Model
) -> None:
    """Refuse models that are not pipelines of diffusers.

    Args:
        operator: The operator.
        classes: The beginnings of the names of classes that it can use.
        makes: What they make, for messages.
        **models: The models by their parameters.

    Raises:
        ParameterError: A directory is not a pipeline.
    """
    for parameter, model in models.items():
        problem = _problem(model, classes, makes)
        if problem is not None:
            raise ParameterError(operator.name, parameter, f"{parameter}: {model.path} {problem}")


def _problem(model: Model, classes: tuple[str, ...], makes: str) -> str | None:
    directory = model.directory
    if directory is None:
        return None
    try:
        index = json.loads((directory / "model_index.json").read_text("utf-8"))
    except FileNotFoundError:
        return "is not a pipeline of diffusers: it has no model_index.json"
    except (OSError, ValueError) as error:
        return f"has a model_index.json that cannot be read: {error}"
    name = str(index.get("_class_name")) if isinstance(index, dict) else "unknown"
    if not name.startswith(classes):
        return f"is not a pipeline that makes {makes}: its class is {name}"
    if not model.allow_pickle and not any(directory.rglob("*.safetensors")):
        return "has no weights as safetensors; others are pickles, which may run code (allow_pickle: true loads them)"
    return None


def load_diffusion(model: Model, device: str) -> Diffusion:
    """A pipeline that makes images from images, for `Context.model`.

    Raises:
        ModelFilesError: The files are not those of such a pipeline.
    """
    return loaded_pipeline(model, device, "AutoPipelineForImage2Image")


def loaded_pipeline(model: Model, device: str, kind: str) -> Diffusion:
    """A pipeline.

    Args:
        model: The model.
        device: The device, if the model names none.
        kind: The class of diffusers that loads it.

    Raises:
        ModelFilesError: The files are not those of such a pipeline.
    """
    diffusers = require("diffusers", extra="diffusion", what="A diffusion model")
    torch = require("torch", extra="diffusion", what="A diffusion model")
    place = device if model.device == "auto" else model.device
    dtype = torch.float32 if model.dtype == "auto" else getattr(torch, model.dtype)
    try:
        pipeline = getattr(diffusers, kind).from_pretrained(
            str(model.directory or model.path),
            local_files_only=True,
            use_safetensors=None if model.allow_pickle else True,
        )
    except (OSError, ValueError) as error:
        raise ModelFilesError(f"{model.path} cannot be loaded as a diffusion model: {error}") from error
    pipeline.set_progress_bar_config(disable=True)
    return Diffusion(pipeline.to(place, dtype), model)


def variant(
    loaded: Diffusion, image: "Image", prompt: str, *, side: int, strength: float, guidance_scale: float, seed: int
) -> "Image":
    """A variant of an RGB image, in its size.

    Args:
        loaded: The pipeline.
        image: The image.
        prompt: What the variant shows.
        side: The side of the square in which the pipeline works, in pixels.
        strength: How much is changed, from 0 to 1.
        guidance_scale: How closely the prompt is followed.
        seed: The seed of the noise.

    Raises:
        ValueError: The safety checker of the pipeline blanks all images.
    """
    torch = require("torch", extra="diffusion", what="A diffusion model")
    resampling = require("PIL.Image", extra="diffusion", what="A diffusion model").Resampling.BILINEAR
    square = image.convert("RGB").resize((side, side), resampling)
    for attempt in range(_TRIES):
        generator = torch.Generator("cpu").manual_seed(seed + attempt)
        try:
            made = loaded.pipeline(
                prompt=[prompt],
                image=square,
                strength=strength,
                guidance_scale=guidance_scale,
                generator=generator,
            )
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            free_memory()
            raise TooLargeError(f"one image is too large for the memory of the device: {error}") from None
        blanked = getattr(made, "nsfw_content_detected", None)
        if not (blanked and blanked[0]):
            return made.images[0].resize(image.size, resampling)
    raise ValueError(f"the safety checker of {loaded.model.path} blanked {_TRIES} images")
