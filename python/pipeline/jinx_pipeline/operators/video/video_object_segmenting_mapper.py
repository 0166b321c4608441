"""Segments objects in videos: the operator `video_object_segmenting_mapper`."""

from collections.abc import Mapping
from itertools import chain
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.models.grounding import GROUNDING, Located, Phrases, located
from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.models.video_segmentation import VIDEO_SEGMENTER, followed, load_video_segmenter
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.characters import characters_of
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.media_mapper import store_of
from jinx_pipeline.operators.api.metadata import with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.frame_arrays import write_frame_arrays
from jinx_pipeline.operators.video.frame_pictures import frames_of
from jinx_pipeline.operators.video.video_metadata import VideoMetadataMapper
from jinx_pipeline.sample.media import Media

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

_SAM2: Final = Model(path="facebook/sam2.1-hiera-tiny")
_OWLVIT: Final = Model(path="google/owlvit-base-patch32")
_NONE: Final[Mapping[str, Any]] = {"segment_data": [], "cls_id_dict": [], "object_cls_list": [], "yoloe_conf_list": []}


@register("video_object_segmenting_mapper", modality="video")
class VideoObjectSegmentingMapper(VideoMetadataMapper):
    """Adds to `__dj__meta__` `video_object_segment_tags`: the masks of objects throughout a sample's first video.

    The names of the objects are in the column `main_character_list`, or in `__dj__meta__`, as
    `detect_main_character_mapper` makes them. A detector finds them in the first frame, and SAM 2 follows them.
    `cls_id_dict` has the names; `object_cls_list` the number of the name of each object, `yoloe_conf_list` its
    probability; `segment_data` a file that `numpy.load` reads: the array `00000` has the masks in the first frame, of
    shape (objects, height, width). The file is bytes in the sample, or in `save_dir` or the run's `media_dir`.
    (Data-Juicer puts the pixels into the sample.)

        create("video_object_segmenting_mapper", sam2_hf_model="/models/sam2", yoloe_path="/models/owlvit")

    Data-Juicer's detector is YOLOE of Ultralytics. Needs transformers, torch and PyAV (the extras `model` and `video`).

    Attributes:
        sam2_hf_model: The directory of a SAM 2 model, its name in the local cache, or in the recipe's `models`.
        yoloe_path: The directory of an OWL-ViT or OWLv2 model with its processor, or the like.
        yoloe_conf: The smallest probability of an object.
        if_binarize: Whether masks are truth values; otherwise they are the model's values, positive inside an object.
        save_dir: A directory for the files.
    """

    sam2_hf_model: Annotated[Model, Kinds("transformers")] = _SAM2
    yoloe_path: Annotated[Model, Kinds("transformers")] = _OWLVIT
    yoloe_conf: Share = 0.5
    if_binarize: bool = True
    save_dir: str | None = None

    batch_size = 4

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return (self.save_dir,) if self.save_dir else ()

    def resolve(self) -> None:
        refuse_other_models(self, sam2_hf_model=VIDEO_SEGMENTER, yoloe_path=GROUNDING)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        samples = batch.samples()
        tags = [
            self._tags(media[0], names, batch, ctx) if (names := characters_of(sample)) and len(media) else _NONE
            for media, sample in zip(map(list, batch.media("videos")), samples, strict=True)
        ]
        return with_metadata(samples, [{"video_object_segment_tags": dict(tag)} for tag in tags])

    def _tags(self, medium: Media, names: "Sequence[str]", batch: Batch, ctx: Context) -> Mapping[str, Any]:
        frames = iter(frames_of(self.name, "all_frames", 1).make(medium))
        first = next(frames, None)
        if first is None:
            return _NONE
        at_first = Pictures(lambda _: [first], ("first frame",))
        ((objects,),) = located(
            self.yoloe_path, [Phrases(medium, tuple(names))], at_first, ctx, min_score=self.yoloe_conf
        )
        if not objects:
            return _NONE
        with TemporaryFile() as file:
            self._write(file, chain([first], frames), objects, ctx)
            file.seek(0)
            kept = store_of(self.save_dir, ctx, batch.roles).keep_media(file, ".npz")
        return {
            "segment_data": kept,
            "cls_id_dict": list(names),
            "object_cls_list": [found.number for found in objects],
            "yoloe_conf_list": [found.score for found in objects],
        }

    def _write(self, file: IO[bytes], frames: "chain[Image]", objects: "Sequence[Located]", ctx: Context) -> None:
        """Write the masks of each frame to a file."""
        loaded = ctx.model(self.sam2_hf_model, load_video_segmenter)
        masks = followed(loaded, frames, [found.box for found in objects])
        write_frame_arrays(file, (mask > 0 if self.if_binarize else mask.astype(np.float16) for mask in masks))
