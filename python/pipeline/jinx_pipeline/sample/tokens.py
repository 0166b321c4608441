"""Tokens in a text that stand for media, and the chunks of a text."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinx_pipeline.sample.roles import Role, Roles

MEDIA: tuple["Role", ...] = ("images", "audios", "videos")


def count_tokens(text: str, role: "Role", roles: "Roles") -> int:
    """How many media of a kind a text stands for."""
    return text.count(roles.token(role))


def without_tokens(text: str, roles: "Roles") -> str:
    """The text alone: without tokens for media and ends of chunks, and without white space around."""
    for token in (*(roles.token(role) for role in MEDIA), roles.chunk_end):
        text = text.replace(token, "")
    return text.strip()


def only_medium(text: str, role: "Role", number: int, roles: "Roles") -> str:
    """The text without the tokens of a kind but the one numbered `number`, from 0."""
    seen = -1

    def kept(found: "re.Match[str]") -> str:
        nonlocal seen
        seen += 1
        return found.group() if seen == number else ""

    return re.sub(re.escape(roles.token(role)), kept, text)


def chunks(text: str, role: "Role", roles: "Roles") -> Iterator[tuple[str, range]]:
    """The chunks of a text with the numbers of the media of a kind that they stand for; empty chunks are left out."""
    start = 0
    for chunk in text.split(roles.chunk_end):
        stop = start + count_tokens(chunk, role, roles)
        if chunk.strip():
            yield chunk, range(start, stop)
        start = stop
