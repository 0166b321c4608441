"""What people are asked about each sample: a question, and how they answer."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

from jinx.errors import InvalidError

KINDS = ("choices", "rating", "pair", "tags", "text")
_MOST_CHOICES = 64
_PAIR = 2


@dataclass(frozen=True)
class Form:
    """A form of `jinx view --form`, which `jinx-pipeline` writes for operators that ask people.

    Attributes:
        kind: `choices`: one of `choices`; `rating`: the same, where they are numbers; `pair`: one of `choices`, about
            the last two columns; `tags`: any of `choices`; `text`: free text.
        question: The question.
        choices: The answers to choose from.
        columns: The columns to show; empty: all.
    """

    kind: str
    question: str
    choices: tuple[str, ...]
    columns: tuple[str, ...]

    @classmethod
    def read(cls, path: str) -> Self:
        """Read a form.

        Raises:
            InvalidError: The file is not a form.
        """
        try:
            entry: Any = json.loads(Path(path).read_text("utf-8"))
            kind, question = str(entry["kind"]), entry.get("question", "")
            form = cls(kind, question, _strings(entry, "choices"), _strings(entry, "columns"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidError(f"{path} is not a form: {error}") from None
        if kind not in KINDS or not isinstance(question, str):
            raise InvalidError(f"{path} is not a form: kind is one of {', '.join(KINDS)}, and question is a string")
        if (not form.choices and form.kind != "text") or len(form.choices) > _MOST_CHOICES:
            raise InvalidError(f"{path} is not a form: it has 1 to {_MOST_CHOICES} choices")
        if form.kind == "pair" and len(form.columns) < _PAIR:
            raise InvalidError(f"{path} is not a form: a pair needs the names of its two columns")
        return form


def _strings(entry: Any, name: str) -> tuple[str, ...]:
    values: Any = entry.get(name) or []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in cast("list[Any]", values)):
        raise ValueError(f"{name} is not a list of strings")
    return tuple(cast("list[str]", values))
