# ruff: noqa: RUF001 - characters that theirs and ours take differently
"""Why results differ where they do: each reason names what theirs does, and says of a document whether it applies."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_INVISIBLE = "\u00ad\u200b\u2060\ufe0f\ufeff"
_SPACES_OF_THEIRS = " \n\t"


@dataclass(frozen=True)
class Document:
    """A document with two different results.

    Attributes:
        text: It.
        theirs: Their result.
        ours: Ours.
        special: The characters that theirs calls special.
    """

    text: str
    theirs: Any
    ours: Any
    special: frozenset[str]


@dataclass(frozen=True)
class Reason:
    """Why results of some operators differ.

    Attributes:
        operators: Their names.
        what: What theirs does, and ours.
        applies: Whether this explains the difference of a document.
    """

    operators: tuple[str, ...]
    what: str
    applies: Callable[[Document], bool]


def _is_special(character: str) -> bool:
    return (
        unicodedata.category(character)[0] in "PSNZ"
        or character in _INVISIBLE
        or unicodedata.category(character) == "Cc"
    )


def _other_special(document: Document) -> bool:
    return any(_is_special(character) != (character in document.special) for character in set(document.text))


def _is_letter(character: str) -> bool:
    # Vowel signs are part of a word; the sign that mutes a vowel is not at its end.
    is_sign = unicodedata.category(character) in ("Mn", "Mc", "Nl") and character not in _INVISIBLE
    return is_sign or unicodedata.category(character)[0] == "L"


def _stripped(word: str, is_kept: Callable[[str], bool]) -> str:
    kept = [at for at, character in enumerate(word) if is_kept(character)]
    return word[kept[0] : kept[-1] + 1] if kept else ""


def _other_words(document: Document) -> bool:
    separators = set(filter(str.isspace, document.text)) - set(_SPACES_OF_THEIRS)
    return bool(separators) or any(
        _stripped(word, lambda character: character not in document.special) != _stripped(word, _is_letter)
        for word in document.text.split()
    )


def _words_removed(document: Document) -> bool:
    return document.theirs.split() == document.ours.split() or any(
        character.isspace() and character not in _SPACES_OF_THEIRS for character in document.text
    )


def _without_empty_lines(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line.strip())


def _has(pattern: str) -> Callable[[Document], bool]:
    compiled = re.compile(pattern)
    return lambda document: compiled.search(document.text) is not None


_WORDS = ("words_num_filter", "word_repetition_filter", "stopwords_filter", "flagged_words_filter")
_CUTTERS = ("remove_long_words_mapper", "remove_words_with_incorrect_substrings_mapper")
_THEIR_PUNCTUATION = re.compile(r"[^一-龥A-Za-z0-9.， ,\-。%《*》/•、&＆(—)（+）：？!！“”·]+")

REASONS = (
    Reason(
        ("special_characters_filter",),
        "Theirs is a fixed list: it lacks digits and punctuation of most scripts and parts of emoji, and has "
        "letters (`一`, `ン`) and vowel signs of Hindi. Ours goes by Unicode's categories.",
        _other_special,
    ),
    Reason(
        _WORDS,
        "Theirs splits at the space, tab and line feed alone and strips the same fixed list from words, so a "
        "no-break or full-width space joins words, vowel signs of Hindi fall off (`की` becomes `क`), and emoji "
        "with modifiers or digits of Arabic and Hindi count as words. Ours splits at all white space; a word has a"
        " letter.",
        _other_words,
    ),
    Reason(
        ("clean_copyright_mapper",),
        "Theirs removes every comment and empty line at the beginning, whether it speaks of copyright or not, and "
        "leaves a line behind a block. Ours removes only what speaks of copyright, with the empty lines after it.",
        _has(r"^(\s*\n|//|#|--)|/\*"),
    ),
    Reason(
        ("clean_email_mapper",),
        "Theirs misses domains with capital letters.",
        _has(r"@[A-Za-z0-9.\-]*[A-Z]"),
    ),
    Reason(
        ("clean_ip_mapper",),
        "Theirs takes parts of longer numbers for addresses (`999.1.1.1`, `10.20.30.40.50`).",
        _has(r"\d+(\.\d+){4}|\d{3,}(\.\d+){3}"),
    ),
    Reason(
        ("clean_links_mapper",),
        "Theirs also takes `word:text` of any word for a link, and a domain without a scheme before a slash. Ours "
        "takes `http://`, `https://`, `ftp://` and `www.`.",
        _has(r"[a-z][\w-]+:[a-z0-9%/]|[a-z0-9.\-]+\.[a-z]{2,4}/"),
    ),
    Reason(
        ("expand_macro_mapper",),
        "Theirs rewrites the definitions, too.",
        _has(r"\\(newcommand|def)"),
    ),
    Reason(
        ("punctuation_normalization_mapper",),
        "Theirs makes the full-width digit `１` a quotation mark.",
        _has("１"),
    ),
    Reason(
        ("remove_comments_mapper",),
        "Theirs also removes the character before the `%`.",
        _has("%"),
    ),
    Reason(
        ("whitespace_normalization_mapper",),
        "Theirs makes spaces of the joiners that Arabic, Hindi and emoji are written with, leaves the byte order "
        "mark, and leaves a space at the ends where it replaced a character there.",
        _has("[\u200b-\u200d\u2060\ufeff\ufffc]"),
    ),
    Reason(
        _CUTTERS,
        "Theirs writes the white space of all texts again, so indentation, empty lines and ends of texts go. Ours "
        "changes only what is around a removed word, and splits at all white space.",
        _words_removed,
    ),
    Reason(
        ("remove_non_chinese_character_mapper",),
        "Theirs drops `:`, `?` and other punctuation that it does not list, and ideographs above U+9FA5.",
        lambda document: (
            _THEIR_PUNCTUATION.sub("", document.ours) in (document.theirs, re.sub("[A-Za-z0-9]", "", document.theirs))
        ),
    ),
    Reason(
        ("remove_repeat_sentences_mapper",),
        "Theirs leaves empty lines where it removed sentences.",
        lambda document: (
            [line for line in document.theirs.split("\n") if line.strip()]
            == [line for line in document.ours.split("\n") if line.strip()]
            or document.theirs.split() == document.ours.split()
        ),
    ),
    Reason(
        ("remove_repeat_sentences_mapper",),
        "Theirs ends sentences at each dot, also within numbers, addresses and abbreviations.",
        _has(r"[.!?。！？…][^\s]|Dr\."),
    ),
    Reason(
        ("remove_repeat_sentences_mapper",),
        "Theirs compares letters of ASCII and ideographs alone, so sentences of other scripts are never or wrongly"
        " equal.",
        lambda document: any(not character.isascii() and not "一" <= character <= "龥" for character in document.text),
    ),
    Reason(
        ("clean_html_mapper",),
        "Theirs drops NUL, carriage returns and white space at the beginning, also of texts without markup.",
        lambda document: document.theirs == document.ours.replace("\0", "").replace("\r", "").lstrip(" \t\n"),
    ),
    Reason(
        ("clean_html_mapper",),
        "Theirs keeps the code of scripts and styles, makes an empty item of an ordered list itself, and joins what"
        " `<br>` separates.",
        _has("<ol|<br|<script|<style"),
    ),
    Reason(
        ("remove_table_text_mapper",),
        "Theirs keeps a table's first line at the beginning of a text, and its last line where no line feed ends the"
        " text, and removes the empty lines after a table. It looks again at what is left for each number of columns,"
        " also over empty lines, and takes a bar for a part of a word, too, so lines go that are no table.",
        lambda document: (
            "|" in document.text
            or _without_empty_lines(document.ours).strip() in _without_empty_lines(document.theirs)
            or len(_without_empty_lines(document.theirs)) < len(_without_empty_lines(document.ours))
        ),
    ),
    Reason(
        ("text_chunk_mapper",),
        "Theirs cuts a separator that reaches beyond the largest length, and its rest begins the next chunk.",
        lambda document: (
            isinstance(document.theirs, list)
            and "".join("".join(document.theirs).split()) == "".join("".join(document.ours).split())
        ),
    ),
    Reason(
        ("text_chunk_mapper",),
        "Theirs fails on long texts (`RecursionError`).",
        lambda document: isinstance(document.theirs, str),
    ),
    Reason(
        ("document_line_deduplicator",),
        "Theirs takes all lines without letters for one line. Ours compares them as they are.",
        lambda document: (
            not any(
                any(map(str.isalpha, line))
                for line in set(document.ours.split("\n")) - set(document.theirs.split("\n"))
            )
        ),
    ),
    Reason(
        ("text_chunk_mapper",),
        "Theirs drops texts of white space alone. Ours keeps each sample.",
        lambda document: not document.text.strip(),
    ),
    Reason(
        ("text_chunk_mapper",),
        "Theirs adds a last chunk that only repeats the overlap.",
        lambda document: (
            isinstance(document.theirs, list)
            and document.theirs[:-1] == document.ours
            and document.ours[-1].endswith(document.theirs[-1])
        ),
    ),
)


def reasons_for(operator: str, document: Document) -> list[Reason]:
    """The reasons that explain a document's difference."""
    return [reason for reason in REASONS if operator in reason.operators and reason.applies(document)]
