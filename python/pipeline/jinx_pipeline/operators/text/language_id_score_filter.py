"""Filters by language: the operator `language_id_score_filter`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Filter, Stats
from jinx_pipeline.operators.api.parameters import Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    import numpy.typing as npt


@register("language_id_score_filter", modality="text")
class LanguageIdScoreFilter(Filter):
    """Keeps texts in the given languages, if the detected language is certain enough.

    Without a model, `lingua` identifies 75 languages, from its own data and without a download; it is slower than
    fastText, and its scores are not comparable. A text without letters has the language `und` and the score 0.

        create("language_id_score_filter", lang="en")([{"text": "This is a sentence, written in plain English."}])

    Attributes:
        lang: One or several languages, as ISO 639-1 codes (fastText: as its labels); empty keeps all.
        min_score: The smallest confidence, from 0 to 1.
        model: The path of a fastText model such as `lid.176.bin`; needs `fasttext`. Nothing is downloaded.
    """

    lang: str | list[str] = ""
    min_score: Share = 0.8
    model: Path | None = None

    stats = {"lang": "string", "lang_score": "float64"}
    thresholds = ("lang", "min_score")

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        texts: list[str] = batch.text.to_pylist()
        if self.model is None:
            identified = ctx.model("", _load_lingua)(texts)
        else:
            identified = ctx.model(str(self.model), _load_fasttext)(texts)
        return {"lang": [lang for lang, _ in identified], "lang_score": [score for _, score in identified]}

    def keep(self, stats: Mapping[str, pa.Array]) -> "npt.NDArray[np.bool_]":
        scores = stats["lang_score"].to_numpy(zero_copy_only=False)
        is_sure = scores >= self.min_score
        languages = [self.lang] if isinstance(self.lang, str) else self.lang
        if not any(languages):
            return is_sure
        return is_sure & np.isin(np.array(stats["lang"].to_pylist(), dtype=object), languages)


UNKNOWN = ("und", 0.0)


def _load_lingua(name: str, device: str) -> Any:
    del name, device
    lingua = require("lingua", extra="language", what="language_id_score_filter without a model")
    # For texts longer than a tweet, this mode is as accurate as the default, with a tenth of the memory.
    detector = lingua.LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()

    def identify(texts: list[str]) -> list[tuple[str, float]]:
        best = [next(iter(values), None) for values in detector.compute_language_confidence_values_in_parallel(texts)]
        return [
            UNKNOWN
            if confidence is None or not any(map(str.isalpha, text))
            else (confidence.language.iso_code_639_1.name.lower(), float(confidence.value))
            for confidence, text in zip(best, texts, strict=True)
        ]

    return identify


def _load_fasttext(name: str, device: str) -> Any:
    del device
    if not Path(name).is_file():
        raise FileNotFoundError(f"{name}: no fastText model there")
    model = require("fasttext", extra="fasttext", what="A fastText model").load_model(name)

    def identify(texts: list[str]) -> list[tuple[str, float]]:
        labels, scores = model.predict([text.replace("\n", " ") for text in texts])
        return [
            (label[0].removeprefix("__label__"), min(float(score[0]), 1.0)) if len(label) else UNKNOWN
            for label, score in zip(labels, scores, strict=True)
        ]

    return identify
