"""Tags images: the operator `image_tagging_mapper`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.image.picture_tags import PictureTagMapper


@register("image_tagging_mapper", modality="image")
class ImageTaggingMapper(PictureTagMapper):
    """Adds to `__dj__meta__` a list of tags for each image: those of `tags` that a CLIP model finds, best first.

        create("image_tagging_mapper", hf_clip="/models/clip", tags=["cat", "dog", "person"])

    Data-Juicer's operator has a list and a model of its own (RAM). Needs transformers, torch and Pillow (the extra
    `model`).

    Attributes:
        tag_field_name: The name of the tags in `__dj__meta__`.
    """

    tag_field_name: str = "image_tags"

    @property
    def field_name(self) -> str:
        return self.tag_field_name
