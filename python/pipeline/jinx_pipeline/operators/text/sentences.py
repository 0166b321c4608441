"""Splits texts into sentences."""

import re

_END = re.compile(
    r"[.!?\u0964\u061F\u06D4\u2026]+[\"'\u2019\u201D\u00BB)\]]*\s+"
    r"|[\u3002\uFF01\uFF1F]+[\u201D\u2019\u300D\u300F\uFF09\"')]*\s*"
    r"|\n+"
)
_LAST_WORD = re.compile(r"(?:^|[\s(\[\"'])([^\s(\[\"']{1,12})\.$")
_INITIAL = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")

_ABBREVIATIONS = {
    "en": "mr mrs ms dr prof st jr sr vs etc e.g i.e fig no vol pp cf al inc ltd co dept approx eq sec ch ed eds gen"
    " col lt rev hon",
    "de": "dr prof nr z.b d.h u.a bzw ca usw vgl str abb bd hrsg jh st evtl ggf inkl max min mio mrd s.o s.u",
    "fr": "m mme mlle dr pr p.ex etc cf av bd no vol chap env art st ste",
    "es": "sr sra srta dr dra ud uds etc p.ej pág núm cap art vol av avda prof",
}


def sentences(text: str, lang: str = "en", *, start_small: bool = False) -> list[str]:
    """The sentences of a text, each with the white space after it; joined, they give the text again.

    A sentence ends at punctuation before white space, at Chinese and Japanese punctuation, and at the end of a line. It
    does not end after an abbreviation or an initial, or if a lower-case letter follows a dot.

    Args:
        text: Any text.
        lang: The language, for its abbreviations.
        start_small: Whether a sentence may start with a lower-case letter.
    """
    abbreviations = frozenset(_ABBREVIATIONS.get(lang, "").split())
    result: list[str] = []
    start = 0
    for end in _END.finditer(text):
        if (
            end[0].startswith(".")
            and not end[0].startswith("..")
            and "\n" not in end[0]
            and _continues(text, end, abbreviations, start_small)
        ):
            continue
        result.append(text[start : end.end()])
        start = end.end()
    return [*result, text[start:]] if start < len(text) else result


def _continues(text: str, end: "re.Match[str]", abbreviations: frozenset[str], start_small: bool) -> bool:  # noqa: FBT001 - as above
    """Whether the sentence continues after a dot."""
    if not start_small and text[end.end() : end.end() + 1].islower():
        return True
    word = _LAST_WORD.search(text, max(0, end.start() - 14), end.start() + 1)
    if word is None:
        return False
    return word[1].lower() in abbreviations or (_INITIAL.fullmatch(word[1]) is not None and word[1] != "I")
