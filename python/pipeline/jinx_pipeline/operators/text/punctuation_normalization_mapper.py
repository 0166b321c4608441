# ruff: noqa: RUF001, RUF002 - the characters that it replaces
"""Normalizes punctuation: the operator `punctuation_normalization_mapper`."""

import pyarrow as pa

from jinx_pipeline import kernels
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register


@register("punctuation_normalization_mapper", modality="text")
class PunctuationNormalizationMapper(TextMapper):
    """Replaces full-width and typographic punctuation by ASCII punctuation.

    The characters are those of CCNet (arXiv:1911.00359), without the full-width digit 1, which its list treats as a
    quotation mark.

        create("punctuation_normalization_mapper")([{"text": "（好，“是”…）"}])  # [{"text": '(好,"是"...)'}]
    """

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        return kernels.replace_characters(texts, _BECOMES, threads=ctx.threads)


_BECOMES = {
    **dict.fromkeys("„”“«»」「《》", '"'),
    **dict.fromkeys("´’", "'"),
    **dict.fromkeys("∶：", ":"),
    **dict.fromkeys("–━►", "-"),
    "，": ",",
    "。": ".",
    "、": ",",
    "？": "?",
    "！": "!",
    "（": "(",
    "）": ")",
    "；": ";",
    "—": " - ",
    "．": ". ",
    "～": "~",
    "…": "...",
    "〈": "<",
    "〉": ">",
    "【": "[",
    "】": "]",
    "％": "%",
}
