"""The columns of texts and media."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jinx._urls import is_url
from jinx_pipeline.sample.media import MediaError
from jinx_pipeline.sample.paths import Steps, parse
from jinx_pipeline.store.mirror import is_remote

Role = Literal["text", "images", "audios", "videos"]
ROLES: tuple[Role, ...] = ("text", "images", "audios", "videos")


@dataclass(frozen=True)
class Roles:
    """The columns or paths where operators find the texts and media of a sample.

    Each is a column, a dotted path (`meta.caption`) or a path through lists (`messages[*].content`). The value is a
    text or medium, a list of them, or a list of content parts (`[{"type": "text", "text": "..."}]`).
    The defaults are Data-Juicer's columns.

    Attributes:
        text: The texts. A filter sees the texts of a sample joined by `separator`; a mapper edits each of them.
        images: Bytes, `{"bytes": ..., "path": ...}`, paths or URLs.
        audios: Audios, in the forms of `images`.
        videos: Videos, in the forms of `images`.
        separator: Joins the texts of a sample.
        image_token: Stands for an image in a text: the first token for the first image, and so on.
        audio_token: The same for audios.
        video_token: The same for videos.
        chunk_end: Ends a chunk of a text. A chunk belongs to the media whose tokens it contains.
        media_root: The directory for relative paths of media, or its URL in a bucket; None: the directory of the input,
            or for samples in memory and inputs in several directories the working directory.
        media_outside: Whether paths of media may lead out of `media_root`: absolute ones, `..` and symbolic links.
            Samples in memory may name any file.
        url_hosts: The hosts from which media behind URLs may be read, and buckets, such as `s3://photos`, whose objects
            may be read besides those below `media_root`; by default none.
        url_seconds: How long a server may take for each answer and each piece of it.
        url_bytes: The size limit of a medium from a URL.
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
        """The steps of a role or path.

        Raises:
            ValueError: The path does not parse.
        """
        return parse(getattr(self, name) if name in ROLES else name)

    def column(self, name: str) -> str:
        """The top-level column of a role or path."""
        return str(self.steps(name)[0])

    def columns(self, names: tuple[str, ...]) -> list[str]:
        """The distinct top-level columns of roles and paths, in order."""
        return list(dict.fromkeys(self.column(name) for name in names))

    def token(self, role: Role) -> str:
        """The token that stands for a medium in a text.

        Raises:
            ValueError: Texts are not media.
        """
        tokens = {"images": self.image_token, "audios": self.audio_token, "videos": self.video_token}
        if role not in tokens:
            raise ValueError(f"no token stands for {role}")
        return tokens[role]

    def media_path(self, path: str) -> Path:
        """The path of a media file; a relative path starts at `media_root`.

        Raises:
            MediaError: It leads out of `media_root`, and `media_outside` does not allow this.
        """
        if self.media_root is None:
            return Path(path)
        full_path = Path(self.media_root) / path
        # Resolve links first, because the data may contain links.
        if not self.media_outside and not full_path.resolve().is_relative_to(Path(self.media_root).resolve()):
            raise MediaError(
                f"{path}: leads out of the media root {self.media_root}; name one above it (media_root), or allow any "
                "file of this machine (media_outside: true)"
            )
        return full_path

    def media_url(self, path: str) -> str | None:
        """The URL of a medium in a bucket; None if the path is not in a bucket.

        Raises:
            MediaError: It is neither below `media_root` nor in a bucket of `url_hosts`.
        """
        root = self.media_root or ""
        if is_remote(path):
            url = path
        elif is_remote(root) and not is_url(path) and not path.startswith("/"):
            url = f"{root.rstrip('/')}/{path}"
        else:
            return None
        bucket = "/".join(url.split("/", 3)[:3])
        allowed = [f"{place.rstrip('/')}/" for place in (root, *self.url_hosts) if is_remote(place)]
        if not url.startswith(tuple(allowed)) or ".." in url.split("/"):
            raise MediaError(
                f"{path}: lies neither below the media root {root} nor in a bucket of url_hosts; add {bucket!r} to "
                "url_hosts in the recipe's dataset to allow it"
            )
        return url
