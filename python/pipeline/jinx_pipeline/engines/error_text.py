"""What an error says, as text that can be kept: exceptions of users may hold anything, and may fail to say it."""

import traceback

_MESSAGE_CHARACTERS, _TRACE_CHARACTERS = 2000, 2000


def message_of(error: BaseException) -> str:
    """Type, message and notes of an exception; what UTF-8 cannot hold is written with a backslash."""
    try:
        said = str(error)
    except BaseException as another:  # noqa: BLE001 - whatever a user's `__str__` raises
        said = f"<its message cannot be told: {type(another).__name__}>"
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", []))
    return plain_text(f"{type(error).__name__}: {said}{notes}"[:_MESSAGE_CHARACTERS])


def trace_of(error: BaseException) -> str:
    """The last lines of its traceback."""
    return plain_text("".join(traceback.format_exception(error))[-_TRACE_CHARACTERS:])


def plain_text(text: str) -> str:
    """Text that UTF-8 can hold."""
    return text.encode(errors="backslashreplace").decode()
