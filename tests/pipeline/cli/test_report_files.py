"""Reports, counts and pictures replace earlier ones of theirs, and nothing else."""

import json
import os

import pytest

import jinx
from jinx_pipeline.cli.program import run
from pipeline.made import write_input

OURS = {
    "report": (["run", "r.yaml", "--report"], "x.html"),
    "metrics": (["run", "r.yaml", "--metrics"], "x.prom"),
    "analysis": (["analyze", "r.yaml", "--report"], "x.html"),
    "svg": (["plan", "r.yaml", "--graph"], "x.svg"),
    "mermaid": (["plan", "r.yaml", "--graph"], "x.mmd"),
}
commands = pytest.mark.parametrize(("words", "name"), OURS.values(), ids=OURS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    write_input(tmp_path / "in" / "a.jinx", 20)
    (tmp_path / "words.txt").write_text("badword\n")
    (tmp_path / "code.py").write_text("")
    recipe = {
        "dataset": "in",
        "process": ["text_length_filter"],
        "export": "out.jinx",
        "workers": 1,
        "custom_operators": ["code.py"],
    }
    (tmp_path / "r.yaml").write_text(json.dumps(recipe))
    return tmp_path


@commands
def test_an_earlier_one_is_replaced_also_behind_a_link(folder, words, name):
    (folder / "kept").mkdir()
    (folder / name).symlink_to(folder / "kept" / name)
    for _ in range(2):
        assert run([*words, name]) == 0
        assert (folder / name).is_symlink()
        assert (folder / "kept" / name).stat().st_size > 100
    (folder / "kept" / name).write_text("")  # as `mktemp` makes it
    assert run([*words, name]) == 0
    assert (folder / "kept" / name).stat().st_size > 100


@commands
def test_a_file_of_the_user_is_kept(folder, capsys, words, name):
    page = "<!doctype html>\n<html><head></head><body>mine</body></html>\n"
    (folder / name).write_text(page)
    assert run([*words, name]) == 2
    assert f"{name} exists, and jinx-pipeline did not make it; remove it, or choose" in capsys.readouterr().err
    assert (folder / name).read_text() == page
    assert not (folder / "out.jinx").exists()
    if words[0] == "run":
        assert run([*words, name, "--overwrite"]) == 0
        assert (folder / name).read_text() != page


@pytest.mark.parametrize("option", ["--report", "--metrics"])
@pytest.mark.parametrize("more", [[], ["--overwrite"]])
def test_what_the_run_reads_and_writes_is_kept(folder, capsys, option, more):
    before = jinx.open("in").to_list()
    text = {name: (folder / name).read_text() for name in ("r.yaml", "code.py")}
    places = ["in/a.jinx", "in/a.binx", "in/new.jsonl", "r.yaml", "code.py", "out.jinx", "out.binx", "out.jinx.work/x"]
    for place in [*places, ".", "in", "new/", "", "in.html/x"]:
        assert run(["run", "r.yaml", option, place, *more]) == 2, place
        assert capsys.readouterr().err.count("\n") == 1
    assert jinx.open("in").to_list() == before
    assert {name: (folder / name).read_text() for name in text} == text
    assert not (folder / "out.jinx").exists()
    assert not list(folder.parent.glob(".*.tmp"))
    assert run(["run", "r.yaml", "--report", "x", "--metrics", "./x", *more]) == 2
    assert "x is named twice" in capsys.readouterr().err


@commands
@pytest.mark.parametrize("is_linked", [False, True])
def test_pipes_and_devices_are_never_replaced(folder, capsys, words, name, is_linked):
    os.mkfifo(folder / f"pipe{name[1:]}" if is_linked else folder / name)
    if is_linked:
        (folder / name).symlink_to(f"pipe{name[1:]}")
    for more in ([], ["--overwrite"]) if words[0] == "run" else ([],):
        assert run([*words, name, *more]) == 2
        assert f"{name}: this is not a regular file, and is never replaced" in capsys.readouterr().err
    assert (folder / name).is_fifo()


@pytest.mark.parametrize("name", ["pipe.jinx", "pipe", "pipe.jsonl", "pipe.parquet"])
def test_an_output_never_replaces_a_pipe(folder, capsys, name):
    os.mkfifo(folder / name)
    assert run(["run", "r.yaml", "--out", name, "--overwrite"]) == 2
    assert "is not a regular file, and is never replaced" in capsys.readouterr().err
    assert (folder / name).is_fifo()
