"""Filters by the sizes of image files: the operator `image_size_filter`."""

from jinx_pipeline.operators.api.media_size_filter import MediaSizeFilter
from jinx_pipeline.operators.api.registry import register


@register("image_size_filter", modality="image")
class ImageSizeFilter(MediaSizeFilter):
    """Keeps samples whose image files have a size within a range, in bytes.

    No image is read, except behind URLs. `KB`, `MB` and so on are powers of 1024, as in Data-Juicer.

        create("image_size_filter", min_size="10KB", max_size="20MB")
    """

    stats = {"image_sizes": "list<int64>"}
    statistic = "image_sizes"
