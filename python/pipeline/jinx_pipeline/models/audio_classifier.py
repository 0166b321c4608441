"""Classes of sounds, from audio classification models."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Sounds = Callable[[Media, int], "npt.NDArray[np.float32] | None"]

AUDIO_CLASSIFIER: Final = Expected(
    "a model that classifies audio", ("ForAudioClassification", "ForSequenceClassification"), ("audios",)
)
"""Models such as AST, and Wav2Vec2 with a head."""


def load_audio_classifier(model: Model, device: str) -> Pretrained:
    """A classifier of audio, for `Context.model`."""
    return load_pretrained(model, device, "AutoModelForAudioClassification", "AutoFeatureExtractor")


def labels_of(model: Model, media: Sequence[Media], sounds: "Sounds", ctx: Context) -> list[str | None]:
    """The most likely class of each medium; None if it has no sound.

    Args:
        model: The model.
        media: The media.
        sounds: The sound of a medium at a rate, float32 of shape (n,); None if it has none.
        ctx: The context of the operator.
    """
    if not media:
        return []
    loaded = ctx.model(model, load_audio_classifier)
    extractor = loaded.processors["AutoFeatureExtractor"]
    (name,) = extractor.model_input_names[:1]
    names = loaded.network.config.id2label

    def prepare(medium: Media) -> list[Any]:
        sound = sounds(medium, extractor.sampling_rate)
        if sound is None:
            return []
        return [extractor(sound, sampling_rate=extractor.sampling_rate, return_tensors="pt")[name][0]]

    def run(batch: list[Any]) -> Results[int]:
        import torch

        with loaded.inference():
            # Only sounds of the same length are batched, because some models have no mask for padding.
            found = [
                loaded.network(loaded.on_device(torch.stack(list(equal)))).logits.argmax(dim=-1)
                for _, equal in groupby(batch, key=lambda features: features.shape)
            ]
            numbers = torch.cat(found)
        return numbers.tolist

    labels: list[str | None] = [None] * len(media)
    limits, threads = loaded.picture_limits, ctx.threads or 1
    for number, classes in feed(
        media, prepare, run, limits=limits, size=lambda features: features.numel(), threads=threads
    ):
        labels[number] = str(names[classes[0]]) if classes else None
    return labels
