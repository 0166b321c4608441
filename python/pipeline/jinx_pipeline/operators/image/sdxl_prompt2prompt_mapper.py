"""Makes pairs of similar images from two texts: the operator `sdxl_prompt2prompt_mapper`."""

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, Any, Final

from jinx_pipeline.models.diffusion import refuse_other_pipelines
from jinx_pipeline.models.prompt_to_prompt import CLASSES, load_text_to_image, similar_pair
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context, KeptMedium
from jinx_pipeline.operators.api.media_mapper import store_of
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import NotEmpty, ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    from PIL.Image import Image

_SDXL: Final = Model(path="stabilityai/stable-diffusion-xl-base-1.0")
_SEEDS: Final = 1 << 31
# The sides of images that the pipeline generates are multiples of this.
_MULTIPLE: Final = 8


@register("sdxl_prompt2prompt_mapper", modality="multimodal")
class SdxlPrompt2PromptMapper(Mapper):
    """Makes two images that are alike except for what two texts say, by Stable Diffusion XL with Prompt-to-Prompt.

    The column `images` becomes the list of both; of a sample without one of the texts it stays as it is. They are PNG
    files in `output_dir` or the run's `media_dir`, or bytes in the samples. The seed and the id of the sample decide
    the noise.

        create("sdxl_prompt2prompt_mapper", hf_diffusion="/models/sdxl", text_key="first", text_key_second="second")

    (Data-Juicer only writes the files.) Needs diffusers, transformers, torch and Pillow (the extra `diffusion`).

    Attributes:
        hf_diffusion: The directory of a Stable Diffusion XL pipeline of diffusers, its name in the local cache, or in
            the recipe's `models`.
        num_inference_steps: The number of steps.
        guidance_scale: How closely texts are followed.
        text_key: The column or path of the first text.
        text_key_second: The column or path of the second text.
        resolution: The width and height of the images in pixels, a multiple of 8.
        output_dir: A directory for the images.
    """

    hf_diffusion: Annotated[Model, Kinds("transformers")] = _SDXL
    num_inference_steps: Annotated[int, Range(1)] = 50
    guidance_scale: Annotated[float, Range(0)] = 7.5
    text_key: Annotated[str, NotEmpty()] = "text"
    text_key_second: Annotated[str, NotEmpty()]
    resolution: Annotated[int, Range(8)] = 1024
    output_dir: str | None = None

    batch_size = 4
    pure = False  # rounding differs between devices

    def check(self) -> None:
        if self.resolution % _MULTIPLE:
            problem = f"resolution is {self.resolution}, which is no multiple of {_MULTIPLE}"
            raise ParameterError(self.name, "resolution", problem)

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.text_key, self.text_key_second)

    @property
    def writes(self) -> tuple[str, ...]:
        return ("images",)

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return (self.output_dir,) if self.output_dir else ()

    def resolve(self) -> None:
        require("diffusers", extra="diffusion", what=self.name)
        refuse_other_pipelines(self, classes=CLASSES, makes="pairs of images", hf_diffusion=self.hf_diffusion)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        column = batch.roles.column("images")
        firsts = batch.text.to_pylist() if self.text_key == "text" else batch.column(self.text_key)
        seconds = batch.column(self.text_key_second)
        texts = list(zip(firsts, seconds, strict=True))
        for name, value in ((name, value) for pair in texts for name, value in zip(self.reads, pair, strict=True)):
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{name} is not a text: {value!r:.60}")
        return {
            column: [
                self._pair(pair, batch, row, ctx) if all(pair) else sample.get(column)
                for row, (pair, sample) in enumerate(zip(texts, batch.samples(), strict=True))
            ]
        }

    def _pair(self, texts: tuple[str, str], batch: Batch, row: int, ctx: Context) -> list[KeptMedium]:
        made = similar_pair(
            ctx.model(self.hf_diffusion, load_text_to_image),
            texts,
            steps=self.num_inference_steps,
            guidance_scale=self.guidance_scale,
            side=self.resolution,
            seed=int(ctx.rng(batch.ids[row], self.name).integers(_SEEDS)),
        )
        return [self._kept(image, batch, ctx) for image in made]

    def _kept(self, image: "Image", batch: Batch, ctx: Context) -> KeptMedium:
        out = BytesIO()
        image.save(out, "PNG")
        return store_of(self.output_dir, ctx, batch.roles).keep_media(out.getvalue(), ".png")
