"""Finds words between white space, and removes words from texts."""

import re
import unicodedata
from collections.abc import Callable

_PIECE = re.compile(r"\S+|\s+")


def is_part_of_word(character: str) -> bool:
    """Whether a character is a letter, a digit, or a mark such as the vowel signs of many scripts."""
    return character.isalnum() or unicodedata.category(character).startswith("M")


def stripped(word: str) -> str:
    """A word stripped at both ends of characters that are not letters, digits or marks."""
    start, stop = 0, len(word)
    while start < stop and not is_part_of_word(word[start]):
        start += 1
    while start < stop and not is_part_of_word(word[stop - 1]):
        stop -= 1
    return word[start:stop]


def without_words(text: str, is_removed: Callable[[str], bool]) -> str | None:
    """The text without some words, each removed with the white space before it; None if all stay.

    Line ends stay.
    """
    pieces = _PIECE.findall(text)
    if not any(not piece[0].isspace() and is_removed(piece) for piece in pieces):
        return None
    kept_pieces: list[str] = []
    for piece in pieces:
        if piece[0].isspace():
            last = kept_pieces[-1] if kept_pieces else ""
            if last.isspace():
                kept_pieces[-1] = last if "\n" in last or "\n" not in piece else piece
            else:
                kept_pieces.append(piece)
        elif not is_removed(piece):
            kept_pieces.append(piece)
    return "".join(kept_pieces)
