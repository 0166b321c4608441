"""Captions videos by their frames: the operator `video_captioning_from_frames_mapper`."""

from typing import Annotated

from jinx_pipeline.models.pictures import Pictures
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.multimodal.captioner import Captioner
from jinx_pipeline.operators.video.frame_pictures import frames_of
from jinx_pipeline.operators.video.frames import Sampling


@register("video_captioning_from_frames_mapper", modality="multimodal")
class VideoCaptioningFromFramesMapper(Captioner):
    """Makes samples whose text has captions of sampled frames after each video's token.

        create("video_captioning_from_frames_mapper", hf_img2seq="/models/blip2", frame_sampling_method="uniform")

    Needs transformers, torch and PyAV (the extras `model` and `video`).

    Attributes:
        frame_sampling_method: `"all_keyframes"`, `"all_frames"`, or `"uniform"`: `frame_num` frames from the first to
            the last at equal distances.
        frame_num: The number of frames for `"uniform"`; a single frame is taken from the middle.
        horizontal_flip: Mirror the frames first.
        vertical_flip: Turn the frames upside down first.
    """

    frame_sampling_method: Sampling = "all_keyframes"
    frame_num: Annotated[int, Range(1)] = 3
    horizontal_flip: bool = False
    vertical_flip: bool = False

    batch_size = 8
    role = "videos"

    @property
    def pictures(self) -> Pictures:
        return frames_of(
            self.name,
            self.frame_sampling_method,
            self.frame_num,
            horizontal_flip=self.horizontal_flip,
            vertical_flip=self.vertical_flip,
        )
