"""Tells age, gender and race of faces in videos: the operator `video_human_tracks_face_demographic_mapper`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, Final

from jinx_pipeline.models.classifier import CLASSIFIER, most_probable
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import ParameterError, Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.video.tracks import HUMAN_TRACKS, Track, cut_out, tracks_by_video
from jinx_pipeline.operators.video.video_metadata import VideoMetadataMapper
from jinx_pipeline.sample.media import Media

# If a track has more than `_LONG` frames, about `_MOST` of its faces are classified.
_MOST: Final = 15
_LONG: Final = 75


@register("video_human_tracks_face_demographic_mapper", modality="video")
class VideoHumanTracksFaceDemographicMapper(VideoMetadataMapper):
    """Adds to `__dj__meta__` what classifiers say of the face of each track: `age`, `gender` and `race`.

    Each is the class that most of the faces of the track have, and their share. Tracks are those of
    `video_human_tracks_extraction_mapper`. Such classes are guesses of a model about what a face looks like, not facts
    about a person.

        create("video_human_tracks_face_demographic_mapper", hf_age_model="/models/age",
               hf_gender_model="/models/gender")

    (Data-Juicer asks DeepFace, and gives the median of the ages.) Needs transformers, torch and PyAV (the extras
    `model` and `video`).

    Attributes:
        hf_age_model: The directory of a model that classifies images with its processor, its name in the local cache,
            or in the recipe's `models`; None: age is not told.
        hf_gender_model: Likewise.
        hf_race_model: Likewise.
        detect_interval: Every so many frames of a track are looked at, of a track of more than 75 frames about 15.
        margin: How much wider and higher than the face its picture is on each side, as a share of it.
        human_track_field: The name in `__dj__meta__` of the tracks.
        tag_field_name: The name in `__dj__meta__` for the result, a list of tracks for each video.
    """

    hf_age_model: Annotated[Model, Kinds("transformers")] | None = None
    hf_gender_model: Annotated[Model, Kinds("transformers")] | None = None
    hf_race_model: Annotated[Model, Kinds("transformers")] | None = None
    detect_interval: Annotated[int, Range(1)] = 5
    margin: Annotated[float, Range(0, 10)] = 0.25
    human_track_field: str = HUMAN_TRACKS
    tag_field_name: str = "video_facetrack_attribute_demographic"

    batch_size = 8

    def check(self) -> None:
        if not self.models:
            raise ParameterError(
                self.name, "hf_age_model", "give a model: hf_age_model, hf_gender_model or hf_race_model"
            )

    def resolve(self) -> None:
        refuse_other_models(self, **dict.fromkeys(self.models, CLASSIFIER))

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        samples, rows = batch.samples(), batch.media("videos")
        facts: list[dict[str, Any]] = []
        for sample, media in zip(samples, ctx.each(rows), strict=True):
            videos = tracks_by_video(sample, media, self.human_track_field)
            ctx.begins(0)  # no time limit per row while the model runs
            facts.append({self.tag_field_name: [self._video(medium, video, ctx) for medium, video in videos]})
        return with_metadata(samples, facts)

    def _video(self, medium: Media, tracks: Sequence[Track], ctx: Context) -> list[dict[str, Any]]:
        """What the classifiers say of each track."""
        looked = [
            (frame, track.faces[at], number)
            for number, track in enumerate(tracks)
            for at, frame in self._looked_at(track.frames)
        ]
        looked.sort(key=itemgetter(0))
        told: list[dict[str, Any]] = [{} for _ in tracks]
        if not looked:
            return told
        pictures = cut_out(self.name, [(frame, face) for frame, face, _ in looked], self.margin)
        for parameter, model in self.models.items():
            (classes,) = most_probable(model, [medium], pictures, ctx)
            votes = [Counter[str]() for _ in tracks]
            for (_, _, number), name in zip(looked, classes, strict=True):
                votes[number][name] += 1
            for facts, counts in zip(told, votes, strict=True):
                name, count = counts.most_common(1)[0]
                facts[_KINDS[parameter]] = {"class": name, "share": count / counts.total()}
        return told

    def _looked_at(self, frames: Sequence[int]) -> list[tuple[int, int]]:
        interval = len(frames) // _MOST if len(frames) > _LONG else self.detect_interval
        return list(enumerate(frames))[::interval]


_KINDS: Final = {"hf_age_model": "age", "hf_gender_model": "gender", "hf_race_model": "race"}
