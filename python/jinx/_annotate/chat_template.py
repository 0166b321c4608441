"""Renders conversations with the chat templates of Hugging Face tokenizers, and finds the assistant's text."""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinx import _core
from jinx._optional import require

Span = tuple[int, int]
# Template code that accepts content as a list of parts.
_LOOKS_AT_PARTS = re.compile(r"is string|is not string|\[['\"]type['\"]\]|\.type\b|is iterable")


@dataclass(frozen=True)
class Rendered:
    """A conversation as text, and which part of it is the assistant's.

    Attributes:
        text: The whole text.
        assistant: The spans of the assistant's text in characters, in order.
    """

    text: str
    assistant: list[Span]


class ChatTemplate:
    """A Jinja template in a sandbox, with the functions that templates of `transformers` use.

    If the template marks the text of the assistant (`{% generation %}`), the marks are used. Otherwise the text before
    each assistant message, with the generation prompt, must be a prefix of the text with that message.

    Args:
        source: The template.
        variables: Special tokens by name, `{"eos_token": "</s>"}`.
    """

    def __init__(self, source: str, variables: Mapping[str, str]) -> None:
        self.source = source
        self.variables = dict(variables)
        self.takes_parts = bool(_LOOKS_AT_PARTS.search(source))
        self._marks_assistant = "generation" in source and bool(re.search(r"\{%-?\s*generation\s*-?%\}", source))
        nonce = secrets.token_hex(8)
        self._begin = f"\ufdd0{nonce}["
        self._end = f"\ufdd0{nonce}]"
        self._template = _environment(self._begin, self._end).from_string(source)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.source, self.variables)

    @property
    def hash(self) -> str:
        """xxh3-128 of the template's text."""
        return _core.hash_bytes(self.source.encode())

    def render(self, messages: Sequence[Mapping[str, Any]]) -> Rendered:
        """The text of a conversation.

        Args:
            messages: Dicts with `role` and `content`.

        Raises:
            ValueError: The template refuses the conversation, or does not show which text is the assistant's.
        """
        text = self._run(messages, prompt=False)
        if self._marks_assistant:
            return self._without_marks(text)
        spans: list[Span] = []
        for i, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            before = self._run(messages[:i], prompt=True)
            until = text if i + 1 == len(messages) else self._run(messages[: i + 1], prompt=False)
            if not (text.startswith(before) and text.startswith(until)):
                raise ValueError(
                    f"the chat template writes the beginning of a conversation differently when message {i} follows; "
                    "put {% generation %} ... {% endgeneration %} around what the assistant says in the template"
                )
            spans.append((len(before), len(until)))
        return Rendered(text, spans)

    def _run(self, messages: Sequence[Mapping[str, Any]], *, prompt: bool) -> str:
        jinja: Any = require("jinja2", extra="tokenize", what="A chat template")
        try:
            return self._template.render(messages=list(messages), add_generation_prompt=prompt, **self.variables)
        except (jinja.TemplateError, TypeError) as error:
            raise ValueError(f"the chat template cannot write this conversation: {error}") from error

    def _without_marks(self, text: str) -> Rendered:
        spans: list[Span] = []
        pieces: list[str] = []
        length = 0
        for piece in text.split(self._begin):
            said, mark, after = piece.partition(self._end)
            if mark:
                spans.append((length, length + len(said)))
            pieces += [said, after]
            length += len(said) + len(after)
        return Rendered("".join(pieces), spans)


def _environment(begin: str, end: str) -> Any:
    jinja: Any = require("jinja2", extra="tokenize", what="A chat template")
    sandbox: Any = require("jinja2.sandbox", extra="tokenize", what="A chat template")
    extensions: Any = require("jinja2.ext", extra="tokenize", what="A chat template")
    nodes: Any = require("jinja2.nodes", extra="tokenize", what="A chat template")

    class Generation(extensions.Extension):
        """The Jinja extension for `{% generation %}`, which marks the assistant's part of the text."""

        tags = {"generation"}  # noqa: RUF012 - declared this way by jinja2

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return nodes.CallBlock(self.call_method("_marked"), [], [], body).set_lineno(line)

        def _marked(self, caller: Any) -> str:
            return f"{begin}{caller()}{end}"

    def refuse(message: str) -> None:
        raise jinja.TemplateError(message)

    def to_json(value: Any, indent: int | None = None, **_: Any) -> str:
        return json.dumps(value, ensure_ascii=False, indent=indent)

    def now(layout: str) -> str:
        from datetime import datetime

        return datetime.now().astimezone().strftime(layout)

    environment = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, extensions.loopcontrols]
    )
    environment.filters["tojson"] = to_json
    environment.globals.update(raise_exception=refuse, strftime_now=now)
    return environment
