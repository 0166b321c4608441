"""Finds operators by words: BM25 over their names and descriptions."""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, zip_longest
from typing import Any, Final

from jinx_pipeline.catalog.facts import described
from jinx_pipeline.operators.api.registry import names

_K1: Final = 1.2
_B: Final = 0.6
_WORD: Final = re.compile(r"[a-z]+|[0-9]+|[^\W\d_a-z]+")
_MAX_QUERY: Final = 2_000
# Separators between the parts of a request such as "drop short texts and near duplicates".
_BETWEEN_WISHES: Final = re.compile(r"[,;.]\s|\n|\b(?:and|then|but|also)\b", re.IGNORECASE)
_MAX_WISHES: Final = 8
# Words of requests to drop or keep samples; operators that decide about samples then get a higher score.
_DECIDING: Final = frozenset({"drop", "keep", "filter", "discard", "exclude", "throw"})
_DECIDES: Final = frozenset({"filter", "deduplicator", "selector"})
_DECIDING_WEIGHT: Final = 1.4
# The factor for operators for another kind of data than the query names.
_OTHER_KIND: Final = 0.5
_KINDS: Final = frozenset({"text", "imag", "audio", "video"})  # as stems
# How often a word counts in the name and in the summary.
_NAME_WEIGHT, _SUMMARY_WEIGHT = 4, 2

_STOP_TEXT: Final = (
    "a an and are as at be but by can do for from have has i in into is it its like me my no of on or our out over "
    "please than that the their them then there these they this those to too us want was we were what which with you "
    "all any each every only some such very more most other another drop keep throw away take much sample samples row "
    "rows data dataset"
)
_STOP: Final = frozenset(_STOP_TEXT.split())

# Words in requests, and the words that descriptions use for the same thing.
_SYNONYMS: Final[Mapping[str, str]] = {
    "anonymize": "redaction personal",
    "anonymise": "redaction personal",
    "article": "document",
    "blank": "white space",
    "bleep": "flagged",
    "blurred": "sharpness",
    "blurry": "sharpness",
    "boilerplate": "line shared menus notices",
    "brief": "length",
    "caption": "text similarity",
    "captions": "text similarity",
    "contamination": "decontaminate evaluation",
    "benchmark": "evaluation decontaminate",
    "crop": "resize",
    "curse": "flagged",
    "dedupe": "deduplicator same",
    "deduplicate": "deduplicator same",
    "dimension": "width height",
    "dimensions": "width height",
    "duplicate": "deduplicator same",
    "duplicated": "deduplicator same",
    "duplicates": "deduplicator same",
    "emoji": "special",
    "english": "language lang",
    "chinese": "chinese",
    "french": "language lang",
    "german": "language lang",
    "gibberish": "perplexity",
    "hyperlinks": "links",
    "highest": "largest",
    "identical": "same exact",
    "ip": "ip addresses",
    "language": "language",
    "license": "copyright",
    "licence": "copyright",
    "lowest": "smallest",
    "long": "length duration",
    "longer": "length duration",
    "longest": "longest",
    "mail": "email",
    "markup": "html",
    "megabytes": "size",
    "mojibake": "unicode encoding",
    "movie": "video",
    "near": "near nearly",
    "noisy": "noise",
    "paragraphs": "chunk",
    "passwords": "secrets redaction",
    "people": "faces",
    "photo": "image",
    "pixels": "width height",
    "photos": "image",
    "picture": "image",
    "pictures": "image",
    "pii": "pii personal",
    "porn": "flagged",
    "private": "personal",
    "profanity": "flagged",
    "quiet": "noise ratio",
    "randomly": "random",
    "recording": "audio",
    "recordings": "audio",
    "references": "bibliography",
    "repeated": "repetition repeat",
    "repetitive": "repetition",
    "resolution": "resolution width height",
    "rude": "flagged",
    "scrub": "redaction",
    "sensitive": "personal",
    "short": "length duration",
    "shorter": "length duration",
    "similar": "similar nearly near",
    "size": "size",
    "small": "width height size",
    "sound": "audio",
    "sounds": "audio",
    "speech": "audio",
    "still": "motion",
    "static": "motion",
    "subset": "random selector",
    "swear": "flagged",
    "tokens": "token number",
    "toxic": "flagged",
    "unique": "deduplicator same",
    "urls": "links",
    "url": "links",
    "whitespace": "white space",
    "wide": "aspect ratio",
    "tall": "aspect ratio",
}


