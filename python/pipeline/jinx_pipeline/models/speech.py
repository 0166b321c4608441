"""Transcripts of speech, from models of transformers: Whisper and its kin, and models with a CTC head."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from jinx_pipeline.models.feed import Results, feed
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.pretrained import ModelFilesError, Pretrained, load_pretrained
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.optional import require
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt

    Sound = npt.NDArray[np.float32]
    Sounds = Callable[[Media, int], Sound | None]

SPEECH_RECOGNIZER: Final = Expected(
    "a model that transcribes speech",
    ("ForConditionalGeneration", "SpeechEncoderDecoderModel", "ForCTC"),
    ("texts", "audios"),
)
"""Models such as Whisper, and Wav2Vec2 with a CTC head."""

# A long sound is cut at the quietest place of the last seconds of a window.
_SEARCHED_SECONDS: Final = 5
_QUIET_SECONDS: Final = 0.1
_CTC_SECONDS: Final = 30


class Transcript(NamedTuple):
    """A transcript of a sound.

    Attributes:
        language: The code of its language, such as `en`; empty if the model does not tell.
        text: The words.
    """

    language: str
    text: str


def load_speech_recognizer(model: Model, device: str) -> Pretrained:
    """A model that transcribes, for `Context.model`."""
    transformers = require("transformers", extra="model", what="A model")
    path = str(model.directory or model.path)
    config = transformers.AutoConfig.from_pretrained(path, local_files_only=True)
    is_ctc = any(str(name).endswith("ForCTC") for name in config.architectures or [])
    network = "AutoModelForCTC" if is_ctc else "AutoModelForSpeechSeq2Seq"
    return load_pretrained(model, device, network, "AutoTokenizer", "AutoFeatureExtractor")


def transcripts(
    model: Model, media: Sequence[Media], sounds: "Sounds", ctx: Context, *, max_new_tokens: int
) -> list[Transcript | None]:
    """The transcript of each medium; None if it has no sound.

    A long sound is cut into windows at quiet places; its language is that of the first window.

    Args:
        model: The model.
        media: The media.
        sounds: The sound of a medium at a rate, float32 of shape (n,); None if it has none.
        ctx: The context of the operator.
        max_new_tokens: The largest number of tokens for a window.
    """
    if not media:
        return []
    loaded = ctx.model(model, load_speech_recognizer)
    extractor = loaded.processors["AutoFeatureExtractor"]
    rate = extractor.sampling_rate
    longest = getattr(extractor, "n_samples", None) or _CTC_SECONDS * rate
    (name,) = extractor.model_input_names[:1]

    def prepare(medium: Media) -> list[Any]:
        sound = sounds(medium, rate)
        if sound is None or not len(sound):
            return []
        windows = cut_at_quiet(sound, longest, rate)
        return [extractor(window, sampling_rate=rate, return_tensors="pt")[name][0] for window in windows]

    def run(batch: list[Any]) -> Results[Transcript]:
        import torch

        found: list[Transcript] = []
        with loaded.inference():
            # Only windows of the same length are batched, because some models have no mask for padding.
            for _, equal in groupby(batch, key=lambda features: features.shape):
                found += _said(loaded, loaded.on_device(torch.stack(list(equal))), name, max_new_tokens)
        return lambda: found

    results: list[Transcript | None] = [None] * len(media)
    limits, threads = loaded.picture_limits, ctx.threads or 1
    fed = feed(media, prepare, run, limits=limits, size=lambda features: features.numel(), threads=threads)
    for number, windows in fed:
        if windows:
            texts = [window.text for window in windows if window.text]
            results[number] = Transcript(windows[0].language, " ".join(texts))
    return results


def spoken_languages(model: Model, media: Sequence[Media], sounds: "Sounds", ctx: Context) -> list[str]:
    """The language code of each medium, from its first window; empty if it has no sound.

    Args:
        model: A model of many languages.
        media: The media.
        sounds: As for `transcripts`.
        ctx: The context of the operator.

    Raises:
        ModelFilesError: The model does not tell languages.
    """
    if not media:
        return []
    loaded = ctx.model(model, load_speech_recognizer)
    numbers = getattr(getattr(loaded.network, "generation_config", None), "lang_to_id", None)
    if not numbers:
        raise ModelFilesError(f"{model.path}: it does not tell languages; take a Whisper model of many languages")
    codes = {number: token.strip("<|>") for token, number in numbers.items()}
    extractor = loaded.processors["AutoFeatureExtractor"]
    rate = extractor.sampling_rate

    def prepare(medium: Media) -> list[Any]:
        sound = sounds(medium, rate)
        if sound is None or not len(sound):
            return []
        window = sound[: extractor.n_samples]
        return [extractor(window, sampling_rate=rate, return_tensors="pt").input_features[0]]

    def run(batch: list[Any]) -> Results[str]:
        import torch

        with loaded.inference():
            detected = loaded.network.detect_language(loaded.on_device(torch.stack(batch))).reshape(-1).tolist()
        return lambda: [codes[number] for number in detected]

    results = [""] * len(media)
    limits, threads = loaded.picture_limits, ctx.threads or 1
    fed = feed(media, prepare, run, limits=limits, size=lambda features: features.numel(), threads=threads)
    for number, languages in fed:
        if languages:
            results[number] = languages[0]
    return results


def cut_at_quiet(sound: "Sound", longest: int, rate: int) -> "list[Sound]":
    """A sound as windows, each cut at the quietest place in its last seconds.

    Args:
        sound: The sound, float32 of shape (n,).
        longest: The largest number of samples of a window.
        rate: Samples per second.

    Returns:
        The windows, which together are the sound.
    """
    windows: list[Sound] = []
    quiet = min(max(int(_QUIET_SECONDS * rate), 1), longest)
    while len(sound) > longest:
        start = max(longest - _SEARCHED_SECONDS * rate, longest // 2, quiet)
        sums = np.concatenate([[0.0], np.cumsum(np.square(sound[start - quiet : longest], dtype=np.float64))])
        energies = sums[quiet:] - sums[:-quiet]
        # Cut in the middle of the quiet place.
        stop = start - quiet + int(energies.argmin()) + (quiet + 1) // 2
        windows.append(sound[:stop])
        sound = sound[stop:]
    return [*windows, sound]


def _said(loaded: Pretrained, features: Any, name: str, max_new_tokens: int) -> list[Transcript]:
    """The transcripts of a batch of windows of equal length."""
    if not loaded.network.can_generate():
        ids = loaded.network(**{name: features}).logits.argmax(dim=-1)
        return [Transcript("", text.strip()) for text in loaded.tokenizer.batch_decode(ids)]
    config = loaded.network.generation_config
    languages, options = [""] * len(features), {}
    if getattr(config, "lang_to_id", None):
        codes = {number: token for token, number in config.lang_to_id.items()}
        detected = loaded.network.detect_language(features).reshape(-1).tolist()
        languages = [str(codes[number]).strip("<|>") for number in detected]
        options = {"language": languages, "task": "transcribe"}
    ids = loaded.network.generate(features, max_new_tokens=max_new_tokens, do_sample=False, **options)
    texts = loaded.tokenizer.batch_decode(ids, skip_special_tokens=True)
    return [Transcript(language, text.strip()) for language, text in zip(languages, texts, strict=True)]
