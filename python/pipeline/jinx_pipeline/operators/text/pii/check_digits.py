"""Check digits of numbers, by the algorithms that several countries and schemes share."""

from collections.abc import Sequence
from datetime import date


def luhn(digits: str) -> bool:
    """Luhn's algorithm (ISO/IEC 7812): payment cards, and the numbers of Canada and Sweden."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (1 + place % 2)
        total += doubled - 9 * (doubled > 9)  # noqa: PLR2004 - minus 9 is the sum of its digits
    return total % 10 == 0


def mod_97(text: str) -> bool:
    """ISO 7064 MOD 97-10 over digits and letters, where A is 10: IBAN, after moving its first four characters."""
    return int("".join(str(int(character, 36)) for character in text)) % 97 == 1


def weighted(digits: str, weights: Sequence[int]) -> int:
    """The sum of the digits times their weights."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def mod_11_10(digits: str) -> bool:
    """ISO 7064 MOD 11,10 over digits: Germany's tax number."""
    product = 10
    for digit in digits[:-1]:
        total = (int(digit) + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == int(digits[-1])


def verhoeff(digits: str) -> bool:
    """Verhoeff's algorithm over the dihedral group of order 10: India's Aadhaar."""
    check = 0
    for place, digit in enumerate(reversed(digits)):
        check = _multiplied(check, _permuted(int(digit), place % 8))
    return check == 0


def _multiplied(first: int, second: int) -> int:
    """The product in the dihedral group: elements below 5 are rotations, the others are reflections."""
    rotation = first % 5 + second % 5 if first < 5 else first % 5 - second % 5  # noqa: PLR2004 - as above
    return rotation % 5 + 5 * ((first < 5) != (second < 5))  # noqa: PLR2004 - as above


_PERMUTATION = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def _permuted(digit: int, times: int) -> int:
    for _ in range(times):
        digit = _PERMUTATION[digit]
    return digit


def is_date(year: int, month: int, day: int) -> bool:
    """Whether this date exists."""
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
