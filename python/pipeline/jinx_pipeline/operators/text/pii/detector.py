"""Detectors of personal data, and the spans that they find."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """A part of a text.

    Attributes:
        start: The index of its first character.
        stop: The index after its last character.
        kind: The kind of data in it.
    """

    start: int
    stop: int
    kind: str


def _always(match: str) -> bool:
    del match
    return True


@dataclass(frozen=True)
class Detector:
    """Finds one kind of data by a pattern and a check.

    The pattern must take linear time on any text: repetitions are bounded, and a match starts at the start of a token.

    Attributes:
        kind: The kind of data.
        pattern: Matches candidates. The group `value`, if there is one, is the data without its context; a match
            without this group is skipped.
        needs: A text without any of these strings has no match; empty: unknown.
        is_valid: Whether a candidate is data of this kind, e.g. by its check digit.
        context: Words of which one must precede the match closely if `needs_context`.
        needs_context: Whether a candidate counts only after a word of `context`.
    """

    kind: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...] = ()
    is_valid: Callable[[str], bool] = _always
    context: "re.Pattern[str] | None" = None
    needs_context: Callable[[str], bool] = _always

    def find(self, text: str) -> Iterator[Span]:
        """The spans of this kind in a text, in order."""
        if self.needs and not any(needed in text for needed in self.needs):
            return
        group = "value" if "value" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            value = match.group(group)
            if value is None:
                continue
            start, stop = match.span(group)
            if self.is_valid(value) and self._is_in_context(text, start, value):
                yield Span(start, stop, self.kind)

    def _is_in_context(self, text: str, start: int, value: str) -> bool:
        if self.context is None or not self.needs_context(value):
            return True
        return self.context.search(text, max(start - _CONTEXT, 0), start) is not None


_CONTEXT = 48


def merged(spans: Iterable[Span], order: "dict[str, int]") -> list[Span]:
    """Spans that do not overlap. Of two that overlap, the longer one covers the other, or they are merged.

    Args:
        spans: Spans of a text.
        order: The rank of each kind; of overlapping spans of equal length, the kind of lower rank stays.
    """
    result: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.stop, order[span.kind])):
        if not result or span.start >= result[-1].stop:
            result.append(span)
        elif span.stop > result[-1].stop:
            result[-1] = result[-1]._replace(stop=span.stop)
    return result


def digits_of(text: str) -> str:
    """The ASCII digits of a text."""
    return "".join(character for character in text if character in "0123456789")
