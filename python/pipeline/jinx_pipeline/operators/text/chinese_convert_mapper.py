"""Converts Chinese characters with OpenCC: the operator `chinese_convert_mapper`."""

from typing import Any, Literal

import pyarrow as pa

from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Edited, TextMapper
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.optional import require


@register("chinese_convert_mapper", modality="text")
class ChineseConvertMapper(TextMapper):
    """Converts Chinese between traditional and simplified characters, and Japanese kanji. Needs `opencc`.

        create("chinese_convert_mapper")([{"text": "简体"}])  # [{"text": "簡體"}]

    Attributes:
        mode: The source and target: `s` simplified, `t` traditional, `tw` Taiwan, `hk` Hong Kong, `jp` Japan; `p` also
            converts regional words.
    """

    mode: Literal[
        "s2t", "t2s", "s2tw", "tw2s", "s2hk", "hk2s", "s2twp", "tw2sp", "t2tw", "tw2t", "hk2t", "t2hk", "t2jp", "jp2t"
    ] = "s2t"

    def edit(self, texts: pa.Array, ctx: Context) -> Edited:
        convert = ctx.model(self.mode, _load).convert
        return [convert(text) for text in texts.to_pylist()]


def _load(mode: str, device: str) -> Any:
    del device
    return require("opencc", extra="text", what="chinese_convert_mapper").OpenCC(mode)
