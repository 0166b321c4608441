"""A file of notes: each change is a line that is on disk before it is acknowledged."""

import fcntl
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from jinx._dataset.identity import require_identity
from jinx.errors import CorruptFileError, InvalidError

_VERSION = 1
_KEY = "jinx_notes"
_BEGINNING = b'{"jinx_notes": '
MAX_TAGS = 64
MAX_TAG_CHARACTERS = 200
MAX_NOTE_CHARACTERS = 20_000


@dataclass(frozen=True)
class Note:
    """What a person said about a sample.

    Attributes:
        tags: Names, in the order in which they were given.
        note: A text; may be empty.
    """

    tags: tuple[str, ...] = ()
    note: str = ""

    @classmethod
    def parse(cls, value: Any) -> "Note":
        """The note in a request or a line of a file.

        Raises:
            InvalidError: It has another form, or is too long.
        """
        entry: Mapping[str, Any] = cast("Any", value) if isinstance(value, Mapping) else {}
        tags, note = entry.get("tags"), entry.get("note")
        if not isinstance(tags, list) or not isinstance(note, str):
            raise InvalidError("a note has tags, a list of strings, and note, a string")
        listed: list[Any] = [*tags]
        are_tags = all(isinstance(tag, str) and 0 < len(tag) <= MAX_TAG_CHARACTERS for tag in listed)
        if len(listed) > MAX_TAGS or not are_tags:
            raise InvalidError(f"tags are at most {MAX_TAGS} strings of 1 to {MAX_TAG_CHARACTERS} characters")
        if len(note) > MAX_NOTE_CHARACTERS:
            raise InvalidError(f"a note has at most {MAX_NOTE_CHARACTERS:,} characters")
        return cls(tuple(dict.fromkeys(listed)), note)

    def to_dict(self) -> dict[str, Any]:
        """The note as JSON stores it."""
        return {"tags": list(self.tags), "note": self.note}


@dataclass
class NotesFile:
    """The content of a file of notes.

    Attributes:
        path: The file.
        by: Who made them.
        dataset: The path of the dataset.
        identity: The identity of the dataset.
        notes: The notes by sample; an empty note was withdrawn.
    """

    path: str
    by: str
    dataset: str
    identity: dict[str, Any]
    notes: dict[int, Note] = field(default_factory=dict[int, Note])

    @classmethod
    def read(cls, path: str) -> "NotesFile":
        """Read a file. A last line that was not completely written, and so never acknowledged, does not count.

        Raises:
            CorruptFileError: It is not a file of notes, or a line is damaged.
        """
        return cls._parsed(path, Path(path).read_bytes())[0]

    @classmethod
    def _parsed(cls, path: str, data: bytes) -> tuple["NotesFile", int]:
        """The content of the file, and how many of its bytes are complete lines."""
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].splitlines()
        head = _object(lines[0]) if lines else None
        if head is None or head.get(_KEY) != _VERSION or not {"by", "dataset", "identity"} <= head.keys():
            raise _not_notes(path)
        file = cls(path, str(head["by"]), str(head["dataset"]), head["identity"])
        for number, line in enumerate(lines[1:], 2):
            entry = _object(line)
            sample = None if entry is None else entry.get("sample")
            if entry is None or type(sample) is not int or sample < 0:
                raise CorruptFileError(f"{path}: line {number} is not a note")
            try:
                file.notes[sample] = Note.parse(entry.get("set"))
            except InvalidError as error:
                raise CorruptFileError(f"{path}: line {number}: {error}") from None
        return file, whole

    @property
    def given(self) -> dict[int, Note]:
        """The notes that were not withdrawn, in the order of the samples."""
        return {sample: note for sample, note in sorted(self.notes.items()) if note != Note()}


class Journal:
    """A file of notes that is being written, by one process at a time.

    Args:
        path: The file; it is made if it does not exist.
        dataset: The path of the dataset, for a new file.
        identity: The identity of the dataset.
        by: Who makes the notes, for a new file.

    Raises:
        CorruptFileError: It is a file of another kind, which does not change, or a line is damaged.
        MismatchError: The notes are for another dataset.
        InvalidError: Another process writes the file.
    """

    def __init__(self, path: str, *, dataset: str, identity: dict[str, Any], by: str) -> None:
        self._lock = threading.Lock()
        self._file = Path(path).open("a+b")  # noqa: SIM115 - stays open as long as the journal
        try:
            self._begin(path, dataset, identity, by)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, path: str, dataset: str, identity: dict[str, Any], by: str) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidError(f"{path}: another viewer writes these notes; each person has a file") from None
        self._file.seek(0)
        data = self._file.read()
        if b"\n" in data:
            # Nothing is cut off from a file of another kind.
            self.content, whole = NotesFile._parsed(path, data)
            require_identity(self.content.identity, identity, path)
            self._file.truncate(whole)
            return
        # An incomplete first line is removed; anything else is another file.
        if data[: len(_BEGINNING)] != _BEGINNING[: len(data)]:
            raise _not_notes(path)
        self._file.truncate(0)
        head = {_KEY: _VERSION, "by": by, "dataset": dataset, "identity": identity}
        self._append(head)
        _sync_directory(path)
        self.content, _ = NotesFile._parsed(path, json.dumps(head).encode() + b"\n")

    def set(self, sample: int, note: Note) -> None:
        """Give a sample a note; it is on disk when this returns.

        Raises:
            OSError: It could not be written.
        """
        with self._lock:
            at = datetime.now(UTC).isoformat(timespec="seconds")
            self._append({"sample": sample, "at": at, "set": note.to_dict()})
            self.content.notes[sample] = note

    def _append(self, entry: dict[str, Any]) -> None:
        end = self._file.seek(0, os.SEEK_END)
        try:
            self._file.write(json.dumps(entry).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            # The next line would be appended to the incomplete one.
            os.ftruncate(self._file.fileno(), end)
            raise

    def close(self) -> None:
        """Let other processes write the file."""
        self._file.close()


def _not_notes(path: str) -> CorruptFileError:
    return CorruptFileError(f"{path} is not a file of notes; jinx view --notes writes one")


def _sync_directory(path: str) -> None:
    """Put the name of a new file on disk."""
    directory = os.open(Path(path).absolute().parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]
