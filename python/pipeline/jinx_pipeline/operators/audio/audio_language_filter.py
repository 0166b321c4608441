"""Filters by the spoken language: the operator `audio_language_filter`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.speech import SPEECH_RECOGNIZER, spoken_languages
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.media_filter import AnyOrAll
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.audio.waveform import mono_at
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy.typing as npt


@register("audio_language_filter", modality="audio")
class AudioLanguageFilter(Filter):
    """Keeps samples whose audios are spoken in given languages, which a model detects in the first 30 seconds.

        create("audio_language_filter", hf_asr_model="/models/whisper", languages=["en", "de"])

    Needs transformers, torch and soundfile (the extras `model` and `audio`).

    Attributes:
        hf_asr_model: The directory of a Whisper model of many languages, its name in the local cache, or in the
            recipe's `models`.
        languages: The languages that are kept, as the model names them: ISO 639-1 codes; empty keeps all.
        any_or_all: Whether one audio of a sample must pass, or each.
    """

    hf_asr_model: Annotated[Model, Kinds("transformers")]
    languages: Sequence[str] = ()
    any_or_all: AnyOrAll = "any"

    batch_size = 16
    pure = False  # rounding differs between devices
    stats = {"audio_language": "list<string>"}
    thresholds = ("languages", "any_or_all")

    @property
    def reads(self) -> tuple[str, ...]:
        return ("audios",)

    def resolve(self) -> None:
        refuse_other_models(self, hf_asr_model=SPEECH_RECOGNIZER)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        ctx.begins(0)  # no time limit per row while the model runs
        rows = [list(media) for media in batch.media("audios")]
        media = [medium for row in rows for medium in row]
        found = iter(spoken_languages(self.hf_asr_model, media, self._sound, ctx))
        return {"audio_language": [[next(found) for _ in row] for row in rows]}

    def keep(self, stats: Mapping[str, pa.Array]) -> "npt.NDArray[np.bool_]":
        spoken: list[list[str] | None] = stats["audio_language"].to_pylist()
        passes = any if self.any_or_all == "any" else all
        wanted = frozenset(self.languages)
        # As in all filters of media, a sample without any passes.
        return np.array([not (wanted and row) or passes(code in wanted for code in row) for row in spoken], dtype=bool)

    def _sound(self, medium: Media, rate: int) -> Any:
        return mono_at(medium, self.name, rate)
