"""Operators whose language model with vision looks at the people of tracks."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from jinx_pipeline.models.chat_captioning import VISION_CHAT, Prompted, seen_captions
from jinx_pipeline.models.files import refuse_other_models
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.video.tracks import HUMAN_TRACKS, Corners, Track, cut_out, every_frame, tracks_by_video
from jinx_pipeline.operators.video.video_metadata import VideoMetadataMapper


class TrackCaptions(VideoMetadataMapper):
    """Asks a model about each track, of which it sees some frames, cut out.

    Attributes:
        video_describe_model_path: The directory of a language model with vision, such as Qwen-VL or LLaVA, with its
            processor, its name in the local cache, or in the recipe's `models`.
        frame_num: The number of frames of a track at equal distances.
        margin: How much wider and higher than the person or face its picture is on each side, as a share of it.
        max_new_tokens: The largest number of tokens of an answer.
        human_track_field: The name in `__dj__meta__` of the tracks, of `video_human_tracks_extraction_mapper`.
    """

    video_describe_model_path: Annotated[Model, Kinds("transformers")] = Model(path="Qwen/Qwen3-VL-8B-Instruct")
    frame_num: Annotated[int, Range(1)] = 8
    margin: Annotated[float, Range(0, 10)] = 0.1
    max_new_tokens: Annotated[int, Range(1)] = 256
    human_track_field: str = HUMAN_TRACKS

    batch_size = 8

    @property
    @abstractmethod
    def questions(self) -> Mapping[str, str]:
        """What is asked, by the name in `__dj__meta__` for the answers: a list of texts for each video."""

    @abstractmethod
    def boxes(self, track: Track) -> Sequence[Corners]:
        """What is cut out of each frame of a track."""

    def resolve(self) -> None:
        refuse_other_models(self, video_describe_model_path=VISION_CHAT)

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # no time limit per row while the model runs
        samples = batch.samples()
        rows = [
            tracks_by_video(sample, media, self.human_track_field)
            for sample, media in zip(samples, batch.media("videos"), strict=True)
        ]
        asked = [
            Prompted(medium, question, cut_out(self.name, self._places(track), self.margin))
            for videos in rows
            for medium, tracks in videos
            for track in tracks
            for question in self.questions.values()
        ]
        told = iter(
            seen_captions(
                self.video_describe_model_path,
                asked,
                every_frame(self.name, 1),
                ctx,
                system=None,
                count=1,
                max_new_tokens=self.max_new_tokens,
            )
        )
        facts = [
            self._facts([[[next(told) for _ in self.questions] for _ in tracks] for _, tracks in row]) for row in rows
        ]
        return with_metadata(samples, facts)

    def _facts(self, videos: Sequence[Sequence[Sequence[Sequence[str]]]]) -> dict[str, Any]:
        """The first answers to each question, for each video and track."""
        return {
            name: [[" ".join(answers[place][:1]) for answers in tracks] for tracks in videos]
            for place, name in enumerate(self.questions)
        }

    def _places(self, track: Track) -> list[tuple[int, Corners]]:
        places = list(zip(track.frames, self.boxes(track), strict=True))
        last, count = len(places) - 1, min(self.frame_num, len(places))
        return [places[round(number * last / max(count - 1, 1))] for number in range(count)]
