"""A recipe on a few samples: what it shows, and that it leaves nothing behind."""

import sqlite3
from contextlib import closing

import pytest
import yaml

import jinx
from jinx_pipeline.cli.program import run
from jinx_pipeline.recipe.read import recipe_of
from jinx_pipeline.trial import run_trial
from make_media import images

TABLE = {"database": "meta.db", "table": "photos", "key": "id", "columns": {"id": "int"}}
RECIPE = {
    "nodes": {
        "photos": {"source": "in.jinx"},
        "blur": {"operators": [{"image_blur_mapper": {"p": 1.0, "save_dir": "blurred"}}]},
        "table": {"sink": TABLE},
        "all": {"sink": "all.jinx"},
        "listed": {
            "source": {"database": "meta.db", "query": "SELECT id FROM photos ORDER BY id", "columns": {"id": "int"}},
            "after": ["table"],
        },
        "few": {"sink": "few.jinx"},
    },
    "flows": [
        {"from": "photos", "to": "blur"},
        {"from": "blur", "to": "table"},
        {"from": "table", "to": "all"},
        {"from": "listed", "to": "few"},
    ],
    "workers": 1,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with jinx.Writer("in.jinx") as writer:
        writer.write_many({"id": n, "text": "w " * n, "images": [images.png(16, 16, n)]} for n in range(10))
    return tmp_path


def test_neither_tables_nor_stores_are_written(folder):
    with closing(sqlite3.connect("meta.db")) as connection, connection:
        connection.execute("CREATE TABLE photos (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO photos VALUES (77)")
    before = sorted(folder.iterdir())
    result = run_trial(recipe_of(RECIPE), 4, 3)
    assert result.ok
    # A source that waits for the table selects what the trial has written to its own.
    assert [output.rows for output in result.outputs] == [4, 4]
    assert sorted(folder.iterdir()) == before
    with closing(sqlite3.connect("meta.db")) as connection:
        assert connection.execute("SELECT id FROM photos").fetchall() == [(77,)]


def test_as_many_examples_as_are_asked_for(folder, capsys):
    recipe = {"dataset": "in.jinx", "process": [{"words_num_filter": {"min_num": 8}}], "export": "out.jinx"}
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    for words, shown in (([], 3), (["--trace", "6"], 6), (["--trace", "0"], 0)):
        assert run(["run", "recipe.yaml", "--limit", "10", *words]) == 0
        assert capsys.readouterr().out.count("dropped ") == shown


@pytest.mark.parametrize(
    "words",
    [["--report", "r.html"], ["--metrics", "m.prom"], ["--from-stats", "s.jinx"], ["--append"], ["--restart"]],
)
def test_options_that_keep_something_are_refused(folder, capsys, words):
    (folder / "recipe.yaml").write_text(yaml.safe_dump({"dataset": "in.jinx", "process": [], "export": "out"}))
    assert run(["run", "recipe.yaml", "--limit", "3", *words]) == 2
    assert f"keeps nothing; leave out {words[0]}" in capsys.readouterr().err
