"""The base class of mappers that edit images."""

from jinx_pipeline.operators.api.media_mapper import MediaMapper


class ImageMapper(MediaMapper):
    """Replaces images of samples by edited ones: bytes in the samples, or files in `save_dir` or the run's `media_dir`.

    Attributes:
        save_dir: A directory for the edited images.
    """

    batch_size = 32
    role = "images"
