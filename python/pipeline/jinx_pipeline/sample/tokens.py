"""Tokens that stand for media in a text, and the chunks of a text."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinx_pipeline.sample.roles import Role, Roles

MEDIA: tuple["Role", ...] = ("images", "audios", "videos")


def count_tokens(text: str, role: "Role", roles: "Roles") -> int:
    """The number of tokens for media of a role in a text."""
    return text.count(roles.token(role))


def without_tokens(text: str, roles: "Roles") -> str:
    """The text without media tokens, chunk ends and surrounding white space."""
    for token in (*(roles.token(role) for role in MEDIA), roles.chunk_end):
        text = text.replace(token, "")
    return text.strip()


def only_medium(text: str, role: "Role", number: int, roles: "Roles") -> str:
    """The text without the tokens of a role, except for the token with the given number, counted from 0."""
    index = -1

    def keep_number(match: "re.Match[str]") -> str:
        nonlocal index
        index += 1
        return match.group() if index == number else ""

    return re.sub(re.escape(roles.token(role)), keep_number, text)


def chunks(text: str, role: "Role", roles: "Roles") -> Iterator[tuple[str, range]]:
    """The non-empty chunks of a text, each with the numbers of the media of this role that it contains."""
    start = 0
    for chunk in text.split(roles.chunk_end):
        stop = start + count_tokens(chunk, role, roles)
        if chunk.strip():
            yield chunk, range(start, stop)
        start = stop
