"""The base class of operators that make a sample from each clip of a video."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.media_mapper import store_of
from jinx_pipeline.operators.api.operator_kinds import Splitter
from jinx_pipeline.operators.video.clips import Clip, Cut, Span, cut
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.paths import Steps, find, replaced
from jinx_pipeline.sample.tokens import only_medium

if TYPE_CHECKING:
    import numpy.typing as npt


class ClipSplitter(Splitter):
    """Makes a sample from each clip of the videos of a sample.

    Each frame of a span is in its clip, once. The sample of a clip is a copy of its parent with the clip as its only
    video; of the video tokens in its text, only the token of this video stays. Audio is copied.

    Clips are bytes in the samples, or files in `save_dir` or the run's `media_dir`. The column `clip_field` says where
    a clip comes from: `source` (the path of the video, or the id of the sample), `video` (its number in the sample),
    `start` and `end` in seconds. Clips of clips refer to the first source.

    Attributes:
        cut: `"copy"` copies packets without loss, and moves each cut to the next key frame; `"exact"` encodes frames
            again (H.264, CRF 18); `"auto"` copies where all cuts of a video lie at key frames, and encodes otherwise.
        save_dir: A directory for the clips, which are named after their content; a relative path starts at the
            `media_root`.
        save_field: The column for the clips; None: that of the videos.
        clip_field: The column that says where a clip comes from; None: no column.
    """

    cut: Cut = "auto"
    save_dir: str | None = None
    save_field: str | None = None
    clip_field: str | None = "clip"

    batch_size = 4
    pure = False  # encoders differ between versions of FFmpeg

    @abstractmethod
    def spans_of(self, medium: Media) -> Sequence[Span]:
        """The spans of the clips of a video, in the order of their starts."""

    @property
    def keeps_original(self) -> bool:
        """Whether the sample with the whole videos stays too, before its clips."""
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        return ("videos",)  # samples need no text

    @property
    def writes(self) -> tuple[str, ...]:
        return ("videos", "text", *(name for name in (self.save_field, self.clip_field) if name))

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return (self.save_dir,) if self.save_dir else ()

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], dict[str, Any]]":
        roles = batch.roles
        steps = roles.steps("videos")[1:]
        if None in steps:
            raise ValueError(f"{self.name}: videos are in a column or dotted path, not at {roles.videos!r}")
        video_column, text_column = roles.column("videos"), roles.column("text")
        samples, store = batch.samples(), store_of(self.save_dir, ctx, batch.roles)
        has_text = text_column in batch.column_names and text_column != video_column
        names = [self.save_field or video_column, text_column if has_text else None, self.clip_field]
        parents: list[int] = []
        columns: dict[str, list[Any]] = {name: [] for name in names if name}

        def add(parent: int, *values: Any) -> None:
            parents.append(parent)
            for name, value in zip(names, values, strict=True):
                if name:
                    columns[name].append(value)

        for row, media in enumerate(ctx.each(batch.media("videos"))):
            sample = samples[row]
            text = sample.get(text_column, REMOVED)
            if self.keeps_original:
                add(row, *(sample.get(name, REMOVED) if name else None for name in names))
            for number, medium in enumerate(media):
                clip_text = only_medium(text, "videos", number, roles) if isinstance(text, str) else text
                for clip in cut(medium, self.name, self.spans_of(medium), self.cut):
                    stored = store.keep_media(clip.file, clip.suffix)
                    value = [stored] if self.save_field else _with_medium(sample[video_column], steps, stored)
                    parent_clip = sample.get(self.clip_field) if self.clip_field else None
                    origin = _origin(medium.path or batch.ids[row], number, clip, parent_clip)
                    add(row, value, clip_text, origin)
        return np.array(parents, dtype=np.int64), columns


def _origin(source: str, number: int, clip: Clip, parent: Any) -> dict[str, Any]:
    """Where a clip comes from; `parent` is the same of the video if it is a clip, too."""
    if isinstance(parent, Mapping) and {"source", "video", "start"} <= set(parent):  # pyright: ignore[reportUnknownArgumentType]
        start: float = parent["start"]  # pyright: ignore[reportUnknownVariableType]
        return {**parent, "start": round(start + clip.start, 6), "end": round(start + clip.stop, 6)}
    return {"source": source, "video": number, "start": round(clip.start, 6), "end": round(clip.stop, 6)}


def _with_medium(value: Any, steps: Steps, medium: Any) -> Any:
    """A copy of a column with a single medium, in a list if the media were in a list."""
    was_list = any(isinstance(media, list | tuple) for media in find(value, steps))
    return replaced(value, steps, iter([[medium] if was_list else medium]))
