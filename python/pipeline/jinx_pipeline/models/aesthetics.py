"""Aesthetics scores of pictures from LAION's predictors: CLIP's vision tower with a small head."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pictures import Pictures, rows_of_pictures
from jinx_pipeline.models.pretrained import ModelFilesError, Pretrained, load_pretrained
from jinx_pipeline.models.stored_weights import stored_weights
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from jinx_pipeline.models.feed import Results

_CLASSES: Final = ("AestheticsPredictorV1", "AestheticsPredictorV2Linear", "AestheticsPredictorV2ReLU")
AESTHETICS: Final = Expected("an aesthetics predictor", _CLASSES, ("images",))
"""The classes of the package simple-aesthetics-predictor, which is not needed to load them."""
DEFAULT_AESTHETICS: Final = Model(path="shunk031/aesthetics-predictor-v2-sac-logos-ava1-l14-linearMSE")
"""The model of Data-Juicer's operators."""

# The predictors return scores from 0 to 10.
_SCALE: Final = 10


def load_aesthetics(model: Model, device: str) -> Pretrained:
    """A predictor, for `Context.model`; the attribute `head` of its network maps an embedding to a score."""
    loaded = load_pretrained(model, device, "CLIPVisionModelWithProjection", "AutoImageProcessor")
    head = _head(model, is_rectified="ReLU" in str(loaded.network.config.architectures))
    loaded.network.head = head.to(loaded.device, loaded.network.dtype).eval()
    return loaded


def aesthetics(
    model: Model, media: Sequence[Media], pictures: Pictures, ctx: Context
) -> "list[npt.NDArray[np.float32]]":
    """The scores of the pictures of media, from 0 to 1, float32 of shape (k,) for each medium."""
    loaded = ctx.model(model, load_aesthetics)

    def run(pixels: Any) -> "Results[npt.NDArray[np.float32]]":
        vectors = loaded.network(pixel_values=pixels).image_embeds
        scores = loaded.network.head(vectors / vectors.norm(dim=-1, keepdim=True)).float() / _SCALE
        return lambda: scores.cpu().numpy()

    rows = rows_of_pictures(loaded, media, pictures, run, what="aesthetics", threads=ctx.threads)
    return [scores.reshape(-1) for scores in rows]


def _head(model: Model, *, is_rectified: bool) -> Any:
    """The layers after the embedding, from the weights `predictor` or `layers.0`, `layers.2`, ..."""
    torch = require("torch", extra="model", what="A model")
    weights = stored_weights(model, ("predictor.", "layers."))
    names = [name.removesuffix(".weight") for name in weights if name.endswith(".weight")]
    layers: list[Any] = []
    for name in sorted(names, key=_number):
        weight, bias = weights[f"{name}.weight"], weights.get(f"{name}.bias")
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
        layer.load_state_dict({"weight": weight} if bias is None else {"weight": weight, "bias": bias})
        layers += [layer, torch.nn.ReLU()] if is_rectified else [layer]
    if not layers:
        raise ModelFilesError(f"{model.path} has no weights of a head: predictor or layers.0")
    return torch.nn.Sequential(*(layers[:-1] if is_rectified else layers))


def _number(name: str) -> int:
    number = name.rpartition(".")[2]
    return int(number) if number.isdigit() else 0
