"""Addresses of mail, networks and files."""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from jinx_pipeline.operators.text.pii.detector import Detector

# In a URL, the part before an @ and the host is not an email address.
EMAIL = Detector(
    "email",
    re.compile(
        r"://[^\s/@]{1,300}@|(?<![\w.+%-])(?P<value>\w[\w.+%'-]{0,63}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}(?:[^\W\d_]{2,24}|xn--[\w-]{2,59}))(?![\w-])"
    ),
    ("@",),
)

URL = Detector("url", re.compile(r"""https?://[^\s"'<>]{1,4000}""", re.IGNORECASE), ("://",))


def _is_ipv4(text: str) -> bool:
    try:
        address = IPv4Address(text)
    except AddressValueError:
        return False
    # Addresses that every machine has are not personal.
    return not (address.is_loopback or address.is_unspecified or str(address) == "255.255.255.255")


def _is_ipv6(text: str) -> bool:
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return False
    # `face::add` is more often a C++ name than an address.
    is_name = text.count(":") == 2 and not any(map(str.isdigit, text))  # noqa: PLR2004 - explained above
    return not (address.is_loopback or address.is_unspecified or is_name)


IPV4 = Detector("ip", re.compile(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)", re.ASCII), (), _is_ipv4)
IPV6 = Detector(
    "ip",
    re.compile(
        r"(?<![\w.:])(?=[0-9A-Fa-f:.]{0,40}:[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{2,39}(?:\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])",
        re.ASCII,
    ),
    (":",),
    _is_ipv6,
)
MAC = Detector(
    "mac",
    re.compile(
        r"(?<![\w:.-])(?:[0-9A-F]{2}([:-])(?:[0-9A-F]{2}\1){4}[0-9A-F]{2}|[0-9A-F]{4}\.[0-9A-F]{4}\.[0-9A-F]{4})(?![\w:.-])",
        re.IGNORECASE | re.ASCII,
    ),
)

_TOP = "Users?|home|root|tmp|etc|var|opt|usr|mnt|media|srv|data|private|Applications|Library|Volumes"
_END = r"""(?<![.,;:!?])"""
PATHS = (
    Detector("path", re.compile(rf"""(?<![\w/.~-])/(?:{_TOP})(?:/[^\s"')\]<>|]{{0,1000}}|(?![\w-])){_END}"""), ("/",)),
    Detector("path", re.compile(rf"""(?<![\w/.~-])~[\w-]{{0,32}}/[^\s"')\]<>|]{{1,1000}}{_END}"""), ("~",)),
    Detector("path", re.compile(rf"""(?<![\w])[A-Za-z]:\\(?:[^\s"')\]<>|:*?]{{0,1000}}){_END}"""), (":\\",)),
    Detector("path", re.compile(rf"""(?<![\w\\:])\\\\[\w.-]{{1,255}}\\[^\s"')\]<>|]{{1,1000}}{_END}"""), ("\\\\",)),
)
