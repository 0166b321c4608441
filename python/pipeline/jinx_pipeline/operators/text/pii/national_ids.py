"""Personal numbers by country, verified by their check digits or, without any, by their structure.

Sources: GB 11643 (China), SSA (United States), NHS data dictionary (Great Britain), INSEE (France), BZSt (Germany),
Orden INT/2058/2008 (Spain), DM 23/12/1976 (Italy), PESEL act (Poland), Receita Federal (Brazil), UIDAI (India),
Wabb (Netherlands), SKV 704 (Sweden), ESDC (Canada), Act on resident registration (South Korea), My Number Act (Japan).
"""

import re
from collections.abc import Callable

from jinx_pipeline.operators.text.pii.check_digits import is_date, luhn, mod_11_10, verhoeff, weighted
from jinx_pipeline.operators.text.pii.detector import Detector, digits_of


def _china(text: str) -> bool:
    weights = [pow(2, 17 - place, 11) for place in range(17)]
    check = "10X98765432"[weighted(text[:17], weights) % 11]
    return check == text[17].upper() and is_date(int(text[6:10]), int(text[10:12]), int(text[12:14]))


def _united_states(text: str) -> bool:
    area, group, serial = text.split("-")
    return area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"


def _great_britain(text: str) -> bool:
    digits = digits_of(text)
    return (11 - weighted(digits, range(10, 1, -1)) % 11) % 11 == int(digits[9])


def _france(text: str) -> bool:
    number = re.sub(r"[ .]", "", text).upper()
    # Corsica's departments, 2A and 2B, count as 19 and 18.
    plain = number[:13].replace("2A", "19").replace("2B", "18")
    return plain.isdecimal() and 97 - int(plain) % 97 == int(number[13:])


def _germany(text: str) -> bool:
    digits = digits_of(text)
    counts = sorted(digits[:10].count(digit) for digit in set(digits[:10]))
    # One of the first ten digits occurs two or three times.
    return counts[-1] in {2, 3} and counts[-2] == 1 and mod_11_10(digits)


def _spain(text: str) -> bool:
    number = re.sub(r"[ .-]", "", text).upper()
    first = {"X": "0", "Y": "1", "Z": "2"}.get(number[0], number[0])
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(first + number[1:-1]) % 23] == number[-1]


# The values of the characters at odd positions of an Italian tax code.
_ITALY_LETTERS = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_ITALY = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", _ITALY_LETTERS, strict=True)) | dict(
    zip("0123456789", _ITALY_LETTERS, strict=False)
)


def _italy(text: str) -> bool:
    code = text.upper()
    total = sum(_ITALY[character] for character in code[:15:2])
    total += sum(int(character, 36) - 10 * character.isalpha() for character in code[1:15:2])
    return chr(ord("A") + total % 26) == code[15]


def _poland(text: str) -> bool:
    century, month = divmod(int(text[2:4]), 20)
    year = (1900, 2000, 2100, 2200, 1800)[century] + int(text[:2])
    check = -weighted(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10
    return check == int(text[10]) and is_date(year, month, int(text[4:6]))


def _brazil(text: str) -> bool:
    digits = digits_of(text)
    checks = [weighted(digits, range(last, 1, -1)) * 10 % 11 % 10 for last in (10, 11)]
    return len(set(digits)) > 1 and checks == [int(digits[9]), int(digits[10])]


def _india(text: str) -> bool:
    return verhoeff(digits_of(text))


def _netherlands(text: str) -> bool:
    digits = digits_of(text)
    return digits.strip("0") != "" and weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _sweden(text: str) -> bool:
    digits = digits_of(text)[-10:]
    day = int(digits[4:6])
    # Coordination numbers have 60 added to the day.
    return luhn(digits) and is_date(2000 + int(digits[:2]), int(digits[2:4]), day - 60 * (day > 60))  # noqa: PLR2004


def _canada(text: str) -> bool:
    digits = digits_of(text)
    return digits[0] not in "08" and luhn(digits)


def _korea(text: str) -> bool:
    digits = digits_of(text)
    century = 1900 if digits[6] in "1256" else 2000
    is_of_day = is_date(century + int(digits[:2]), int(digits[2:4]), int(digits[4:6]))
    # Numbers since October 2020 have no check digit.
    is_new = century + int(digits[:2]) >= 2020  # noqa: PLR2004 - a year
    check = (11 - weighted(digits, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11) % 10
    return is_of_day and (is_new or check == int(digits[12]))


def _japan(text: str) -> bool:
    digits = digits_of(text)
    remainder = weighted(digits, (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return (0 if remainder <= 1 else 11 - remainder) == int(digits[11])


def _is_bare(text: str) -> bool:
    return text.isdecimal()


def _detector(pattern: str, is_valid: Callable[[str], bool], *words: str) -> Detector:
    """A detector; with `words`, digits without separators only count after one of these words."""
    context = re.compile("|".join(words), re.IGNORECASE) if words else None
    # A match must not be part of a longer number.
    space = " " if "[- ]" in pattern else ""
    bounded = re.compile(
        rf"(?<![\w.,-])(?<!\d[{space}-])(?:{pattern})(?![\w]|[{space}.,-]\d)", re.IGNORECASE | re.ASCII
    )
    return Detector("national_id", bounded, (), is_valid, context, _is_bare)


NATIONAL_IDS: dict[str, Detector] = {
    "BR": _detector(r"\d{3}\.\d{3}\.\d{3}-\d{2}|\d{11}", _brazil, r"\bcpf\b"),
    "CA": _detector(r"\d{3}([- ]?)\d{3}\1\d{3}", _canada, r"\bsin\b", "social insurance"),
    "CN": _detector(r"[1-9]\d{5}(?:18|19|20)\d{9}[\dx]", _china),
    "DE": _detector(
        r"[1-9]\d( ?)\d{3}\1\d{3}\1\d{3}", _germany, "steuer", "identifikationsnummer", "tax id", r"\btin\b"
    ),
    "ES": _detector(r"\d{8}-?[a-z]|[xyz]-?\d{7}-?[a-z]", _spain),
    "FR": _detector(r"[1-37-8] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d{2}|2[ab]) ?\d{3} ?\d{3} ?\d{2}", _france),
    "GB": _detector(r"\d{3}([- ]?)\d{3}\1\d{4}", _great_britain, r"\bnhs\b", "national health"),
    "IN": _detector(r"[2-9]\d{3}([- ]?)\d{4}\1\d{4}", _india, "aadhaar", "aadhar", r"\buid(?:ai)?\b", "आधार"),
    "IT": _detector(r"[a-z]{6}[\dlmnp-v]{2}[abcdehlmprst][\dlmnp-v]{2}[a-z][\dlmnp-v]{3}[a-z]", _italy),
    "JP": _detector(r"\d{4}([- ]?)\d{4}\1\d{4}", _japan, "my ?number", "マイナンバー", "個人番号"),
    "KR": _detector(r"\d{6}-[1-8]\d{6}", _korea),
    "NL": _detector(r"\d{9}|\d{4}\.\d{2}\.\d{3}", _netherlands, r"\bbsn\b", "burgerservicenummer", "sofinummer"),
    "PL": _detector(r"\d{11}", _poland),
    "SE": _detector(r"(?:19|20)?\d{6}[-+]\d{4}", _sweden),
    "US": _detector(r"\d{3}-\d{2}-\d{4}", _united_states),
}
"""The detector of each country, by its ISO 3166 code."""
