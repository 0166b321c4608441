"""Embeds images: the operator `image_embedding_mapper`."""

from collections.abc import Mapping
from typing import Annotated, Any

from jinx_pipeline.models.clip import CLIP_OF_IMAGES, DEFAULT_CLIP, Clip
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pictures import images_of
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register


@register("image_embedding_mapper", modality="image")
class ImageEmbeddingMapper(Mapper):
    """Adds a column with the CLIP embedding of each image: a list of vectors of length 1.

        create("image_embedding_mapper", hf_clip="/models/clip")

    Needs transformers, torch and Pillow (the extra `model`).

    Attributes:
        hf_clip: The directory of a CLIP or SigLIP model with its processor, its name in the local cache, or in the
            recipe's `models`.
        embedding_field: The column for the vectors.
    """

    hf_clip: Annotated[Model, Kinds("transformers")] = DEFAULT_CLIP
    embedding_field: Annotated[str, NotEmpty()] = "image_embeddings"

    batch_size = 128
    is_fed_rows = True
    pure = False  # rounding differs between devices

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.embedding_field,)

    def resolve(self) -> None:
        refuse_other_models(self, hf_clip=CLIP_OF_IMAGES)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        samples = [list(media) for media in batch.media("images")]
        clip = Clip(self.hf_clip, ctx)
        vectors = iter(clip.pictures([medium for media in samples for medium in media], images_of()))
        return {self.embedding_field: [[next(vectors)[0].tolist() for _ in media] for media in samples]}
