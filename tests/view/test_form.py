"""`jinx view --form`: people answer the question of a form, in Chromium."""

import json
from pathlib import Path
from typing import Any

import pytest

import jinx
from jinx._dataset.identity import identity_of
from jinx._notes.form import Form
from jinx._notes.journal import Journal, Note, NotesFile
from jinx._viewer.app import Viewer
from jinx._viewer.server import ViewServer
from jinx._viewer.shown import ShownDataset
from view_data import until


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "a.jinx"
    with jinx.Writer(path) as writer:
        for i in range(5):
            writer.write({"prompt": f"prompt {i}", "one": f"the first {i}", "two": f"the second {i}", "secret": "s"})
    return path


def answered(page: Any, path: Path, form: Form, act: Any) -> dict[int, Note]:
    ds = jinx.open(path)
    journal = Journal(str(path.with_suffix(".notes")), dataset=str(path), identity=identity_of(ds), by="anna")
    start = {"columns": ",".join(form.columns)}
    server = ViewServer(Viewer([ShownDataset(ds, str(path))], start, notes=journal, form=form))
    thread = server.start()
    page.goto(server.url)
    try:
        act()
    finally:
        server.stop()
        thread.join(60)
        journal.close()
    return NotesFile.read(str(path.with_suffix(".notes"))).given


def test_a_preference_is_given_by_keys(page: Any, answers: Path) -> None:
    form = Form("pair", "Which is better?", ("left", "right", "tie"), ("prompt", "one", "two"))

    def at(sample: int) -> None:
        until(page, "n => document.querySelector('.sample-head .id')?.textContent === String(n)", sample)

    def act() -> None:
        at(0)
        page.wait_for_selector(".difference .side")
        assert page.locator(".question").inner_text() == "Which is better?"
        assert page.locator(".difference .side").all_inner_texts() == ["one\nthe first 0", "two\nthe second 0"]
        # Only what the question is about.
        assert page.locator(".sample-body").get_by_text("secret").count() == 0
        page.keyboard.press("1")
        at(1)
        page.get_by_role("button", name="tie").click()
        at(2)
        page.keyboard.press("2")
        at(3)
        # Back, and another answer in place of the first.
        page.keyboard.press("k")
        at(2)
        page.keyboard.press("3")
        at(3)
        page.keyboard.press("Escape")
        until(page, "() => document.querySelector('.answers')?.textContent === '3 of 5 answered'")

    given = {0: Note(("left",), ""), 1: Note(("tie",), ""), 2: Note(("tie",), "")}
    assert answered(page, answers, form, act) == given
    # Another session begins with the first sample that has no answer.
    assert answered(page, answers, form, lambda: at(3)) == given


def test_a_text_is_typed(page: Any, answers: Path) -> None:
    def act() -> None:
        page.get_by_label("Answer").fill("a description")
        page.keyboard.press("Tab")
        until(page, "() => document.querySelector('.notes [role=status]').textContent === 'saved'")

    given = answered(page, answers, Form("text", "What is it?", (), ()), act)
    assert given == {0: Note((), "a description")}


def test_forms_are_checked(tmp_path: Path, answers: Path) -> None:
    from jinx._cli.program import run

    path = tmp_path / "form.json"
    good = {"kind": "rating", "question": "How good?", "choices": ["1", "2"], "columns": ["one"]}
    path.write_text(json.dumps(good))
    assert Form.read(str(path)) == Form("rating", "How good?", ("1", "2"), ("one",))
    wrong: list[Any] = [{}, [], {**good, "kind": "x"}, {**good, "choices": []}, {**good, "choices": "ab"}]
    for value in (*wrong, {**good, "question": 5}, {**good, "kind": "pair"}):
        path.write_text(json.dumps(value))
        with pytest.raises(jinx.InvalidError, match="is not a form"):
            Form.read(str(path))
    assert run(["view", str(answers), "--form", str(path), "--no-open"]) == 2
