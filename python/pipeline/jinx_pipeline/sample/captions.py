"""Media with captions: schemas of public datasets, and texts with a token for each medium.

The common form has the caption in `text`, after a token for each medium and before the end of a chunk, and the media in
`images`, `audios` or `videos`. Other columns pass through.
"""

from collections.abc import Callable
from typing import Any, Final

from jinx_pipeline.sample.dialog_errors import SchemaError
from jinx_pipeline.sample.messages import with_columns, without
from jinx_pipeline.sample.roles import Roles

_ROLES: Final = Roles()
_END: Final = f" {_ROLES.chunk_end}"
# Separates the sentences of MMC4, each of which is a chunk.
_BETWEEN: Final = f"{_END} "
_VIDEO: Final = f"{_ROLES.video_token} "
_AUDIO: Final = f"{_ROLES.audio_token} "
_IMAGE: Final = f"{_ROLES.image_token} "
_FIRST_IMAGE: Final = "image_name"
_YOUKU_FILES: Final = ("video_id:FILE", "clip_name:FILE")
_YOUKU_TEXTS: Final = ("title", "golden_caption", "caption")

Convert = Callable[[dict[str, Any]], dict[str, Any]]


def checked(sample: dict[str, Any]) -> dict[str, Any]:
    """The sample, if its `text` has a token for each of its media.

    Raises:
        SchemaError: The numbers differ, or a column has another type.
    """
    text = _text(sample, "text")
    for column, token in (
        ("images", _ROLES.image_token),
        ("audios", _ROLES.audio_token),
        ("videos", _ROLES.video_token),
    ):
        media = sample.get(column) or []
        if not isinstance(media, list | tuple):
            raise SchemaError(f"{column} is a {type(media).__name__}, not a list")
        if text.count(token) != len(media):  # pyright: ignore[reportUnknownArgumentType]
            raise SchemaError(f"the text has {text.count(token)} tokens {token} for {len(media)} {column}")  # pyright: ignore[reportUnknownArgumentType]
    return sample


def from_wavcaps(sample: dict[str, Any]) -> dict[str, Any]:
    """WavCaps: `caption` of the audio `id`."""
    name = _text(sample, "id")
    return _captioned(without(sample, "caption"), _text(sample, "caption"), _AUDIO, audios=[name])


def to_wavcaps(sample: dict[str, Any]) -> dict[str, Any]:
    """A captioned audio in the schema of WavCaps."""
    caption, (audio,), columns = _split(sample, _AUDIO, "audios")
    if columns.setdefault("id", audio) != audio:
        raise SchemaError(f"the audio is {audio!r}, and id is {columns['id']!r}")
    return with_columns(columns, caption=caption)


def from_msr_vtt(sample: dict[str, Any]) -> dict[str, Any]:
    """MSR-VTT: a `caption` of the video `video_id`."""
    video = _file_of_id(sample, "video_id")
    return _captioned(without(sample, "video_id", "caption"), _text(sample, "caption"), _VIDEO, videos=[video])


def to_msr_vtt(sample: dict[str, Any]) -> dict[str, Any]:
    """A captioned video in the schema of MSR-VTT."""
    caption, (video,), columns = _split(sample, _VIDEO, "videos")
    return with_columns(columns, video_id=_stem(video), caption=caption)


def from_internvid(sample: dict[str, Any]) -> dict[str, Any]:
    """InternVid: `Caption` of a part of the video `YoutubeID`; the timestamps pass through."""
    for name in ("Start_timestamp", "End_timestamp"):
        _text(sample, name)
    video = _file_of_id(sample, "YoutubeID")
    return _captioned(without(sample, "YoutubeID", "Caption"), _text(sample, "Caption"), _VIDEO, videos=[video])


def to_internvid(sample: dict[str, Any]) -> dict[str, Any]:
    """A captioned part of a video in the schema of InternVid."""
    caption, (video,), columns = _split(sample, _VIDEO, "videos")
    for name in ("Start_timestamp", "End_timestamp"):
        _text(columns, name)
    return with_columns(columns, YoutubeID=_stem(video), Caption=caption)


def from_youku(sample: dict[str, Any]) -> dict[str, Any]:
    """Youku-mPLUG: a `title`, `golden_caption` or `caption` of `video_id:FILE` or `clip_name:FILE`."""
    file = _first(sample, _YOUKU_FILES)
    name = _first(sample, _YOUKU_TEXTS)
    # The column names show which part of the dataset a sample comes from.
    origin = {"youku_mplug": [file, name]}
    columns = with_columns(without(sample, file, name), **origin)
    return _captioned(columns, _text(sample, name), _VIDEO, videos=[_text(sample, file)])


def to_youku(sample: dict[str, Any]) -> dict[str, Any]:
    """A captioned video in the schema of Youku-mPLUG."""
    caption, (video,), columns = _split(sample, _VIDEO, "videos")
    file, name = columns.pop("youku_mplug", None) or (_YOUKU_FILES[0], _YOUKU_TEXTS[0])
    return with_columns(columns, **{file: video, name: caption})


