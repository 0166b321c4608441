"""Puts the content of media files into samples: the operator `media_load_mapper`."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Annotated, Any, Literal

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.sample.edited_media import with_media


@register("media_load_mapper", modality="any")
class MediaLoadMapper(Mapper):
    """Replaces the paths and URLs of media by their content, which several threads read at the same time.

    So a dataset with many small files becomes one with large shards, in one process for each block: the content never
    goes from one process to another.

        create("media_load_mapper", role="videos")

    Attributes:
        role: The media: `"images"`, `"audios"` or `"videos"`.
        threads: How many files are read at the same time.
    """

    role: Literal["images", "audios", "videos"] = "videos"
    threads: Annotated[int, Range(1, 256)] = 8

    batch_size = 32

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.role,)

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.role,)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        del ctx
        name, steps = batch.roles.column(self.role), batch.roles.steps(self.role)[1:]
        media = [list(row) for row in batch.media(self.role)]
        with ThreadPoolExecutor(self.threads) as threads:
            contents = threads.map(lambda medium: medium.bytes, [medium for row in media for medium in row])
            return {
                name: [
                    with_media(value, steps, self.role, islice(contents, len(row))) if row else value
                    for value, row in zip(batch.column(name), media, strict=True)
                ]
            }