@dataclass(frozen=True)
class Found:
    """An operator that a search found.

    Attributes:
        name: Its name.
        score: How well it fits; larger is better.
        facts: Its facts, as of `described`.
    """

    name: str
    score: float
    facts: Mapping[str, Any]


def search_operators(query: str, limit: int = 12, without: Collection[str] = ()) -> list[Found]:
    """The operators that fit a query best.

    Args:
        query: Words, such as "drop near duplicates".
        limit: The maximum number of operators.
        without: Operators that are left out.
    """
    index = _index(tuple(names()))
    query = query[:_MAX_QUERY]
    wishes = [part for part in _BETWEEN_WISHES.split(query) if _query_terms(part)][:_MAX_WISHES]
    asked = [query] if len(wishes) < 2 else [*wishes, query]  # noqa: PLR2004 - the first word may apply to all parts
    is_deciding = not _DECIDING.isdisjoint(_WORD.findall(query.lower()))
    scores = [
        {name: index.score(name, terms, is_deciding=is_deciding) for name in index.documents if name not in without}
        for terms in (Counter(_query_terms(part)) for part in asked)
    ]
    ranked = [
        sorted((name for name, score in by_name.items() if score > 0), key=lambda name: (-by_name[name], name))
        for by_name in scores
    ]
    # The best results for each part of the request come first, so that each part is represented.
    best = dict.fromkeys(name for rank in zip_longest(*ranked) for name in rank if name is not None)
    return [Found(name, max(by_name[name] for by_name in scores), described(name)) for name in islice(best, limit)]


def _query_terms(query: str) -> list[str]:
    terms: list[str] = []
    for word in _words(query):
        terms += [_stem(word), *map(_stem, _SYNONYMS.get(word, "").split())]
    return terms


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower().replace("e-mail", "email")) if word not in _STOP]


def _stem(word: str) -> str:
    """The word without a plural or verb ending, so that different forms of a word match."""
    for ending in ("ings", "ing", "ies", "ied", "es", "ed", "s", "er", "ly", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:  # noqa: PLR2004 - shorter stems would collide
            return word.removesuffix(ending)
    return word


class _Index:
    """The words of each operator, with their weights."""

    def __init__(self, known: tuple[str, ...]) -> None:
        self.documents = {name: _terms_of(described(name)) for name in known}
        self._lengths = {name: sum(terms.values()) for name, terms in self.documents.items()}
        self._kinds = {name: _kinds_of(described(name)["modality"]) for name in known}
        self._decides = {name: described(name)["kind"] in _DECIDES for name in known}
        self._mean = sum(self._lengths.values()) / max(1, len(known))
        self._having = Counter(term for terms in self.documents.values() for term in terms)

    def score(self, name: str, query: Mapping[str, int], *, is_deciding: bool) -> float:
        """The BM25 score of an operator."""
        terms = self.documents[name]
        norm = _K1 * (1 - _B + _B * self._lengths[name] / self._mean)
        found = (term for term in query if term in terms)
        score = sum(self._rarity(term) * terms[term] * (_K1 + 1) / (terms[term] + norm) for term in found)
        wanted = _KINDS.intersection(query)
        is_other = wanted and not wanted.intersection(self._kinds[name])
        score *= _DECIDING_WEIGHT if is_deciding and self._decides[name] else 1
        return score * _OTHER_KIND if is_other else score

    def _rarity(self, term: str) -> float:
        having = self._having[term]
        return math.log(1 + (len(self.documents) - having + 0.5) / (having + 0.5))


def _kinds_of(modality: str) -> frozenset[str]:
    stem = _stem(modality)
    return frozenset({stem}) if stem in _KINDS else _KINDS


def _terms_of(facts: Mapping[str, Any]) -> Counter[str]:
    name, summary = _words(facts["name"].replace("_", " ")), _words(facts["summary"])
    body = _words(facts["text"]) + [word for field in facts["parameters"] for word in _words(field["name"])]
    words = name * _NAME_WEIGHT + summary * _SUMMARY_WEIGHT + body
    return Counter(map(_stem, [*words, *_words(facts["modality"])]))


@lru_cache(maxsize=4)
def _index(known: tuple[str, ...]) -> _Index:
    return _Index(known)
