"""Dialogs of ModelScope-Swift and Video-ChatGPT."""

from collections.abc import Mapping
from typing import Any

from jinx_pipeline.sample.dialog_errors import DialogError
from jinx_pipeline.sample.messages import as_text, checked, take_system, with_columns, without

_VIDEO = "<video>\n"


def from_swift(sample: dict[str, Any]) -> dict[str, Any]:
    """ModelScope-Swift's `conversation` of pairs as messages; its `system` becomes the first message."""
    turns = sample.get("conversation")
    if not isinstance(turns, list | tuple) or not turns:
        raise DialogError("conversation is a list of at least one turn")
    messages: list[dict[str, Any]] = []
    if "system" in sample:
        messages.append({"role": "system", "content": _text(sample, "system", "system")})
    for number, turn in enumerate(turns):  # pyright: ignore[reportUnknownVariableType]
        where = f"conversation[{number}]"
        if not isinstance(turn, Mapping) or set(turn) != {"human", "assistant"}:  # pyright: ignore[reportUnknownArgumentType]
            raise DialogError(f"{where} is not a dict with human and assistant")
        pair = dict(turn)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        messages.append({"role": "user", "content": _text(pair, "human", f"{where}.human")})
        messages.append({"role": "assistant", "content": _text(pair, "assistant", f"{where}.assistant")})
    return checked(with_columns(without(sample, "conversation", "system"), messages=messages))


def to_swift(sample: dict[str, Any]) -> dict[str, Any]:
    """Messages as ModelScope-Swift's pairs."""
    columns, messages = _turns(sample)
    pairs = _pairs(take_system(columns, messages))
    return with_columns(columns, conversation=[{"human": question, "assistant": answer} for question, answer in pairs])


def from_video_chatgpt(sample: dict[str, Any]) -> dict[str, Any]:
    """Video-ChatGPT's question `q` and answer `a` about the video `video_id` as messages."""
    question = _text(sample, "q", "q")
    if "<video>" in question:
        raise DialogError("q holds <video>, which stands for a video in messages")
    messages = [
        {"role": "user", "content": f"{_VIDEO}{question}"},
        {"role": "assistant", "content": _text(sample, "a", "a")},
    ]
    video = f"{_text(sample, 'video_id', 'video_id')}.mp4"
    return checked(with_columns(without(sample, "q", "a", "video_id"), messages=messages, videos=[video]))


def to_video_chatgpt(sample: dict[str, Any]) -> dict[str, Any]:
    """A question about one video, with its answer, in the schema of Video-ChatGPT."""
    columns, messages = _turns(sample)
    videos = columns.pop("videos", None) or []
    pairs = _pairs(messages)
    if len(pairs) != 1 or len(videos) != 1 or not pairs[0][0].startswith(_VIDEO):
        raise DialogError("the schema has one question about one video, which begins with <video> and a new line")
    if not isinstance(videos[0], str) or not videos[0].endswith(".mp4"):
        raise DialogError(f"the video {videos[0]!r} is not named after its id: the name ends in .mp4")
    question, answer = pairs[0]
    return with_columns(columns, q=question.removeprefix(_VIDEO), a=answer, video_id=videos[0].removesuffix(".mp4"))


def _turns(sample: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The other columns, and the messages, whose contents are strings."""
    sample = as_text(sample)
    return without(sample, "messages"), list(sample["messages"])


def _pairs(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The questions and answers of messages that alternate.

    Raises:
        DialogError: They do not alternate, or have other keys than `role` and `content`.
    """
    for number, message in enumerate(messages):
        role = ("user", "assistant")[number % 2]
        if message["role"] != role or set(message) != {"role", "content"}:
            raise DialogError(f"messages are not plain turns of user and assistant: one is of {message['role']!r}")
    if not messages or len(messages) % 2:
        raise DialogError("messages do not end with an answer of the assistant")
    texts = [message["content"] for message in messages]
    return list(zip(texts[::2], texts[1::2], strict=True))


def _text(sample: Mapping[str, Any], name: str, where: str) -> str:
    value = sample.get(name)
    if not isinstance(value, str):
        raise DialogError(f"{where} is a {type(value).__name__}, not a string")
    return value