def from_mmc4(sample: dict[str, Any]) -> dict[str, Any]:
    """MMC4: each sentence of `text_list` is a chunk, after the images of `image_info` that match it."""
    sentences, infos = sample.get("text_list"), sample.get("image_info")
    if not isinstance(sentences, list) or not sentences or not all(isinstance(text, str) for text in sentences):  # pyright: ignore[reportUnknownVariableType]
        raise SchemaError("text_list is a list of at least one sentence")
    if not isinstance(infos, list):
        raise SchemaError(f"image_info is a {type(infos).__name__}, not a list")
    images: list[str] = []
    chunks: list[str] = []
    for number, sentence in enumerate(sentences):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        _refuse_tokens(str(sentence))  # pyright: ignore[reportUnknownArgumentType]
        names = [_image_name(info, len(sentences)) for info in infos if _index(info) == number]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        images += names
        chunks.append(f"{_IMAGE * len(names)}{sentence}")
    kept = [without(info, _FIRST_IMAGE) for info in infos]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if len(images) != len(kept):
        raise SchemaError("an image matches no sentence of text_list")
    columns = without(sample, "text_list", "image_info")
    return with_columns(columns, text=f"{_BETWEEN.join(chunks)}{_END}", images=images, image_info=kept)


def to_mmc4(sample: dict[str, Any]) -> dict[str, Any]:
    """Sentences with images in the schema of MMC4; `image_info` keeps the order of its images."""
    checked(sample)
    text, images = sample["text"], list(sample.get("images") or [])
    columns = without(sample, "text", "images")
    chunks = text.removesuffix(_END).split(_BETWEEN)
    counts = [chunk.count(_IMAGE) for chunk in chunks]
    sentences = [chunk.removeprefix(_IMAGE * count) for chunk, count in zip(chunks, counts, strict=True)]
    if any(_ROLES.image_token in sentence for sentence in sentences):
        raise SchemaError(f"a token {_ROLES.image_token} is not at the beginning of its sentence, followed by a space")
    for sentence in sentences:
        _refuse_tokens(sentence)
    matched = [number for number, count in enumerate(counts) for _ in range(count)]
    infos = columns.pop("image_info", None) or [{"matched_text_index": number} for number in matched]
    places = sorted(range(len(infos)), key=lambda place: (_index(infos[place]), place))
    if [_index(infos[place]) for place in places] != matched:
        raise SchemaError("image_info does not match the tokens of the images in the text")
    named: list[dict[str, Any]] = [{} for _ in infos]
    for place, image in zip(places, images, strict=True):
        named[place] = {_FIRST_IMAGE: image, **infos[place]}
    return with_columns(columns, text_list=sentences, image_info=named)


CAPTIONS: Final[dict[str, tuple[Convert, Convert]]] = {
    "captions": (checked, checked),
    "mmc4": (from_mmc4, to_mmc4),
    "wavcaps": (from_wavcaps, to_wavcaps),
    "msr_vtt": (from_msr_vtt, to_msr_vtt),
    "internvid": (from_internvid, to_internvid),
    "youku_mplug": (from_youku, to_youku),
}
"""For each schema, the conversion to the common form and back."""


def _captioned(columns: dict[str, Any], caption: str, token: str, **media: list[str]) -> dict[str, Any]:
    _refuse_tokens(caption)
    return with_columns(columns, text=f"{token}{caption}{_END}", **media)


def _split(sample: dict[str, Any], token: str, column: str) -> tuple[str, list[str], dict[str, Any]]:
    """The caption, the media and the other columns of a sample with one medium."""
    checked(sample)
    media = list(sample.get(column) or [])
    caption = sample["text"].removesuffix(_END).removeprefix(token)
    if len(media) != 1:
        raise SchemaError(f"the sample has {len(media)} {column}, and the schema has one")
    _refuse_tokens(caption)
    return caption, media, without(sample, "text", column)


def _refuse_tokens(text: str) -> None:
    for token in (_ROLES.image_token, _ROLES.audio_token, _ROLES.video_token, _ROLES.chunk_end):
        if token in text:
            raise SchemaError(f"the caption holds the token {token}")


def _text(sample: dict[str, Any], name: str) -> str:
    value = sample.get(name)
    if not isinstance(value, str):
        raise SchemaError(f"{name} is a {type(value).__name__}, not a string")
    return value


def _first(sample: dict[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        if name in sample:
            return name
    raise SchemaError(f"the sample has none of {', '.join(names)}")


def _file_of_id(sample: dict[str, Any], name: str) -> str:
    video = _text(sample, name)
    if video.endswith(".mp4"):
        raise SchemaError(f"{name} is {video!r}, a file; the schema has ids there: leave out .mp4")
    return f"{video}.mp4"


def _stem(video: str) -> str:
    if not video.endswith(".mp4"):
        raise SchemaError(f"the video {video!r} is not named after its id: the name ends in .mp4")
    return video.removesuffix(".mp4")


def _index(info: Any) -> int:
    index = info.get("matched_text_index") if isinstance(info, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if type(index) is not int:  # pyright: ignore[reportUnknownArgumentType]
        raise SchemaError("an entry of image_info has no matched_text_index")
    return index


def _image_name(info: dict[str, Any], sentences: int) -> str:
    if not 0 <= _index(info) < sentences:
        raise SchemaError(f"matched_text_index is {_index(info)}, and there are {sentences} sentences")
    return _text(info, _FIRST_IMAGE)
