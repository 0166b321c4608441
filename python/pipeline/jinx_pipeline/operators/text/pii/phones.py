"""Telephone numbers: international ones (E.164), and those in national notation, by country."""

import re
from functools import partial

from jinx_pipeline.operators.text.pii.detector import Detector, digits_of

_FEWEST, _MOST = 8, 15
# The country calling codes (ITU-T E.164) with one and two digits; codes with three digits begin with other pairs.
_SHORT_CODES = (
    "1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86"
    " 90 91 92 93 94 95 98"
)
_LONG_CODES = "21 22 23 24 25 26 29 35 37 38 42 50 59 67 68 69 80 85 87 88 96 97 99"
_CODES = re.compile("|".join([*_SHORT_CODES.split(), *_LONG_CODES.split()]))


def _is_international(text: str) -> bool:
    digits = digits_of(text).removeprefix("00")
    return _CODES.match(digits) is not None and _FEWEST <= len(digits) <= _MOST


INTERNATIONAL = Detector(
    "phone",
    re.compile(
        r"(?<![\w+.])(?:\+|00)[1-9](?:[ .\-/]?\(?\d{1,5}\)?){2,7}(?![\w]|[.,]\d)",
        re.ASCII,
    ),
    ("+", "00"),
    _is_international,
)


def _has_digits(counts: range, text: str) -> bool:
    return len(digits_of(text)) in counts


def _home(pattern: str, digits: range = range(_FEWEST, _MOST)) -> Detector:
    bounded = re.compile(rf"(?<![\w.,+/-])(?:{pattern})(?![\w]|[.,/-]\d)", re.ASCII)
    return Detector("phone", bounded, (), partial(_has_digits, digits))


PHONES: dict[str, Detector] = {
    "AU": _home(r"04\d{2} ?\d{3} ?\d{3}|\(0[2378]\) ?\d{4} ?\d{4}|0[2378] \d{4} \d{4}"),
    "BR": _home(r"\(\d{2}\) ?9?\d{4}[- ]\d{4}"),
    "CN": _home(r"1[3-9]\d([ -]?)\d{4}\1\d{4}|0(?:10|2\d|[3-9]\d{2})-\d{7,8}"),
    "DE": _home(r"01[567]\d[ /-]?\d{3,4} ?\d{3,5}|\(?0[2-9]\d{1,4}\)?[ /-]\d{2,4}(?: ?\d{2,4}){1,2}(?:-\d{1,4})?"),
    "ES": _home(r"[67]\d{2}([ -])\d{3}\1\d{3}|[679]\d{2}([ -])\d{2}\2\d{2}\2\d{2}"),
    "FR": _home(r"0[1-9](?:([ .-]?)\d{2})(?:\1\d{2}){3}"),
    "GB": _home(r"07\d{3} ?\d{3} ?\d{3}|\(?0(?:1\d{3}|20|2[3489])\)? \d{3,4} ?\d{3,4}"),
    "IN": _home(r"[6-9]\d{4}[ -]\d{5}|0[6-9]\d{9}"),
    "IT": _home(r"3[2-9]\d[ -]\d{3}[ -]?\d{3,4}|0\d{1,3}[ /-]\d{5,8}"),
    "JP": _home(r"0[5789]0-\d{4}-\d{4}|\(?0[1-9]\d{0,3}\)?-\d{1,4}-\d{4}", range(10, 12)),
    "KR": _home(r"01[016789]-\d{3,4}-\d{4}|0(?:2|[3-6]\d)-\d{3,4}-\d{4}"),
    "US": _home(r"(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}"),
}
"""The detector of each country, by its ISO 3166 code; Canada's numbers are like those of the United States."""
