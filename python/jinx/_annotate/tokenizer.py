"""Loads tokenizers from a path or an object, with the special tokens and the template in their directory."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from jinx import _core
from jinx._annotate.chat_template import ChatTemplate
from jinx._optional import require

# Tokens that stand for an image in known model families.
_IMAGE_TOKENS = ("<image>", "<|image_pad|>", "<|image|>", "<IMG_CONTEXT>", "<image_soft_token>", "[IMG]", "<img>")
_SPECIAL = ("bos_token", "eos_token", "pad_token", "unk_token")


class TextTokenizer:
    """A tokenizer with its hash, special tokens and chat template.

    Args:
        source: The path of a `tokenizer.json` or of the directory that holds it, a `tokenizers.Tokenizer`, or a fast
            tokenizer of `transformers`.

    Raises:
        FileNotFoundError: There is no tokenizer at the path.
        TypeError: `source` has another type.
        ValueError: The file does not hold a tokenizer.
    """

    def __init__(self, source: Any) -> None:
        library: Any = require("tokenizers", extra="tokenize", what="A tokenizer")
        self._config: dict[str, Any] = {}
        self._template: str | None = None
        backend = getattr(source, "backend_tokenizer", source)
        if isinstance(source, str | os.PathLike):
            file = _tokenizer_file(Path(os.fsdecode(cast("str", source))))
            backend = _read(library, file)
            self.name = _name(file)
            self.hash = _core.hash_file(str(file))
            self._read_directory(file.parent)
        elif isinstance(backend, library.Tokenizer):
            self.name = getattr(source, "name_or_path", "") or type(source).__name__
            self.hash = _core.hash_bytes(backend.to_str().encode())
            self._config = {name: getattr(source, name, None) for name in _SPECIAL}
            self._template = getattr(source, "chat_template", None)
        else:
            raise TypeError(
                f"tokenizer={type(source).__name__}: give the path of a tokenizer.json, a tokenizers.Tokenizer or a "
                "fast tokenizer of transformers; anything else is a function=, which returns the lengths itself"
            )
        self.backend: Any = backend

    def _read_directory(self, folder: Path) -> None:
        config, template = folder / "tokenizer_config.json", folder / "chat_template.jinja"
        if config.exists():
            self._config = json.loads(config.read_text("utf-8"))
        listed = self._config.get("chat_template")
        if isinstance(listed, list):  # several templates by name
            entries: list[dict[str, str]] = [*listed]
            listed = next((entry["template"] for entry in entries if entry.get("name") == "default"), None)
        self._template = template.read_text("utf-8") if template.exists() else listed

    @property
    def special_tokens(self) -> dict[str, str]:
        """The special tokens that the directory defines, such as `eos_token`."""
        tokens: dict[str, str] = {}
        for name in _SPECIAL:
            value = self._config.get(name)
            text = cast("Mapping[str, Any]", value).get("content") if isinstance(value, Mapping) else value
            if isinstance(text, str):
                tokens[name] = text
        return tokens

    @property
    def pad_id(self) -> int:
        """The id that pads a batch: the id of the padding token, otherwise of the end of text, otherwise 0."""
        tokens = self.special_tokens
        for name in ("pad_token", "eos_token"):
            token_id = self.backend.token_to_id(tokens[name]) if name in tokens else None
            if token_id is not None:
                return token_id
        return 0

    @property
    def vocabulary(self) -> int:
        """The number of ids, including added tokens."""
        return self.backend.get_vocab_size(with_added_tokens=True)

    def template(self, given: str | os.PathLike[str]) -> ChatTemplate | None:
        """The chat template in the given file; for `"auto"` that of the tokenizer, or None if it has none."""
        if given == "auto":
            return None if self._template is None else ChatTemplate(self._template, self.special_tokens)
        return ChatTemplate(Path(os.fsdecode(given)).read_text("utf-8"), self.special_tokens)

    def image_token(self, given: str | None) -> tuple[str, int] | None:
        """Text and id of the image token: the given one, or the first common one in the vocabulary.

        Raises:
            ValueError: The given token is not in the vocabulary.
        """
        for text in (given,) if given else _IMAGE_TOKENS:
            token_id = self.backend.token_to_id(text)
            if token_id is not None:
                return text, token_id
        if given:
            raise ValueError(f"the tokenizer {self.name} has no token {given!r}; name its image token")
        return None

    def encode(self, texts: Sequence[str], *, special: bool) -> list[Any]:
        """The encodings of texts, from several threads at once; `special` adds the tokens that surround a text."""
        return self.backend.encode_batch(list(texts), add_special_tokens=special)


def _name(file: Path) -> str:
    """The tokenizer's name in messages: that of its directory, or of a file not called `tokenizer.json`."""
    return file.parent.resolve().name if file.name == "tokenizer.json" else file.name


def _read(library: Any, file: Path) -> Any:
    try:
        return library.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises only this
        raise ValueError(f"{file}: this is not a tokenizer.json of the tokenizers library: {error}") from error


def _tokenizer_file(path: Path) -> Path:
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.exists():
        raise FileNotFoundError(f"{file}: no tokenizer here; give the path of a tokenizer.json or of its directory")
    return file
