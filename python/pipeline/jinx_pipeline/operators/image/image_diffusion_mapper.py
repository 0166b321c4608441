"""Makes variants of images: the operator `image_diffusion_mapper`."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from jinx_pipeline.models.captioning import CAPTIONER, captions
from jinx_pipeline.models.diffusion import load_diffusion, refuse_other_pipelines, variant
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pictures import flipped, images_of
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context, KeptMedium
from jinx_pipeline.operators.api.media_mapper import store_of
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Splitter
from jinx_pipeline.operators.api.parameters import Range, Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.optional import require
from jinx_pipeline.sample.edited_media import with_media
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.tokens import without_tokens

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image

_PROMPT: Final = "A photo of a "
_SEEDS: Final = 1 << 31


@register("image_diffusion_mapper", modality="image")
class ImageDiffusionMapper(Splitter):
    """Makes samples whose images are variants from a diffusion model, guided by captions.

    The images are PNG files in `save_dir` or the run's `media_dir`, or bytes in the samples. The seed and the id of the
    sample decide the noise.

        create("image_diffusion_mapper", hf_diffusion="/models/stable-diffusion", caption_key="text", aug_num=2)

    Needs diffusers, transformers, torch and Pillow (the extra `diffusion`).

    Attributes:
        hf_diffusion: The directory of a pipeline of diffusers that makes images from images, such as Stable Diffusion,
            its name in the local cache, or in the recipe's `models`.
        strength: How much is changed: 0 keeps the image, 1 ignores it.
        guidance_scale: How closely captions are followed.
        aug_num: The number of new samples for each sample.
        keep_original_sample: Whether the original sample stays too, before those made from it.
        caption_key: The column with the caption of a sample, or with a list of one for each image; None: `hf_img2seq`
            makes them.
        hf_img2seq: The directory of a model that captions images, or the like, if there is no `caption_key`.
        resolution: The side of the square in which the model works, in pixels.
        save_dir: A directory for the images.
    """

    hf_diffusion: Annotated[Model, Kinds("transformers")] = Model(path="CompVis/stable-diffusion-v1-4")
    strength: Share = 0.8
    guidance_scale: Annotated[float, Range(0)] = 7.5
    aug_num: Annotated[int, Range(1)] = 1
    keep_original_sample: bool = True
    caption_key: str | None = None
    hf_img2seq: Annotated[Model, Kinds("transformers")] = Model(path="Salesforce/blip2-opt-2.7b")
    resolution: Annotated[int, Range(8)] = 512
    save_dir: str | None = None

    batch_size = 4
    pure = False  # rounding differs between devices

    @property
    def models(self) -> dict[str, Model]:
        found = super().models
        if self.caption_key is not None:
            del found["hf_img2seq"]
        return found

    @property
    def reads(self) -> tuple[str, ...]:
        return ("images", *([self.caption_key] if self.caption_key else []))

    @property
    def writes(self) -> tuple[str, ...]:
        return ("images",)

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return (self.save_dir,) if self.save_dir else ()

    def resolve(self) -> None:
        require("diffusers", extra="diffusion", what=self.name)
        refuse_other_pipelines(self, hf_diffusion=self.hf_diffusion)
        refuse_other_models(self, hf_img2seq=CAPTIONER)

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], Mapping[str, Any]]":
        ctx.begins(0)  # no time limit per row while the model runs
        column, steps = batch.roles.column("images"), batch.roles.steps("images")[1:]
        rows = [list(media) for media in batch.media("images")]
        wanted = self._captions(rows, batch, ctx)
        parents: list[int] = []
        values: list[Any] = []
        for row, (media, sample) in enumerate(zip(rows, batch.samples(), strict=True)):
            if self.keep_original_sample:
                parents.append(row)
                values.append(sample.get(column))
            for number in range(self.aug_num if media else 0):
                rng = ctx.rng(batch.ids[row], f"{self.name} {number}")
                made = [
                    self._made(medium, caption, rng, batch, ctx)
                    for medium, caption in zip(media, wanted[row], strict=True)
                ]
                parents.append(row)
                values.append(with_media(sample.get(column), steps, "images", iter(made)))
        return np.array(parents, dtype=np.int64), {column: values}

    def _made(self, medium: Media, caption: str, rng: "np.random.Generator", batch: Batch, ctx: Context) -> KeptMedium:
        image: Image = flipped(medium.image(), horizontal=False, vertical=False)
        made = variant(
            ctx.model(self.hf_diffusion, load_diffusion),
            image,
            caption,
            side=self.resolution,
            strength=self.strength,
            guidance_scale=self.guidance_scale,
            seed=int(rng.integers(_SEEDS)),
        )
        out = BytesIO()
        made.save(out, "PNG")
        return store_of(self.save_dir, ctx, batch.roles).keep_media(out.getvalue(), ".png")

    def _captions(self, rows: Sequence[Sequence[Media]], batch: Batch, ctx: Context) -> list[list[str]]:
        """The caption of each image of each sample."""
        if self.caption_key is not None:
            given = batch.column(self.caption_key)
            return [
                [without_tokens(text, batch.roles) for text in self._given(value, len(media))]
                for value, media in zip(given, rows, strict=True)
            ]
        all_media = [medium for media in rows for medium in media]
        found = iter(
            captions(self.hf_img2seq, all_media, images_of(), ctx, count=1, prompt=_PROMPT.strip(), max_new_tokens=64)
        )
        return [
            [_PROMPT + next(found)[0][0].removeprefix(_PROMPT.strip().lower()).strip() for _ in media] for media in rows
        ]

    def _given(self, value: Any, count: int) -> list[str]:
        """The captions in a column's value: one for all images, or a list with one for each; may be empty."""
        found = [value] * count if value is None or isinstance(value, str) else list(value)
        if len(found) != count:
            raise ValueError(f"{self.caption_key} has {len(found)} captions, and the sample {count} images")
        for text in found:
            if text is not None and not isinstance(text, str):
                raise TypeError(f"{self.caption_key} is not a text: {text!r:.60}")
        return [text or "" for text in found]
