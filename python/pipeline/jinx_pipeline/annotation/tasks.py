"""The tasks of an operator that asks people: a dataset, its form, and the answers next to it.

tasks.jinx         the samples to answer, a saved view where they are rows of the input
form.json          what is asked about each
answers/           files with answers: notes of `jinx view --notes`, and exports of Label Studio (JSON, JSON_MIN)
label_studio.json  the project on a server, and how many tasks it has
told.json          the events that the webhook was told
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import jinx
from jinx._dataset.identity import identity_of, require_identity
from jinx._notes.journal import Note, NotesFile
from jinx.errors import MismatchError
from jinx_pipeline.operators.api.annotation import Annotation, Form, HumanAnswer
from jinx_pipeline.operators.join.column_conflict import ColumnTakenError
from jinx_pipeline.plan.source import OpenSource
from jinx_pipeline.publish.outputs import write_output
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.runlog.work_dir import publish_text
from jinx_pipeline.sample.paths import text_of

TASKS, FORM, ANSWERS = "tasks.jinx", "form.json", "answers"


class Tasks:
    """The tasks of one operator in a run.

    Args:
        folder: Their directory.
        operator: The operator.
        source: The samples.

    Raises:
        ColumnTakenError: The samples have a column for the answers already.
    """

    def __init__(self, folder: Path, operator: Annotation, source: OpenSource) -> None:
        self.folder = folder
        self.operator = operator
        if not (folder / TASKS).exists():
            _write(folder, operator.form, source)
        self.dataset = jinx.open(folder / TASKS)
        taken = {text_of((name,)) for name in self.dataset.column_names} & set(operator.writes)
        if taken:
            raise ColumnTakenError(operator.name, min(taken), "name another one for the answers")

    def __len__(self) -> int:
        return len(self.dataset)

    def answers(self) -> list[list[HumanAnswer]]:
        """The answers in files for each task: at most one per person, which is the last in a Label Studio export.

        Raises:
            MismatchError: A file of notes is about other samples, or answers another question.
            ValueError: A file has another form, or is no file of answers.
        """
        given: list[dict[str, HumanAnswer]] = [{} for _ in range(len(self))]
        identity = identity_of(self.dataset)
        for file in sorted((self.folder / ANSWERS).iterdir()):
            if file.name.startswith("."):
                continue
            if file.suffix == ".notes":
                notes = NotesFile.read(str(file))
                require_identity(notes.identity, identity, notes.path)
                self._refuse_other_question(notes)
                found = answers_of_notes(notes, self.operator.form)
            elif file.suffix == ".json":
                from jinx_pipeline.annotation.label_studio import answers_of_export

                found = answers_of_export(json.loads(file.read_text("utf-8")), self.operator.form)
            else:
                raise ValueError(f"{file}: files of answers end with .notes or .json; move this one elsewhere")
            add_answers(given, found)
        return [list(by_person.values()) for by_person in given]

    def _refuse_other_question(self, notes: NotesFile) -> None:
        """Refuse notes that were made over the tasks of another question about the same samples."""
        asked = Path(notes.dataset).parent.name
        is_of_tasks = asked.startswith(f"{self.operator.name}-")
        if is_of_tasks and asked != self.folder.name:
            raise MismatchError(f"{notes.path} answers another question: it was made over {notes.dataset}")


def add_answers(given: Sequence[dict[str, HumanAnswer]], found: Iterable[tuple[int, HumanAnswer]]) -> None:
    """Add answers to those for each task; a person's later answer replaces an earlier one."""
    for task, answer in found:
        if 0 <= task < len(given):
            given[task][answer.by] = answer


def answers_of_notes(notes: NotesFile, form: Form) -> Iterator[tuple[int, HumanAnswer]]:
    """The answers in a notes file, with their tasks; notes without an answer are ignored."""
    for task, note in notes.given.items():
        value = _value_of(note, form)
        if value is not None:
            yield task, HumanAnswer(notes.by, value)


def _value_of(note: Note, form: Form) -> str | int | list[str] | None:
    if form.kind == "text":
        return note.note or None
    known = [tag for tag in note.tags if tag in form.choices]
    if form.kind == "tags":
        return known
    if len(known) != 1:
        return None
    return int(known[0]) if form.kind == "rating" else known[0]


def _write(folder: Path, form: Form, source: OpenSource) -> None:
    """Write the tasks and the form; a directory with tasks is complete."""
    (folder / ANSWERS).mkdir(parents=True, exist_ok=True)
    publish_text(folder / FORM, json.dumps(form.to_dict(), ensure_ascii=False, indent=1) + "\n")
    hidden = folder / ".writing"
    shutil.rmtree(hidden, ignore_errors=True)
    hidden.mkdir()
    # A view copies no samples. Samples that operators made must be copied, because their parts are deleted with the
    # run.
    export = Export(str(folder / TASKS), kind="view" if source.source.base else "jinx")
    write_output(export, hidden, source, {"meta": {}})
    for file in sorted(hidden.iterdir(), key=lambda path: path.suffix == ".jinx"):
        os.replace(file, folder / file.name)  # noqa: PTH105 - the file with the samples is published last
    hidden.rmdir()
