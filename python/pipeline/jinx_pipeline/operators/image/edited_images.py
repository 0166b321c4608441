"""The base class of mappers that edit images."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.image.encode import EncodedImage
from jinx_pipeline.sample.edited_media import with_media
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np


class ImageMapper(Mapper):
    """Replaces images of samples by edited ones: bytes in the samples, or files in `save_dir` or the run's `media_dir`.

    Attributes:
        save_dir: A directory for the edited images.
    """

    save_dir: str | None = None

    batch_size = 32
    pure = False  # encoders differ between versions of Pillow

    @abstractmethod
    def edit(self, medium: Media, rng: "np.random.Generator") -> EncodedImage | None:
        """The edited image; None keeps it.

        Args:
            medium: The image.
            rng: Random numbers for this image.
        """

    @property
    def reads(self) -> tuple[str, ...]:
        return ("images",)

    @property
    def writes(self) -> tuple[str, ...]:
        return ("images",)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        store = Context(media_dir=self.save_dir) if self.save_dir else ctx
        name, steps = batch.roles.column("images"), batch.roles.steps("images")[1:]
        column: list[Any] = []
        for row, (images, sample) in enumerate(zip(ctx.each(batch.media("images")), batch.samples(), strict=True)):
            changes: list[bytes | str | None] = []
            for number, medium in enumerate(images):
                image = self.edit(medium, ctx.rng(batch.ids[row], f"{self.name} {number}"))
                stored = f"{self.name}-{batch.ids[row]}-{number}"
                changes.append(image and store.keep_media(f"{stored}.{image.suffix}", image.data))
            value = sample.get(name, REMOVED)
            is_changed = any(change is not None for change in changes)
            column.append(with_media(value, steps, "images", iter(changes)) if is_changed else value)
        return {name: column}
