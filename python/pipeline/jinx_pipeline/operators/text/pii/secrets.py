"""Secrets: keys in known forms, values after words such as `password`, JSON Web Tokens and PEM blocks.

The forms of keys are those that their issuers document for secret scanning.
"""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator

from jinx_pipeline.operators.text.pii.detector import Detector, Span

_PEM_BEGIN = "-----BEGIN "


class PemBlocks(Detector):
    """PEM blocks (RFC 7468), up to their end; a block that was cut off ends with its last line of base64."""

    def find(self, text: str) -> Iterator[Span]:
        place = text.find(_PEM_BEGIN)
        while place >= 0:
            match = self.pattern.match(text, place)
            stop = place + 1
            if match is not None:
                stop = match.end()
                end = f"-----END {match.group('label')}-----"
                closing = text.find(end, stop, stop + _LONGEST_PEM)
                stop = closing + len(end) if closing >= 0 else _after_base64(text, stop)
                yield Span(place, stop, self.kind)
            place = text.find(_PEM_BEGIN, stop)


_LONGEST_PEM = 100_000
# Line ends may be escaped as in JSON.
_BASE64_LINE = re.compile(r"(?:\r?\n|\\n)[A-Za-z0-9+/=]{1,100}(?=\r?\n|\\n|$)")


def _after_base64(text: str, place: int) -> int:
    while (match := _BASE64_LINE.match(text, place)) is not None:
        place = match.end()
    return place


PEM = PemBlocks("pem", re.compile(rf"{_PEM_BEGIN}(?P<label>[A-Z0-9 ]{{1,40}})-----"))


def _is_jwt(text: str) -> bool:
    """Whether the header is a JSON object."""
    header = text.partition(".")[0]
    try:
        return isinstance(json.loads(urlsafe_b64decode(header + "=" * (-len(header) % 4))), dict)
    except ValueError:
        return False


JWT = Detector(
    "jwt",
    re.compile(r"(?<![\w.-])eyJ[\w-]{5,}\.[\w-]{4,}(?:\.[\w-]*){1,3}", re.ASCII),
    ("eyJ",),
    _is_jwt,
)

_FORMS = (
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",  # Amazon
    r"AIza[\w-]{35}|ya29\.[\w-]{20,500}|GOCSPX-[\w-]{28}",  # Google
    r"gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_\w{22,251}",  # GitHub
    r"gl(?:pat|dt|rt|ptt)-[\w-]{20,64}",  # GitLab
    r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{10,250}",  # Slack
    r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/]{32,64}",  # Stripe
    r"sk-(?:ant-|proj-|svcacct-|admin-|or-v1-)?(?=[\w-]{0,200}\d)[\w-]{20,200}",  # model services
    r"hf_[A-Za-z0-9]{34}",  # Hugging Face
    r"npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,250}",  # registries
    r"SG\.[\w-]{22}\.[\w-]{43}|key-[0-9a-f]{32}",  # SendGrid, Mailgun
    r"(?:AC|SK)[0-9a-f]{32}",  # Twilio
    r"do[opr]_v1_[0-9a-f]{64}|dckr_pat_[\w-]{27}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",  # DigitalOcean, Docker, Shopify
    r"\d{8,10}:AA[\w-]{33}",  # Telegram
    r"LTAI[A-Za-z0-9]{12,24}|AKID[A-Za-z0-9]{13,40}",  # Alibaba Cloud, Tencent Cloud
)
KEY = Detector("secret", re.compile(rf"(?<![\w-])(?:{'|'.join(_FORMS)})(?![\w-])", re.ASCII))

AUTHORIZATION = Detector(
    "secret",
    re.compile(
        r"(?<!\w)(?:bearer|basic|token) (?P<value>(?=[^\s]{0,200}\d)[\w.~+/-]{16,2000}={0,2})", re.IGNORECASE | re.ASCII
    ),
)

PASSWORD_OF_URL = Detector(
    "secret",
    re.compile(r"(?<!\w)[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,100}:(?P<value>[^\s/@\"'<>]{1,200})@", re.IGNORECASE),
    ("://",),
)

_PASSWORDS = r"password|passwd|pwd|passphrase|pass_?phrase|密码|口令|passwort|contraseña|mot de passe|пароль"
_OTHER_NAMES = (
    r"api[_-]?key|api[_-]?token|api[_-]?secret|access[_-]?key(?:[_-]?id)?|access[_-]?token|auth[_-]?token"
    r"|authorization|auth|account[_-]?key|client[_-]?secret|credential|encryption[_-]?key|license[_-]?key"
    r"|private[_-]?key|refresh[_-]?token|secret[_-]?access[_-]?key|secret[_-]?key|secret|session[_-]?token"
    r"|signing[_-]?key|token"
)
_NOT_SECRETS = (
    "true false null none nil undefined required optional string str int bool bytes any self todo here changeme example"
    " redacted password secret token hidden empty missing invalid incorrect wrong expired not is was has"
)
# The colon may be full-width.
_VALUE = r"""\\?["']?\s{0,3}(?:=>|[:\uff1a=])\s{0,3}\\?["']?(?P<value>[^\s"',;}\]\\<>(){]{4,500})"""


def _is_no_placeholder(text: str) -> bool:
    plain = text.strip(".*-_`$%").lower()
    return (
        bool(plain) and plain not in _NOT_SECRETS.split() and not text.startswith(("$", "%", "[", "os.", "process.env"))
    )


def _is_random(text: str) -> bool:
    """Whether a value looks like a key, not like a word in a sentence: it has a digit, or is long."""
    return _is_no_placeholder(text) and (any(map(str.isdigit, text)) or len(text) >= _LONG)


_LONG = 20

PASSWORD = Detector(
    "secret",
    re.compile(rf"(?<![A-Za-z])(?:\w{{0,30}}[_-])?(?:{_PASSWORDS}){_VALUE}", re.IGNORECASE),
    (),
    _is_no_placeholder,
)
NAMED = Detector(
    "secret", re.compile(rf"(?<![A-Za-z])(?:\w{{0,30}}[_-])?(?:{_OTHER_NAMES}){_VALUE}", re.IGNORECASE), (), _is_random
)

SECRETS = (KEY, AUTHORIZATION, PASSWORD_OF_URL, PASSWORD, NAMED)
