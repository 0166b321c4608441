"""Filters by the similarity of two images: the operator `image_pair_similarity_filter`."""

from typing import Annotated

from jinx_pipeline.models.clip import CLIP_OF_IMAGES, DEFAULT_CLIP, Clip
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.pictures import images_of
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.filter import Stats
from jinx_pipeline.operators.api.media_filter import ListFilter
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register


@register("image_pair_similarity_filter", modality="image")
class ImagePairSimilarityFilter(ListFilter):
    """Keeps samples whose two images are similar to a CLIP model: the cosine of their embeddings is within a range.

    A sample without images has no value; one with another number than two fails.

        create("image_pair_similarity_filter", hf_clip="/models/clip", min_score=0.5)

    Needs transformers, torch and Pillow (the extra `model`).

    Attributes:
        hf_clip: The directory of a CLIP or SigLIP model with its processor, its name in the local cache, or in the
            recipe's `models`.
        min_score: The smallest similarity.
        max_score: The largest similarity.
    """

    hf_clip: Annotated[Model, Kinds("transformers")] = DEFAULT_CLIP
    min_score: Annotated[float, Range(-1, 1)] = 0.1
    max_score: Annotated[float, Range(-1, 1, or_no_limit=True)] = 1.0

    batch_size = 64
    is_fed_rows = True
    pure = False  # rounding differs between devices
    stats = {"image_pair_similarity": "list<float64>"}
    bounds = {"image_pair_similarity": ("min_score", "max_score")}

    def resolve(self) -> None:
        refuse_other_models(self, hf_clip=CLIP_OF_IMAGES)

    def compute_stats(self, batch: Batch, ctx: Context) -> Stats:
        ctx.begins(0)  # no time limit per row while the model runs
        samples = [list(media) for media in batch.media("images")]
        for media in samples:
            if len(media) not in {0, 2}:
                raise ValueError(f"the sample has {len(media)} images, not two")
        clip = Clip(self.hf_clip, ctx)
        vectors = iter(clip.pictures([medium for media in samples for medium in media], images_of()))
        pairs = [(next(vectors)[0], next(vectors)[0]) if media else None for media in samples]
        return {"image_pair_similarity": [[] if pair is None else [float(pair[0] @ pair[1])] for pair in pairs]}
