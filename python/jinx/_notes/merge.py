"""Datasets of annotated samples: notes as added columns."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jinx._dataset.identity import identity_of, require_identity
from jinx._notes.agreement import cohen_kappa, krippendorff_alpha, percent
from jinx._notes.journal import Note, NotesFile
from jinx.errors import InvalidError

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset

_PAIR = 2


def annotated(files: Sequence[NotesFile], dataset: "Dataset | None" = None) -> "Dataset":
    """The samples that anyone annotated, with their tags and notes as columns.

    One person's are `tags` and `note`. Those of several are `tags_NAME` and `note_NAME`, None where a person said
    nothing, and `agreed` says whether all who answered gave the same tags.

    Args:
        files: A file for each person.
        dataset: The dataset; by default the one that the files name.

    Raises:
        MismatchError: A file is for another dataset.
        InvalidError: Two files are of the same person.
    """
    from jinx._open import open

    names = [file.by for file in files]
    doubled = [name for name in names if names.count(name) > 1]
    if not files or doubled:
        raise InvalidError(f"two files are by {doubled[0]}" if doubled else "no file of notes was given")
    opened = dataset if dataset is not None else open(files[0].dataset)
    identity = identity_of(opened)
    for file in files:
        require_identity(file.identity, identity, file.path)
    given = [file.given for file in files]
    samples = sorted({sample for notes in given for sample in notes})
    columns: dict[str, list[Any]] = {}
    for name, notes in zip(names, given, strict=True):
        suffix = f"_{name}" if len(files) > 1 else ""
        found = [notes.get(sample) for sample in samples]
        columns[f"tags{suffix}"] = [None if note is None else list(note.tags) for note in found]
        columns[f"note{suffix}"] = [None if note is None else note.note for note in found]
    if len(files) > 1:
        answers = [_answers(given, sample) for sample in samples]
        columns["agreed"] = [len({answer for answer in unit if answer is not None}) == 1 for unit in answers]
    return opened.select(samples).with_columns(columns)


def agreement(files: Sequence[NotesFile]) -> dict[str, Any]:
    """How far the tags of several people agree, over the samples that more than one of them annotated."""
    given = [file.given for file in files]
    samples = sorted({sample for notes in given for sample in notes})
    units = [_answers(given, sample) for sample in samples]
    shared = [unit for unit in units if sum(answer is not None for answer in unit) > 1]
    kappa = None
    if len(files) == _PAIR:
        kappa = cohen_kappa([unit[0] for unit in units], [unit[1] for unit in units])
    return {
        "people": [file.by for file in files],
        "samples": len(samples),
        "shared": len(shared),
        "percent": percent(units),
        "cohen_kappa": kappa,
        "krippendorff_alpha": krippendorff_alpha(units),
    }


def _answers(given: Sequence[dict[int, Note]], sample: int) -> list[frozenset[str] | None]:
    """The tags that each person gave to a sample, in any order."""
    return [None if sample not in notes else frozenset(notes[sample].tags) for notes in given]


def person() -> str:
    """The name of the user of this process, for new files."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"user{os.getuid()}"
