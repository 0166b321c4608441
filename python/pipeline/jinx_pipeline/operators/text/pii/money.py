"""Payment cards and bank accounts."""

import re
from collections.abc import Iterator

from jinx_pipeline.operators.text.pii.check_digits import luhn, mod_97
from jinx_pipeline.operators.text.pii.detector import Detector, Span, digits_of

# The first digits of each card issuer's numbers (ISO/IEC 7812), with the lengths of the numbers.
_ISSUERS = (
    (re.compile(r"4"), (13, 16, 19)),  # Visa
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),  # Mastercard
    (re.compile(r"3[47]"), (15,)),  # American Express
    (re.compile(r"6011|65|64[4-9]"), (16, 17, 18, 19)),  # Discover
    (re.compile(r"352[89]|35[3-8]"), (16, 17, 18, 19)),  # JCB
    (re.compile(r"30[0-5]|36|3[89]"), (14, 16)),  # Diners Club
    (re.compile(r"62|81"), (16, 17, 18, 19)),  # UnionPay
    (re.compile(r"50|5[6-8]|6[37]"), (16, 17, 18, 19)),  # Maestro
)


def _is_card(text: str) -> bool:
    digits = digits_of(text)
    is_issued = any(prefix.match(digits) and len(digits) in lengths for prefix, lengths in _ISSUERS)
    return is_issued and len(set(digits)) > 1 and luhn(digits)


CARD = Detector(
    "card",
    re.compile(r"(?<![\w.,-])\d{4}([ -]?)\d{4,6}\1\d{1,5}(?:\1\d{1,4}){0,2}(?![\w]|[.,-]\d)", re.ASCII),
    (),
    _is_card,
)

# The lengths of IBANs by country (SWIFT's registry).
_LENGTHS_OF_COUNTRIES = (
    "AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BR:29 BY:28 CH:21 CR:22 CY:28 CZ:24 DE:22 DK:18 DO:28"
    " EE:20 EG:29 ES:24 FI:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 GR:27 GT:28 HR:21 HU:28 IE:22 IL:23 IQ:23 IS:26"
    " IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32 LI:21 LT:20 LU:20 LV:21 LY:25 MC:27 MD:24 ME:22 MK:19 MR:27 MT:31 MU:30"
    " NL:18 NO:15 PK:24 PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 SA:24 SC:31 SE:24 SI:19 SK:24 SM:27 ST:25 SV:28 TL:23"
    " TN:24 TR:26 UA:29 VA:22 VG:24 XK:20"
)
_LENGTHS = {entry[:2]: int(entry[3:]) for entry in _LENGTHS_OF_COUNTRIES.split()}


def _is_iban(text: str) -> bool:
    number = re.sub("[ -]", "", text).upper()
    return _LENGTHS.get(number[:2]) == len(number) and mod_97(number[4:] + number[:4])


class Ibans(Detector):
    """Account numbers; a following word that looks like another group of the number is left out."""

    def find(self, text: str) -> Iterator[Span]:
        for match in self.pattern.finditer(text):
            groups = match.group()
            while groups and not self.is_valid(groups):
                groups = groups.rpartition(" ")[0]
            if groups:
                yield Span(match.start(), match.start() + len(groups), self.kind)


IBAN = Ibans(
    "iban",
    re.compile(r"(?<![\w-])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![\w])", re.ASCII),
    (),
    _is_iban,
)
