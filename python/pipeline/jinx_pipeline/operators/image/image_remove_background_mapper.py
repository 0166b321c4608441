"""Removes the background of images: the operator `image_remove_background_mapper`."""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, Any

from jinx_pipeline.models.background import grabcut, masks_of, rgb
from jinx_pipeline.models.onnx import refuse_other_files
from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.media_mapper import store_of
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.optional import require
from jinx_pipeline.sample.edited_media import with_media
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_CHANNELS = 4


@register("image_remove_background_mapper", modality="image")
class ImageRemoveBackgroundMapper(Mapper):
    """Replaces images by PNG images whose background is transparent, or has one colour.

    Images are bytes in the samples, or files in `save_dir` or the run's `media_dir`.

        create("image_remove_background_mapper", model="path/of/u2net.onnx", bgcolor=[255, 255, 255, 255])

    Needs Pillow and ONNX Runtime (the extra `onnx`); without a model OpenCV (the extra `opencv`), whose GrabCut takes
    what differs from the edge of the image. (Data-Juicer has the models of rembg, and alpha matting.)

    Attributes:
        model: A model of the family U2-Net in the format ONNX, as rembg has them: its file, or the directory with it;
            None: GrabCut.
        bgcolor: Red, green, blue and alpha of the background, from 0 to 255; None for a transparent one.
        save_dir: A directory for the images.
    """

    model: Annotated[Model, Kinds("onnx")] | None = None
    bgcolor: list[Annotated[int, Range(0, 255)]] | None = None
    save_dir: str | None = None

    batch_size = 16
    pure = False  # rounding differs between devices

    @property
    def reads(self) -> tuple[str, ...]:
        return ("images",)

    @property
    def writes(self) -> tuple[str, ...]:
        return ("images",)

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return (self.save_dir,) if self.save_dir else ()

    def check(self) -> None:
        if self.bgcolor is not None and len(self.bgcolor) != _CHANNELS:
            raise ParameterError(self.name, "bgcolor", f"bgcolor is red, green, blue and alpha, not {self.bgcolor}")

    def resolve(self) -> None:
        if self.model is None:
            require("cv2", extra="opencv", what=self.name)
        else:
            require("onnxruntime", extra="onnx", what=self.name)
            refuse_other_files(self, "model")

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        store = store_of(self.save_dir, ctx, batch.roles)
        column, steps = batch.roles.column("images"), batch.roles.steps("images")[1:]
        rows = [list(media) for media in batch.media("images")]
        masks = self._masks([medium for media in rows for medium in media], ctx)
        values: list[Any] = []
        for media, sample in zip(rows, batch.samples(), strict=True):
            made = [store.keep_media(self._cut(medium, next(masks)), ".png") for medium in media]
            value = sample.get(column, REMOVED)
            values.append(with_media(value, steps, "images", iter(made)) if made else value)
        return {column: values}

    def _masks(self, media: Sequence[Media], ctx: Context) -> "Iterator[npt.NDArray[np.uint8]]":
        if self.model is not None:
            yield from masks_of(self.model, media, ctx)
        else:
            yield from (grabcut(rgb(medium), self.name) for medium in media)

    def _cut(self, medium: Media, mask: "npt.NDArray[np.uint8]") -> bytes:
        from PIL import Image

        image = rgb(medium).convert("RGBA")
        cut = Image.composite(image, Image.new("RGBA", image.size), Image.fromarray(mask))
        if self.bgcolor is not None:
            red, green, blue, alpha = self.bgcolor
            cut = Image.alpha_composite(Image.new("RGBA", image.size, (red, green, blue, alpha)), cut)
        out = BytesIO()
        cut.save(out, "PNG")
        return out.getvalue()
