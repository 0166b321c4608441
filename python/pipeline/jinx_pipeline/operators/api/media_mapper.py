"""The base class of mappers that replace media by edited ones."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context, KeptMedium
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.sample.edited_media import with_media
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.roles import Role, Roles

if TYPE_CHECKING:
    import numpy as np


class MadeMedium(NamedTuple):
    """A medium that an operator made.

    Attributes:
        data: Its bytes, or a file at its beginning.
        suffix: The suffix of its file name, with the dot.
    """

    data: bytes | IO[bytes]
    suffix: str


class MediaMapper(Mapper):
    """Replaces media of samples: by bytes in the samples, or by files in `save_dir` or the run's `media_dir`.

    Attributes:
        save_dir: A directory for the edited media, or its URL in a bucket; they are named after their content. A
            relative path starts at the `media_root`.
    """

    save_dir: str | None = None

    batch_size = 4
    pure = False  # the encoders of FFmpeg and Pillow differ between versions
    role: ClassVar[Role] = "videos"

    @abstractmethod
    def edit(self, medium: Media, sample: Mapping[str, Any], rng: "np.random.Generator") -> MadeMedium | None:
        """The edited medium; None keeps it.

        Args:
            medium: The medium.
            sample: Its sample.
            rng: Random numbers for this medium.
        """

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.role,)

    @property
    def writes(self) -> tuple[str, ...]:
        return (self.role,)

    @property
    def media_dirs(self) -> tuple[str, ...]:
        return (self.save_dir,) if self.save_dir else ()

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        store = store_of(self.save_dir, ctx, batch.roles)
        name, steps = batch.roles.column(self.role), batch.roles.steps(self.role)[1:]
        rows, values, column = batch.media(self.role), batch.media_column(self.role), list[Any]()
        for row, (media, sample) in enumerate(zip(ctx.each(rows), batch.samples(), strict=True)):
            changes: list[KeptMedium | None] = []
            for number, medium in enumerate(media):
                made = self.edit(medium, sample, ctx.rng(batch.ids[row], f"{self.name} {number}"))
                changes.append(made and store.keep_media(made.data, made.suffix))
            value = values[row]
            is_changed = any(change is not None for change in changes)
            column.append(with_media(value, steps, self.role, iter(changes)) if is_changed else value)
        return {name: column}


def store_of(save_dir: str | None, ctx: Context, roles: Roles) -> Context:
    """The context that stores the media which an operator makes: in its own directory, or that of the run."""
    return Context(media_dir=save_dir, media_root=roles.media_root) if save_dir else ctx
