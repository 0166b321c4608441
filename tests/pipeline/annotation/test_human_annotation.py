"""Operators that ask people: the run ends with tasks, and goes on with the answers."""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

import jinx
import jinx_pipeline as jp
from jinx._dataset.identity import identity_of
from jinx._notes.journal import Journal, Note
from jinx.errors import MismatchError
from jinx_pipeline.annotation.wait import WaitingError
from jinx_pipeline.cli.program import run as command
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.operators.api.annotation import Form, HumanAnswer
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.human.human_annotation_mapper import have_agreed, most_common
from jinx_pipeline.recipe.read import recipe_of
from jinx_pipeline.trial import run_trial

QUESTION = {"question": "Is it good?", "choices": ["good", "bad"]}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "in.jinx"
    with jinx.Writer(path, sidecar=True) as writer:
        for i in range(12):
            sample = {
                "n": i,
                "half": i // 2,
                "text": f"text {i}",
                "prompt": f"p{i}",
                "answer1": f"a{i}",
                "answer2": f"b{i}",
            }
            writer.write({**sample, "image": bytes([i]) * 3000})
    return path


def chain(data: Path, *steps: Any) -> Dataset:
    return Dataset.load(str(data)).process([jp.create("text_length_filter", min_len=6), *steps])


def waiting(run: Any) -> WaitingError:
    with pytest.raises(WaitingError) as caught:
        run()
    return caught.value


def answer(folder: Path, by: str, answers: dict[int, Note], dataset: Path | None = None) -> None:
    tasks = jinx.open(folder / "tasks.jinx")
    path = folder / "answers" / f"{by}.notes"
    journal = Journal(str(path), dataset=str(dataset or folder), identity=identity_of(tasks), by=by)
    for task, note in answers.items():
        journal.set(task, note)
    journal.close()


def everyone(answers: list[str]) -> dict[int, Note]:
    return {task: Note((tag,), "") for task, tag in enumerate(answers)}


def test_a_run_ends_until_people_have_answered(data: Path, tmp_path: Path, capsys: Any) -> None:
    out, recipe = tmp_path / "out.jinx", tmp_path / "recipe.yaml"
    recipe.write_text(f"dataset: {data}\nprocess:\n  - human_annotation: {json.dumps(QUESTION)}\nexport: {out}\n")
    assert command(["run", str(recipe), "--progress", "none", "--workers", "1"]) == 3
    assert not out.exists()
    (folder,) = (tmp_path / "out.jinx.work" / "annotation").iterdir()
    told = capsys.readouterr().err
    assert "waits for 12 answers: jinx view" in told
    assert f"--form {folder}/form.json --notes {folder}/answers/NAME.notes" in told
    tasks = jinx.open(folder / "tasks.jinx")
    assert tasks["n"].tolist() == list(range(12))
    # A view: the samples are not copied.
    assert tasks.info().bases[0].path == str(data)
    assert json.loads((folder / "form.json").read_text())["choices"] == ["good", "bad"]
    answer(folder, "anna", {2: Note(("bad",), ""), 3: Note(("none of them",), "")})
    assert command(["resume", str(recipe), "--progress", "none", "--wait", "1s"]) == 3
    assert "waits for 11 answers" in capsys.readouterr().err
    assert command(["resume", str(recipe), "--progress", "none", "--accept-missing"]) == 0
    assert jinx.open(out)["answer"] == [None, None, "bad", *[None] * 9]
    assert "1 answered, 11 unanswered" in capsys.readouterr().out


