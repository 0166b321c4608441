"""Which columns hold the texts and the media."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jinx_pipeline.sample.media import MediaError
from jinx_pipeline.sample.paths import Steps, parse

Role = Literal["text", "images", "audios", "videos"]
ROLES: tuple[Role, ...] = ("text", "images", "audios", "videos")


@dataclass(frozen=True)
class Roles:
    """Where operators find the texts and the media of a sample.

    Each is a column, a dotted path (`meta.caption`) or a path through lists (`messages[*].content`). What it leads to
    is a text, an image and so on, a list of them, or a list of content parts (`[{"type": "text", "text": "..."}]`).
    The defaults are Data-Juicer's columns.

    Attributes:
        text: The texts. A filter sees those of a sample joined by `separator`; a mapper edits each of them.
        images: Bytes, `{"bytes": ..., "path": ...}`, paths or URLs.
        audios: The same.
        videos: The same.
        separator: Joins the texts of a sample.
        image_token: Stands for an image in a text; the first for the first image, and so on.
        audio_token: The same for audios.
        video_token: The same for videos.
        chunk_end: Ends a chunk of a text. A chunk goes with the media whose tokens it holds.
        media_root: What relative paths of media start from; None is the folder of the input, or without one (samples in
            memory, inputs in several folders) the working directory.
        media_outside: Whether paths of media may lead out of `media_root`: absolute ones, `..` and symbolic links.
            Samples in memory may name any file.
        url_hosts: The hosts from which media behind URLs may be read; none unless they are named.
        url_seconds: How long a server may take for each answer and each piece of it.
        url_bytes: The largest medium that is read from a URL.
    """

    text: str = "text"
    images: str = "images"
    audios: str = "audios"
    videos: str = "videos"
    separator: str = "\n"
    image_token: str = "<__dj__image>"  # noqa: S105 - not a secret
    audio_token: str = "<__dj__audio>"  # noqa: S105 - not a secret
    video_token: str = "<__dj__video>"  # noqa: S105 - not a secret
    chunk_end: str = "<|__dj__eoc|>"
    media_root: str | None = None
    media_outside: bool = False
    url_hosts: tuple[str, ...] = ()
    url_seconds: float = 30.0
    url_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        for role in ROLES:
            path = getattr(self, role)
            if not isinstance(path, str):
                raise TypeError(f"{role} is str, a column or a path, not {path!r} ({type(path).__name__})")
            self.steps(role)

    def steps(self, name: str) -> Steps:
        """The steps to a role, or to a path.

        Raises:
            ValueError: The path does not parse.
        """
        return parse(getattr(self, name) if name in ROLES else name)

    def column(self, name: str) -> str:
        """The top-level column of a role or path."""
        return str(self.steps(name)[0])

    def columns(self, names: tuple[str, ...]) -> list[str]:
        """The top-level columns of roles and paths, each once, in order."""
        return list(dict.fromkeys(self.column(name) for name in names))

    def token(self, role: Role) -> str:
        """What stands for a medium of a kind in a text.

        Raises:
            ValueError: Texts are not media.
        """
        tokens = {"images": self.image_token, "audios": self.audio_token, "videos": self.video_token}
        if role not in tokens:
            raise ValueError(f"no token stands for {role}")
        return tokens[role]

    def media_path(self, path: str) -> Path:
        """A path of a media file, from `media_root` if it is relative.

        Raises:
            MediaError: It leads out of `media_root`, and `media_outside` does not allow that.
        """
        if self.media_root is None:
            return Path(path)
        found = Path(self.media_root) / path
        # Links are followed first: whoever made the data may have made them, too.
        if not self.media_outside and not found.resolve().is_relative_to(Path(self.media_root).resolve()):
            raise MediaError(
                f"{path}: leads out of the media root {self.media_root}; name one above it (media_root), or allow any "
                "file of this machine (media_outside: true)"
            )
        return found
