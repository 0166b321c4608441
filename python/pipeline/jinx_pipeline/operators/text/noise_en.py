"""Noise in English texts: words and characters changed by typing, spelling and scanning errors."""

import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from jinx_pipeline.operators.text.augmenter import Method, some_of

# Defaults of nlpaug: change 30% of the words, at most ten, and 30% of the characters of such a word.
_SHARE: Final = 0.3
_MOST: Final = 10
_LEAST_LENGTH: Final = 4
_TOKEN: Final = re.compile(r"\w+(?:['\u2019-]\w+)*|\s+|[^\w\s]+")

_ROWS: Final = ("1234567890", "qwertyuiop", "asdfghjkl;", "zxcvbnm,./")
# Characters that OCR confuses, in both directions.
_LOOK_ALIKE: Final = (
    "0oO", "1lI", "5sS", "8B", "2zZ", "6bG", "9gq", "ceo", "uv", "vy", "nh", "rn", "tf", "4A", "mn", "DO",
)  # fmt: skip
# Letters that are often mistaken for each other in spelling.
_MISSPELLED: Final = (
    ("ie", "ei"), ("ei", "ie"), ("ance", "ence"), ("ence", "ance"), ("able", "ible"), ("ible", "able"),
    ("tion", "sion"), ("ph", "f"), ("ough", "uff"), ("ck", "k"), ("ea", "ee"), ("ee", "ea"), ("ou", "u"), ("gh", "g"),
    ("wh", "w"), ("ly", "ley"), ("ary", "ery"), ("ey", "y"), ("qu", "kw"), ("ss", "s"), ("ll", "l"), ("mm", "m"),
    ("tt", "t"), ("cc", "c"), ("rr", "r"), ("nn", "n"), ("pp", "p"), ("a", "e"), ("e", "a"), ("i", "e"), ("o", "u"),
    ("u", "o"),
)  # fmt: skip


def tokens_of(text: str) -> list[str]:
    """The words, white space and punctuation of a text; joined, they give the text again."""
    return _TOKEN.findall(text)


def _words(tokens: list[str], least_length: int = 1) -> list[int]:
    return [at for at, token in enumerate(tokens) if token[0].isalnum() and len(token) >= least_length]


def delete_word(text: str, rng: np.random.Generator) -> str:
    """Delete words and the white space after them; one word stays."""
    tokens = tokens_of(text)
    words = _words(tokens)
    if len(words) <= 1:
        return text
    gone = set(some_of(words, _SHARE, rng, min(_MOST, len(words) - 1)))
    gone |= {at + 1 for at in gone if at + 1 < len(tokens) and tokens[at + 1].isspace()}
    return "".join(token for at, token in enumerate(tokens) if at not in gone)


def swap_word(text: str, rng: np.random.Generator) -> str:
    """Swap words with the next word."""
    tokens = tokens_of(text)
    words = _words(tokens)
    last = -1
    for at in some_of(range(len(words) - 1), _SHARE, rng, _MOST):
        if at > last:
            first, second = words[at], words[at + 1]
            tokens[first], tokens[second] = tokens[second], tokens[first]
            last = at + 1
    return "".join(tokens)


def split_word(text: str, rng: np.random.Generator) -> str:
    """Split words by inserting a space."""
    return _with_words(text, rng, lambda word: _inserted(word, int(rng.integers(1, len(word))), " "))


def spelling(text: str, rng: np.random.Generator) -> str:
    """Misspell words: exchange letters that sound alike, or double or omit a letter."""

    def misspelled(word: str) -> str:
        fitting = [(old, new) for old, new in _MISSPELLED if old in word[1:]]
        if fitting and rng.random() < 0.8:  # noqa: PLR2004 - usually choose a word that sounds alike
            old, new = fitting[int(rng.integers(min(len(fitting), 4)))]
            return word[0] + word[1:].replace(old, new, 1)
        at = int(rng.integers(1, len(word)))
        return word[:at] + word[at + 1 :] if rng.random() < 0.5 else _inserted(word, at, word[at])  # noqa: PLR2004

    return _with_words(text, rng, misspelled)


def keyboard(text: str, rng: np.random.Generator) -> str:
    """Replace characters by those next to them on a keyboard."""
    return _with_characters(text, rng, lambda character: _other(_NEIGHBOURS, character, rng))


def ocr(text: str, rng: np.random.Generator) -> str:
    """Replace characters by those that look alike."""
    return _with_characters(text, rng, lambda character: _other(_SIMILAR, character, rng))


def delete_character(text: str, rng: np.random.Generator) -> str:
    """Delete characters of words."""
    return _with_characters(text, rng, lambda _: "")


def insert_character(text: str, rng: np.random.Generator) -> str:
    """Insert random letters into words."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return _with_characters(text, rng, lambda character: letters[int(rng.integers(26))] + character)


def swap_character(text: str, rng: np.random.Generator) -> str:
    """Swap adjacent characters of words."""

    def swapped(word: str) -> str:
        characters = list(word)
        last = -1
        for at in some_of(range(len(word) - 1), _SHARE, rng, _MOST):
            if at > last:
                characters[at], characters[at + 1] = characters[at + 1], characters[at]
                last = at + 1
        return "".join(characters)

    return _with_words(text, rng, swapped)


def _with_words(text: str, rng: np.random.Generator, change: Callable[[str], str]) -> str:
    """The text with some of its words changed that have at least four characters."""
    tokens = tokens_of(text)
    for at in some_of(_words(tokens, _LEAST_LENGTH), _SHARE, rng, _MOST):
        tokens[at] = change(tokens[at])
    return "".join(tokens)


def _with_characters(text: str, rng: np.random.Generator, change: Callable[[str], str]) -> str:
    """The text with some characters of some words changed."""

    def changed(word: str) -> str:
        places = set(some_of(range(len(word)), _SHARE, rng, _MOST))
        return "".join(change(character) if at in places else character for at, character in enumerate(word))

    return _with_words(text, rng, changed)


def _inserted(word: str, at: int, piece: str) -> str:
    return word[:at] + piece + word[at:]


def _neighbours() -> dict[str, str]:
    """The keys around each key of a keyboard."""
    around: dict[str, str] = {}
    for number, row in enumerate(_ROWS):
        for at, key in enumerate(row):
            near = [row[max(at - 1, 0) : at + 2]]
            near += [other[max(at - 1, 0) : at + 1] for other in _ROWS[number + 1 : number + 2]]
            near += [other[at : at + 2] for other in _ROWS[max(number - 1, 0) : number]]
            around[key] = "".join(near).replace(key, "")
    return around


_NEIGHBOURS: Final = _neighbours()
_SIMILAR: Final = {
    character: "".join(group.replace(character, "") for group in _LOOK_ALIKE if character in group)
    for character in "".join(_LOOK_ALIKE)
}


def _other(table: Mapping[str, str], character: str, rng: np.random.Generator) -> str:
    """A character from the table, in the same case unless the table contains this case."""
    is_upper = character not in table and character.isupper()
    others = table.get(character.lower() if is_upper else character)
    if not others:
        return character
    other = others[int(rng.integers(len(others)))]
    return other.upper() if is_upper else other


METHODS: Final[dict[str, Method]] = {
    "delete_random_word": delete_word,
    "swap_random_word": swap_word,
    "spelling_error_word": spelling,
    "split_random_word": split_word,
    "keyboard_error_char": keyboard,
    "ocr_error_char": ocr,
    "delete_random_char": delete_character,
    "swap_random_char": swap_character,
    "insert_random_char": insert_character,
}
