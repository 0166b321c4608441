"""Captions images: the operator `image_captioning_mapper`."""

from jinx_pipeline.models.pictures import Pictures, images_of
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.multimodal.captioner import Captioner


@register("image_captioning_mapper", modality="multimodal")
class ImageCaptioningMapper(Captioner):
    """Makes samples whose text has a generated caption after the token of each image.

        create("image_captioning_mapper", hf_img2seq="/models/blip2", keep_original_sample=False)

    Needs transformers, torch and Pillow (the extra `model`).
    """

    @property
    def pictures(self) -> Pictures:
        return images_of()
