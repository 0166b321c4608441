"""Error messages as text that can be stored: a user's exception may contain anything, and its `str` may fail."""

import re
import traceback
from typing import Final

_MESSAGE_CHARACTERS, _TRACE_CHARACTERS = 2000, 2000


def message_of(error: BaseException) -> str:
    """Type, message and notes of an exception; characters that UTF-8 cannot encode are written with a backslash."""
    try:
        message = "; ".join(map(str, [error, *getattr(error, "__notes__", [])]))
    except BaseException as str_error:  # noqa: BLE001 - a user's `__str__` may raise anything
        message = f"<no message: str() raised {type(str_error).__name__}>"
    return plain_text(f"{type(error).__name__}: {message}"[:_MESSAGE_CHARACTERS])


def trace_of(error: BaseException) -> str:
    """The end of the traceback of an exception."""
    return plain_text("".join(traceback.format_exception(error))[-_TRACE_CHARACTERS:])


# The user and password of a URL.
_PASSWORDS: Final = re.compile(r"(\w://)[^/@\s'\"]*:[^/@\s'\"]*@")


def plain_text(text: str) -> str:
    """Text that UTF-8 can encode, without the passwords of URLs: it is kept in logs and reports."""
    return _PASSWORDS.sub(r"\1...@", text.encode(errors="backslashreplace").decode())