def test_several_people_answer_several_questions(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jinx"
    is_good = jp.create("human_annotation_mapper", overlap=3, **QUESTION)
    asked = chain(data, is_good, jp.create("human_preference_annotation_mapper"))
    run = lambda: asked.export(out, workers=1)  # noqa: E731
    error = waiting(run)
    assert (error.operator, error.waiting) == ("human_annotation_mapper", 36)
    third = ["good", "bad", "bad"] * 4
    for by, answers in (("anna", ["good"] * 12), ("ben", ["good", "bad"] * 6), ("carl", third)):
        answer(error.folder, by, everyone(answers))
    error = waiting(run)
    assert (error.operator, error.waiting) == ("human_preference_annotation_mapper", 12)
    assert jinx.open(error.folder / "tasks.jinx")[0]["answer"] == "good"
    assert json.loads((error.folder / "form.json").read_text())["columns"] == ["prompt", "answer1", "answer2"]
    answer(error.folder, "anna", everyone(["left", "right", "tie"] * 4))
    run()
    ds = jinx.open(out)
    votes = zip(["good", "bad"] * 6, third, strict=True)
    assert ds["answer"] == ["good" if "good" in two else "bad" for two in votes]
    assert dict(ds[1]["answer_by"]) == {"anna": "good", "ben": "bad", "carl": "bad"}
    assert ds["answer_agreed"].tolist()[:3] == [True, False, False]
    assert [(s["chosen"], s["rejected"]) for s in ds.to_list()[:3]] == [("a0", "b0"), ("b1", "a1"), (None, None)]
    assert ds[3]["image"] == b"\3" * 3000


def test_answers_about_made_samples_outlive_a_run_that_is_started_over(data: Path, tmp_path: Path) -> None:
    groups = jp.create("key_value_grouper", group_by_keys=["half"])
    asked = chain(data, groups, jp.create("human_annotation_mapper", answer="rating", stars=3))
    run = lambda **options: asked.export(tmp_path / "out", workers=1, **options)  # noqa: E731
    folder = waiting(run).folder
    tasks = jinx.open(folder / "tasks.jinx")
    assert len(tasks) == 6
    # They are no rows of the input, so the tasks hold copies.
    assert not tasks.info().bases
    assert not [name for name in tasks.column_names if name.startswith("__jinx")]
    foreign = folder / "answers" / "x.notes"
    Journal(str(foreign), dataset="x", identity=identity_of(jinx.open(data)[:5]), by="x").close()
    with pytest.raises(jinx.MismatchError, match="is for 5 samples"):
        run()
    foreign.unlink()
    answer(folder, "anna", everyone(["1", "2", "3"] * 2))
    run(restart=True)
    assert jinx.open(tmp_path / "out")["answer"].tolist() == [1, 2, 3] * 2


def test_a_column_of_the_samples_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "qa.jinx"
    with jinx.Writer(path) as writer:
        writer.write({"text": "What is it?", "answer": "A bird."})
    asked = Dataset.load(str(path)).process(jp.create("human_annotation_mapper", **QUESTION))
    with pytest.raises(ValueError, match="adds the column 'answer', which the samples have; name another one"):
        asked.export(tmp_path / "out.jinx", workers=1)
    named = Dataset.load(str(path)).process(jp.create("human_annotation_mapper", result="verdict", **QUESTION))
    waiting(lambda: named.export(tmp_path / "named.jinx", workers=1))


def test_answers_to_another_question_are_refused(data: Path, tmp_path: Path) -> None:
    run = lambda asked: Dataset.load(str(data)).process(asked).export(tmp_path / "out.jinx", workers=1, restart=True)  # noqa: E731
    first = waiting(lambda: run(jp.create("human_annotation_mapper", **QUESTION)))
    other = jp.create("human_annotation_mapper", question="Is it bad?", choices=QUESTION["choices"])
    second = waiting(lambda: run(other))
    tasks = first.folder / "tasks.jinx"
    answer(first.folder, "anna", everyone(["good"] * 12), dataset=tasks)
    shutil.copy(first.folder / "answers" / "anna.notes", second.folder / "answers")
    with pytest.raises(MismatchError, match=r"answers another question: it was made over .*tasks.jinx"):
        run(other)


def test_a_file_that_is_none_of_answers_is_named(data: Path, tmp_path: Path) -> None:
    run = lambda: chain(data, jp.create("human_annotation_mapper", **QUESTION)).export(tmp_path / "out.jinx", workers=1)  # noqa: E731
    error = waiting(run)
    (error.folder / "answers" / "export.csv").write_text("answer\ngood\n")
    with pytest.raises(ValueError, match=r"export.csv: files of answers end with .notes or .json"):
        run()


def test_the_most_common_answer() -> None:
    given = lambda *values: [HumanAnswer(str(i), value) for i, value in enumerate(values)]  # noqa: E731
    assert most_common(given()) is None
    assert most_common(given("a", "b")) is None
    assert most_common(given("a", "b", "b")) == "b"
    assert most_common(given(["x", "y"], ["y", "x"], ["x"])) == ["x", "y"]
    assert have_agreed(given()) is None
    assert have_agreed(given(["x", "y"], ["y", "x"])) is True
    assert have_agreed(given(1, 2)) is False


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("human_annotation_mapper", {}, "at least two different choices"),
        ("human_annotation_mapper", {"choices": ["a", "b", "a"]}, "are different strings"),
        ("human_annotation_mapper", {"answer": "text", "choices": ["a", "b"]}, "a text has no choices"),
        ("human_annotation_mapper", {"answer": "text", "label_studio": "localhost"}, "is the URL of a server"),
        ("human_annotation_mapper", {"answer": "text", "webhook": "slack"}, "a URL or env:NAME"),
        ("human_annotation_mapper", {"answer": "text", "webhook": "env:NO_SUCH_HOOK"}, "NO_SUCH_HOOK is not set"),
        ("human_preference_annotation_mapper", {"answer1_key": "answer2"}, "are the same column"),
        ("human_preference_annotation_mapper", {"chosen_key": "rejected"}, "are the same column"),
    ],
)
def test_wrong_parameters_are_refused(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        jp.create(name, **parameters)


def test_a_trial_asks_no_one(data: Path, tmp_path: Path) -> None:
    # Nobody listens there: a trial that asked would fail.
    nowhere = {"label_studio": "http://127.0.0.1:9", "webhook": "http://127.0.0.1:9/hook"}
    step = {"human_annotation_mapper": {**QUESTION, **nowhere}}
    recipe = {"dataset": str(data), "process": [step], "export": str(tmp_path / "out.jinx"), "workers": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run_trial(recipe_of(recipe), 5, 1)
    assert result.rows_out == 5
    assert not result.bad_rows


def test_outside_a_run_no_one_can_be_asked() -> None:
    with pytest.raises(TypeError, match="only a run can wait"):
        jp.create("human_annotation_mapper", answer="text")([{"a": 1}])
    assert jp.create("human_annotation_mapper", answer="rating").form == Form("rating", "", tuple("12345"), ())
