"""Follows people through videos: the operator `video_human_tracks_extraction_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import numpy as np

from jinx_pipeline.models.detection import DETECTOR, objects_in
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.needed_files import NeededFile, needed
from jinx_pipeline.operators.api.parameters import Range, Share
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.faces import check_cascade, faces_in
from jinx_pipeline.operators.video.scenes import changes, content_cuts
from jinx_pipeline.operators.video.tracks import HUMAN_TRACKS, Corners, Track, body_of, every_frame, linked
from jinx_pipeline.operators.video.video_metadata import VideoMetadataMapper
from jinx_pipeline.sample.media import Media

_PERSON: Final = "person"
# As for `video_split_by_scene_mapper`.
_CHANGE, _LEAST_SCENE = 27.0, 15


@register("video_human_tracks_extraction_mapper", modality="video")
class VideoHumanTracksExtractionMapper(VideoMetadataMapper):
    """Adds the tracks of faces in each video to `__dj__meta__`, and how many people are in a frame at least.

    A track has `frame`, the numbers of its frames, `xy_bbox`, the box of the face in each (left, top, right and bottom
    in pixels), and `xy_human_bbox`, that of the person, if a model detects people; it is empty where none has the face.
    Faces are found by a Haar cascade of OpenCV, and belong to a track if they overlap; a new scene ends all tracks.

        create("video_human_tracks_extraction_mapper", min_track=25, human_model="/models/yolos")

    (Data-Juicer finds faces with S3FD and people with YOLOv8, and writes the boxes to pickles.) Needs PyAV (the extra
    `video`) and OpenCV (the extra `opencv`); with a model, transformers and torch (the extra `model`).

    Attributes:
        human_model: The directory of a model that detects objects with its processor, one class of which is `person`,
            its name in the local cache, or in the recipe's `models`; None: bodies are not sought.
        cv_classifier: The file of a cascade; by default the one for frontal faces that comes with OpenCV.
        detect_interval: Faces are sought in the first frame, and in every so many frames after it.
        iou_threshold: The smallest intersection of a face with the one before, as a share of their union.
        max_gap: A track ends if its face is in none of so many frames.
        min_track: The smallest number of frames of a track that are looked at.
        conf: The smallest probability of a person.
        tag_field_name_human_track_path: The name in `__dj__meta__` of the tracks.
        tag_field_name_people_num: The name in `__dj__meta__` of the number of people in each video.
    """

    human_model: Annotated[Model, Kinds("transformers")] | None = None
    cv_classifier: str = ""
    detect_interval: Annotated[int, Range(1)] = 1
    iou_threshold: Share = 0.5
    max_gap: Annotated[int, Range(1)] = 10
    min_track: Annotated[int, Range(1)] = 10
    conf: Share = 0.3
    tag_field_name_human_track_path: str = HUMAN_TRACKS
    tag_field_name_people_num: str = "number_people_in_video"

    batch_size = 4

    @property
    def needed_files(self) -> list[NeededFile]:
        cascade = [needed("cv_classifier", self.cv_classifier)] if self.cv_classifier else []
        return [*super().needed_files, *cascade]

    def resolve(self) -> None:
        check_cascade(self.name, self.cv_classifier)
        if self.human_model is not None:
            refuse_other_models(self, human_model=DETECTOR)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        samples = [list(media) for media in batch.media("videos")]
        tracks = [[self._tracks(medium) for medium in media] for media in ctx.each(samples)]
        if self.human_model is not None:
            ctx.begins(0)  # no time limit per row while the model runs
            self._add_bodies(self.human_model, samples, tracks, ctx)
        facts = [
            {
                self.tag_field_name_human_track_path: [[track.to_data() for track in video] for video in videos],
                self.tag_field_name_people_num: [_most_at_once(video) for video in videos],
            }
            for videos in tracks
        ]
        return with_metadata(batch.samples(), facts)

    def _tracks(self, medium: Media) -> list[Track]:
        """The tracks of a video, whose bodies are not known."""
        found: list[tuple[int, list[Corners]]] = []
        for number, picture in enumerate(every_frame(self.name, self.detect_interval).make(medium)):
            boxes = faces_in(np.asarray(picture.convert("L")), self.name, self.cv_classifier)
            corners: list[Corners] = [(float(a), float(b), float(c), float(d)) for a, b, c, d in boxes]
            found.append((number * self.detect_interval, corners))
        cuts: list[int] = []
        if any(faces for _, faces in found):
            cuts = content_cuts(changes(medium, self.name, luma_only=False), _CHANGE, _LEAST_SCENE)
        tracks = linked(found, cuts, least_overlap=self.iou_threshold, most_gap=self.max_gap)
        return [track for track in tracks if len(track.frames) >= self.min_track]

    def _add_bodies(
        self, model: Model, samples: Sequence[Sequence[Media]], tracks: Sequence[Sequence[list[Track]]], ctx: Context
    ) -> None:
        """Seek the people in videos with tracks."""
        pairs = zip(samples, tracks, strict=True)
        shown = [pair for media, videos in pairs for pair in zip(media, videos, strict=True) if pair[1]]
        frames = every_frame(self.name, self.detect_interval)
        media = [medium for medium, _ in shown]
        found = objects_in(model, media, frames, ctx, min_score=self.conf, max_overlap=0.5)
        for (_, video), pictures in zip(shown, found, strict=True):
            people = [[detected.box for detected in objects if detected.label == _PERSON] for objects in pictures]
            for track in video:
                places = zip(track.frames, track.faces, strict=True)
                track.bodies.extend(body_of(face, people[frame // self.detect_interval]) for frame, face in places)


def _most_at_once(tracks: Sequence[Track]) -> int:
    """The largest number of tracks in a frame."""
    numbers = [number for track in tracks for number in track.frames]
    return max(map(numbers.count, set(numbers)), default=0)
