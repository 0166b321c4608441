"""Filters by CLIP similarity: the operator `image_text_similarity_filter`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.multimodal.media_text_scores import ClipTextFilter


@register("image_text_similarity_filter", modality="multimodal")
class ImageTextSimilarityFilter(ClipTextFilter):
    """Keeps samples whose images and text are similar for a CLIP model: the cosine of their embeddings lies in a range.

    Each chunk of the text is compared with the images of its tokens; a text without tokens is compared with all images.
    The statistic has a value for each chunk with images.

        create("image_text_similarity_filter", hf_clip="/models/clip", min_score=0.2)

    Needs transformers, torch and Pillow (the extra `model`).
    """

    stats = {"image_text_similarity": "list<float64>"}
    bounds = {"image_text_similarity": ("min_score", "max_score")}
