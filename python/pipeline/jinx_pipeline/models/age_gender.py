"""The age and gender of voices, from Wav2Vec2 with two heads as published by audEERING."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pretrained import ModelFilesError, Pretrained, load_pretrained
from jinx_pipeline.models.stored_weights import stored_weights
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    from jinx_pipeline.models.speech import Sounds

AGE_AND_GENDER: Final = Expected(
    "a model of age and gender", ("ForSpeechClassification", "AgeGenderModel"), ("audios",)
)
"""Wav2Vec2 with the heads `age` and `gender`."""
DEFAULT_AGE_AND_GENDER: Final = Model(path="audeering/wav2vec2-large-robust-24-ft-age-gender")
"""The model of Data-Juicer's operator."""

# The model returns the age divided by 100 years.
_YEARS: Final = 100


class Voice(NamedTuple):
    """The age and gender of a voice.

    Attributes:
        age: The age in years.
        female: The probability of a woman.
        male: The probability of a man.
        child: The probability of a child.
    """

    age: float
    female: float
    male: float
    child: float


def load_age_and_gender(model: Model, device: str) -> Pretrained:
    """Load a model for `Context.model`; its network has the heads `age` and `gender`."""
    loaded = load_pretrained(model, device, "Wav2Vec2Model", "AutoFeatureExtractor")
    for name, count in (("age", 1), ("gender", 3)):
        head = _head(model, name, count).to(loaded.device, loaded.network.dtype).eval()
        setattr(loaded.network, f"{name}_head", head)
    return loaded


def voices(model: Model, media: Sequence[Media], sounds: "Sounds", ctx: Context) -> list[Voice | None]:
    """The voice of each medium; None if it has no sound.

    Args:
        model: The model.
        media: The media.
        sounds: The sound of a medium at a rate, float32 of shape (n,); None if it has none.
        ctx: The context of the operator.
    """
    if not media:
        return []
    loaded = ctx.model(model, load_age_and_gender)
    extractor = loaded.processors["AutoFeatureExtractor"]
    rate = extractor.sampling_rate

    def prepare(medium: Media) -> list[Any]:
        sound = sounds(medium, rate)
        if sound is None or not len(sound):
            return []
        return [extractor(sound, sampling_rate=rate, return_tensors="pt")["input_values"][0]]

    def run(batch: list[Any]) -> Results[Voice]:
        import torch

        found: list[Any] = []
        with loaded.inference():
            # Only sounds of the same length are batched, because the model has no mask for padding.
            for _, equal in groupby(batch, key=len):
                states = loaded.network(loaded.on_device(torch.stack(list(equal)))).last_hidden_state.mean(dim=1)
                ages = loaded.network.age_head(states).float() * _YEARS
                found.append(torch.cat([ages, loaded.network.gender_head(states).float().softmax(dim=-1)], dim=1))
            rows = torch.cat(found)
        return lambda: [Voice(*row) for row in rows.tolist()]

    results: list[Voice | None] = [None] * len(media)
    limits, threads = loaded.picture_limits, ctx.threads or 1
    for number, found in feed(media, prepare, run, limits=limits, size=len, threads=threads):
        results[number] = found[0] if found else None
    return results


def _head(model: Model, name: str, count: int) -> Any:
    """The head made of the weights `{name}.dense` and `{name}.out_proj`."""
    torch = require("torch", extra="model", what="A model")
    weights = stored_weights(model, (f"{name}.",))
    layers: list[Any] = []
    for layer in ("dense", "out_proj"):
        weight, bias = (weights.get(f"{name}.{layer}.{kind}") for kind in ("weight", "bias"))
        if weight is None or bias is None:
            raise ModelFilesError(f"{model.path} has no weights of the head {name}: {name}.{layer} is missing")
        made = torch.nn.Linear(weight.shape[1], weight.shape[0])
        made.load_state_dict({"weight": weight, "bias": bias})
        layers.append(made)
    if layers[-1].out_features != count:
        raise ModelFilesError(f"{model.path}: the head {name} has {layers[-1].out_features} outputs, not {count}")
    return torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1])
