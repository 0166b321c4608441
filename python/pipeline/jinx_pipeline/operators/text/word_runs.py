"""Words between white space, and texts without some of them."""

import re
from collections.abc import Callable

_PIECE = re.compile(r"\S+|\s+")
_EDGE = re.compile(r"^[\W_]+|[\W_]+$")


def stripped(word: str) -> str:
    """A word without what is neither letter nor digit at either end."""
    return _EDGE.sub("", word)


def without_words(text: str, is_removed: Callable[[str], bool]) -> str | None:
    """The text without some words, each with the white space before it; None if all stay.

    A line ends where it ended.
    """
    pieces = _PIECE.findall(text)
    if not any(not piece[0].isspace() and is_removed(piece) for piece in pieces):
        return None
    kept: list[str] = []
    for piece in pieces:
        if piece[0].isspace():
            last = kept[-1] if kept else ""
            if last.isspace():
                kept[-1] = last if "\n" in last or "\n" not in piece else piece
            else:
                kept.append(piece)
        elif not is_removed(piece):
            kept.append(piece)
    return "".join(kept)
