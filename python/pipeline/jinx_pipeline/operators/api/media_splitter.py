"""The base class of operators that make a sample from each clip of a video or audio."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy as np

from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.media_mapper import store_of
from jinx_pipeline.operators.api.operator_kinds import Splitter
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.paths import Steps, find, replaced
from jinx_pipeline.sample.roles import Role
from jinx_pipeline.sample.tokens import only_medium

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class Clip:
    """A finished clip.

    Attributes:
        start: The time of its first frame in the source, in seconds from the first frame of the source.
        stop: The time of the first frame after it; of the last clip, the end of the source.
        file: Its content, or a file at its beginning.
        suffix: The suffix of its file name.
    """

    start: float
    stop: float
    file: bytes | IO[bytes]
    suffix: str


class MediaSplitter(Splitter):
    """Makes a sample from each clip of the videos or audios of a sample.

    The sample of a clip is a copy of its parent with the clip as its only medium; of the tokens in its text, only the
    token of this medium stays.

    Clips are bytes in the samples, or files in `save_dir` or the run's `media_dir`. The column `clip_field` says where
    a clip comes from: `source` (the path of the medium, or the id of the sample), `video` or `audio` (its number in the
    sample), `start` and `end` in seconds. Clips of clips refer to the first source.

    Attributes:
        save_dir: A directory for the clips, or its URL in a bucket; they are named after their content. A relative path
            starts at the `media_root`.
        save_field: The column for the clips; None: that of the media.
        clip_field: The column that says where a clip comes from; None: no column.
    """

    save_dir: str | None = None
    save_field: str | None = None
    clip_field: str | None = "clip"

    batch_size = 4
    pure = False  # FFmpeg's encoders differ between versions
    role: ClassVar[Role] = "videos"

    @abstractmethod
    def clips_of(self, medium: Media) -> Iterator[Clip]:
        """The clips of a medium, in the order of their starts."""

    @property
    def keeps_original(self) -> bool:
        """Whether the sample with the whole media also stays, before its clips."""
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.role,)  # a sample needs no text

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.role, "text", *(name for name in (self.save_field, self.clip_field) if name))

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return (self.save_dir,) if self.save_dir else ()

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], dict[str, Any]]":
        roles = batch.roles
        steps = roles.steps(self.role)[1:]
        if None in steps:
            path = getattr(roles, self.role)
            raise ValueError(f"{self.name}: {self.role} are in a column or dotted path, not at {path!r}")
        media_column, text_column = roles.column(self.role), roles.column("text")
        samples, store = batch.samples(), store_of(self.save_dir, ctx, batch.roles)
        has_text = text_column in batch.column_names and text_column != media_column
        names = [self.save_field or media_column, text_column if has_text else None, self.clip_field]
        parents: list[int] = []
        columns: dict[str, list[Any]] = {name: [] for name in names if name}

        def add(parent: int, *values: Any) -> None:
            parents.append(parent)
            for name, value in zip(names, values, strict=True):
                if name:
                    columns[name].append(value)

        rows, values = batch.media(self.role), batch.media_column(self.role)
        for row, media in enumerate(ctx.each(rows)):
            sample = samples[row]
            text = sample.get(text_column, REMOVED)
            if self.keeps_original:
                kept = {name: sample.get(name, REMOVED) for name in names if name and name != media_column}
                add(row, *({media_column: values[row], **kept}.get(name) if name else None for name in names))
            for number, medium in enumerate(media):
                clip_text = only_medium(text, self.role, number, roles) if isinstance(text, str) else text
                for clip in self.clips_of(medium):
                    stored = store.keep_media(clip.file, clip.suffix)
                    value = [stored] if self.save_field else _with_medium(values[row], steps, stored)
                    parent_clip = sample.get(self.clip_field) if self.clip_field else None
                    origin = _origin(medium.path or batch.ids[row], self.role, number, clip, parent_clip)
                    add(row, value, clip_text, origin)
        return np.array(parents, dtype=np.int64), columns


def _origin(source: str, role: Role, number: int, clip: Clip, parent: Any) -> dict[str, Any]:
    """The origin of a clip. If the medium is itself a clip, `parent` says where that comes from."""
    if isinstance(parent, Mapping) and {"source", "start"} <= set(parent):  # pyright: ignore[reportUnknownArgumentType]
        start: float = parent["start"]  # pyright: ignore[reportUnknownVariableType]
        return {**parent, "start": round(start + clip.start, 6), "end": round(start + clip.stop, 6)}
    place = {"source": source, role.removesuffix("s"): number}
    return {**place, "start": round(clip.start, 6), "end": round(clip.stop, 6)}


def _with_medium(value: Any, steps: Steps, medium: Any) -> Any:
    """A copy of a column with a single medium, in a list if the media were in a list."""
    was_list = any(isinstance(media, list | tuple) for media in find(value, steps))
    return replaced(value, steps, iter([[medium] if was_list else medium]))
