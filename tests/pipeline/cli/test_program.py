"""The command line, run as users run it."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import jinx
from jinx._cli.command_line import one_line
from jinx_pipeline.cli.program import COMMANDS, run
from jinx_pipeline.opened_run import OpenedRun
from pipeline.made import rows_of, write_input, write_operators


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_input(tmp_path / "in.jinx", 200)
    write_operators(tmp_path)
    return tmp_path


def recipe(folder: Path, process: list, **more) -> str:
    data = {"dataset": "in.jinx", "process": process, "export": "out.jinx", "workers": 2, **more}
    (folder / "recipe.yaml").write_text(yaml.safe_dump(data))
    return "recipe.yaml"


def apart(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: operators of files stay in the process that loaded them."""
    root = Path(jinx.__file__).parents[1]
    environment = {"PYTHONPATH": f"{root}:{root / 'pipeline'}", "PATH": "/usr/bin:/bin", **more}
    return subprocess.run(
        [sys.executable, "-m", "jinx_pipeline", *words], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_two_examples(command, capsys):
    assert run([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.count(f"jinx-pipeline {command}") >= 2 or text.count("jinx-pipeline") >= 3


def test_run_writes_the_output_and_says_what_it_did(folder, capsys):
    path = recipe(folder, [{"text_length_filter": {"max_len": 60}}])
    assert run(["run", path]) == 0
    out = capsys.readouterr()
    assert "text_length_filter" in out.out
    expected = [row["n"] for row in rows_of(folder / "in.jinx") if len(row["text"]) <= 60]
    assert f"out.jinx: {len(expected)} of 200 samples" in out.err
    assert [row["n"] for row in rows_of(folder / "out.jinx")] == expected
    assert run(["run", path]) == 0
    assert "resumed" in capsys.readouterr().err


def test_standard_output_has_the_result_alone(folder, capsys, monkeypatch):
    finish = OpenedRun._execute

    def noisy(*arguments):
        sys.stdout.write("(raylet) a node has died\n")  # as Ray does
        return finish(*arguments)

    monkeypatch.setattr(OpenedRun, "_execute", noisy)
    assert run(["run", recipe(folder, ["clean_links_mapper"]), "--json"]) == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["rows_out"] == 200
    assert "a node has died" in out.err


def test_a_bad_row_gives_exit_code_one_and_can_be_replayed(folder):
    path = recipe(folder, [{"fragile_mapper": {"raises": [5]}}], custom_operators=["wrong.py"])
    done = apart("run", path)
    assert done.returncode == 1
    assert "row 5: fragile_mapper: ValueError: this row is bad" in done.stderr
    assert done.stderr.endswith("quarantine.jsonl; to exit with 0 nevertheless: --max-bad-rows 1\n")
    record = json.loads((folder / "out.jinx.work" / "quarantine.jsonl").read_text())
    assert (record["row"], record["operator"]) == (5, "fragile_mapper")
    assert apart("run", path, "--max-bad-rows", "1").returncode == 0
    # Repaired: the file of operators no longer raises.
    (folder / "wrong.py").write_text((folder / "wrong.py").read_text().replace("raise ValueError", "print"))
    again = apart("replay", "out.jinx.work", "rest.jinx")
    assert again.returncode == 0, again.stderr
    assert [row["n"] for row in rows_of(folder / "rest.jinx")] == [5]


def test_resume_takes_the_working_directory(folder, capsys):
    path = recipe(folder, ["clean_links_mapper"])
    assert run(["run", path]) == 0
    assert run(["resume", "out.jinx.work"]) == 0
    assert "resumed" in capsys.readouterr().err
    assert run(["resume", "nothing.yaml"]) == 2


def test_a_trial_shows_what_is_dropped_and_writes_nothing(folder, capsys):
    path = recipe(folder, [{"text_length_filter": {"max_len": 60}}, "clean_links_mapper"])
    before = sorted(folder.iterdir())
    assert run(["run", path, "--limit", "50"]) == 0
    text = capsys.readouterr().out
    assert "50 samples chosen with seed 0" in text
    assert text.count("dropped ") == 3
    assert "->" in text
    assert sorted(folder.iterdir()) == before


def test_plan_writes_nothing_and_refuses_what_cannot_run(folder, capsys):
    path = recipe(folder, [{"text_length_filter": {"max_len": 60}}])
    before = sorted(folder.iterdir())
    assert run(["plan", path]) == 0
    assert "text_length_filter" in capsys.readouterr().out
    assert run(["plan", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 200
    assert sorted(folder.iterdir()) == before
    recipe(folder, ["text_length_filter"], dataset={"path": "in.jinx", "text": "txt"})
    assert run(["plan", path]) == 2
    assert "reads the column 'txt', which the input does not have; did you mean 'text'?" in capsys.readouterr().err


def test_files_that_operators_need_are_listed_and_missing_ones_refused(folder, capsys):
    (folder / "words").mkdir()
    (folder / "words" / "stopwords.en.txt").write_text("the\n")
    path = recipe(folder, [{"stopwords_filter": {"stopwords_dir": "words"}}])
    assert run(["plan", path]) == 0
    assert "reads      stopwords_filter.stopwords_dir: words\n" in capsys.readouterr().out
    missing = [
        {"perplexity_filter": {"model": "no.arpa", "tokenizer": "words"}},
        "token_num_filter",
        {"image_text_similarity_filter": {"hf_clip": "no/clip"}},
        {"decontaminate_deduplicator": {"evaluation_paths": ["in.jinx", "no.jsonl"]}},
    ]
    # Nothing is converted for a recipe that cannot run.
    (folder / "in.jsonl").write_text('{"text": "a"}\n')
    path = recipe(folder, missing, dataset="in.jsonl")
    for command in ("plan", "run"):
        assert run([command, path]) == 2
        said = capsys.readouterr().err
        assert (
            "process[0].perplexity_filter.model: perplexity_filter needs model: no.arpa, which does not exist" in said
        )
        for name in ("tokenizer: words", "hf_tokenizer: EleutherAI", "hf_clip: no/clip", "evaluation_paths: no.jsonl"):
            assert f"needs {name}" in said
        assert "in.jinx" not in said
    assert not list(folder.glob("out.jinx.work/inputs/*"))


def test_a_validator_fails_before_any_operator_and_names_the_row(folder, capsys):
    checks = [{"required_columns": {"columns": ["text", "caption"]}}]
    path = recipe(folder, ["clean_links_mapper"], validators=checks)
    assert run(["run", path]) == 2
    assert "sample 0: " in capsys.readouterr().err
    assert not (folder / "out.jinx").exists()
    path = recipe(folder, ["clean_links_mapper"], validators=[{"required_columns": {"columns": ["text"]}}])
    assert run(["run", path]) == 0
    assert run(["run", recipe(folder, [], validators=["required_colums"])]) == 2
    assert "did you mean 'required_columns'" in capsys.readouterr().err


def test_analyze_then_sweep_thresholds_without_measuring_again(folder):
    steps = [{"text_length_filter": {"max_len": 60}}, {"slow_filter": {}}]
    path = recipe(folder, steps, custom_operators=["wrong.py"])
    done = apart("analyze", path, "--out", "stats.jinx", "--report", "report.html")
    assert done.returncode == 0, done.stderr
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "text_len" in page
    assert "<script" not in page
    view = jinx.open("stats.jinx")
    assert len(view) == 200
    assert view.column("__dj__stats__.text_len")[0] == len(rows_of(folder / "in.jinx")[0]["text"])
    recipe(folder, [{"text_length_filter": {"max_len": 70}}, {"slow_filter": {}}], custom_operators=["wrong.py"])
    done = apart("run", path, "--from-stats", "stats.jinx", SLOW_FILTER_RAISES="1")
    assert done.returncode == 0, done.stderr
    kept = [row["n"] for row in rows_of(folder / "in.jinx") if len(row["text"]) <= 70 and row["n"] % 3]
    assert [row["n"] for row in rows_of(folder / "out.jinx")] == kept


def test_statistics_that_a_later_filter_has_replaced_are_measured_again(folder):
    steps = [
        {"text_length_filter": {"max_len": 60}},
        {"remove_specific_chars_mapper": {"chars_to_remove": "e"}},
        {"text_length_filter": {"max_len": 55}},
        "document_deduplicator",
        "words_num_filter",
    ]
    assert run(["analyze", recipe(folder, steps), "--out", "stats.jinx", "--report", "report.html"]) == 0
    page = (folder / "report.html").read_text()
    assert "Not shown: process[0].text_length_filter, process[4].words_num_filter." in page
    rows = rows_of(folder / "in.jinx")
    share = sum(len(row["text"].replace("e", "")) <= 55 for row in rows) / len(rows)
    assert page.count(f"<td>{share:.1%}</td>") == 1
    path = recipe(folder, steps[:1])
    assert run(["run", path, "--from-stats", "stats.jinx"]) == 0
    assert [row["n"] for row in rows_of(folder / "out.jinx")] == [row["n"] for row in rows if len(row["text"]) <= 60]


SET_OPERATOR = """
import jinx_pipeline as jp

@jp.register("counting_mapper", modality="text")
class CountingMapper(jp.Mapper):
    \"\"\"Counts words.\"\"\"

    words: frozenset[str] = frozenset({"a", "the", "of", "row"})

    def process(self, batch, ctx):
        return {"words": [sum(word in self.words for word in text.split()) for text in batch.text.to_pylist()]}
"""


def test_a_parameter_that_is_a_set_is_the_same_recipe_in_every_process(folder):
    (folder / "sets.py").write_text(SET_OPERATOR)
    path = recipe(folder, ["counting_mapper"], custom_operators=["sets.py"])
    for seed in ("1", "2", "3"):
        done = apart("run", path, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr


def test_a_condition_has_no_statistics_to_show(folder):
    steps = ["text_length_filter", {"general_field_filter": {"filter_condition": "n > 3"}}]
    assert run(["analyze", recipe(folder, steps)]) == 0
    assert "Not shown" not in (folder / "report.html").read_text()


def test_statistics_of_another_input_are_refused(folder, capsys):
    path = recipe(folder, [{"text_length_filter": {"max_len": 60}}])
    assert run(["analyze", path]) == 0
    write_input(folder / "b.jinx", 50)
    capsys.readouterr()
    for more in (["--in", "b.jinx"], ["--text", "n"]):
        assert run(["run", path, "--from-stats", "stats.jinx", *more]) == 2
        assert "the statistics in stats.jinx are not of" in capsys.readouterr().err
    assert not (folder / "out.jinx").exists()
    assert run(["run", path, "--from-stats", "stats.jinx", "--in", str(folder / "in.jinx")]) == 0


def test_an_analysis_replaces_an_earlier_one_and_nothing_else(folder, capsys):
    path = recipe(folder, [{"text_length_filter": {"max_len": 60}}])
    write_input(folder / "mine.jinx", 20)
    (folder / "notes.jinx").write_text("of mine")
    for name in ("mine.jinx", "notes.jinx"):
        before = (folder / name).read_bytes()
        assert run(["analyze", path, "--out", name]) == 2
        assert f"{name} exists, and is no output of analyze" in capsys.readouterr().err
        assert (folder / name).read_bytes() == before
    (folder / "own.jinx.stats.json").write_text('{"output": 1}')
    assert run(["analyze", path, "--out", "own.jinx"]) == 2
    assert "own.jinx.stats.json exists, and analyze did not write it" in capsys.readouterr().err
    assert run(["analyze", path]) == 0
    assert run(["analyze", recipe(folder, [{"words_num_filter": {"min_num": 2}}]), "--restart"]) == 0
    assert run(["run", path, "--from-stats", "stats.jinx"]) == 0
    # What stands there now is not what was measured, though it has the columns.
    jinx.open("stats.jinx")[::-1].save("reversed.jinx")
    (folder / "reversed.jinx").replace(folder / "stats.jinx")
    before = (folder / "stats.jinx").read_bytes()
    capsys.readouterr()
    assert run(["run", path, "--from-stats", "stats.jinx", "--restart", "--overwrite"]) == 2
    assert "stats.jinx was replaced since its statistics were measured" in capsys.readouterr().err
    assert run(["analyze", path, "--restart"]) == 2
    assert (folder / "stats.jinx").read_bytes() == before


def test_dialogs_are_never_converted_onto_their_input(folder, capsys):
    line = '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n'
    (folder / "m.jsonl").write_text(line)
    words = ["m.jsonl", "--from", "messages", "--to", "alpaca", "--overwrite"]
    assert run(["convert-schema", "m.jsonl", *words]) == 2
    assert "is also an input" in capsys.readouterr().err
    assert (folder / "m.jsonl").read_text() == line


def test_a_dataset_without_samples_is_analyzed(folder, capsys):
    write_input(folder / "none.jinx", 0)
    path = recipe(folder, [{"text_length_filter": {"max_len": 60}}], dataset="none.jinx")
    assert run(["analyze", path]) == 0, capsys.readouterr().err
    assert (folder / "report.html").exists()


def test_a_run_that_too_many_bad_rows_stopped_stays_stopped(folder):
    steps = [{"fragile_mapper": {"raises": list(range(20))}}]
    path = recipe(folder, steps, custom_operators=["wrong.py"], stop_after_bad=5)
    for _ in range(2):
        done = apart("run", path)
        assert done.returncode == 1
        assert "repair the cause and start over" in done.stderr
        assert "run the same command again" not in done.stderr
    assert not (folder / "out.jinx").exists()


def test_ops_lists_finds_and_describes(capsys):
    assert run(["ops"]) == 0
    assert "clean_links_mapper" in capsys.readouterr().out
    assert run(["ops", "links", "mapper"]) == 0
    assert "text_length_filter" not in capsys.readouterr().out
    assert run(["ops", "text_length_filter"]) == 0
    assert "min_len: int" in capsys.readouterr().out
    assert run(["ops", "python_file_mapper"]) == 0
    assert "\nThe function takes a sample" in capsys.readouterr().out
    assert run(["ops", "nothing-like-this"]) == 2


def test_import_recipe_writes_ours(folder, capsys):
    theirs = {"dataset_path": "in.jinx", "export_path": "out", "process": [{"text_length_filter": {"min_len": 3}}]}
    (folder / "theirs.yaml").write_text(yaml.safe_dump(theirs))
    assert run(["import-recipe", "theirs.yaml", "ours.yaml"]) == 0
    assert run(["plan", "ours.yaml"]) == 0
    assert run(["import-recipe", "theirs.yaml", "ours.yaml"]) == 2
    assert "exists" in capsys.readouterr().err


def test_a_mistake_in_the_command_is_one_line(folder, capsys):
    assert run(["rnu"]) == 2
    assert "did you mean 'run'" in capsys.readouterr().err
    assert run(["run", "missing.yaml"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "missing.yaml" in err


def test_the_three_names_are_one_program(folder):
    root = Path(jinx.__file__).parents[1]
    environment = {"PYTHONPATH": f"{root}:{root / 'pipeline'}", "PATH": "/usr/bin:/bin"}
    texts = []
    for words in (["-m", "jinx_pipeline"], ["-m", "jinx", "pipeline"]):
        command = [sys.executable, *words, "ops", "text_length_filter"]
        texts.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert texts[0] == texts[1] != ""


def test_a_misspelt_operator_gets_the_nearest_name(capsys):
    assert run(["ops", "txt_length_filter"]) == 2
    assert "did you mean 'text_length_filter'?" in capsys.readouterr().err


def test_plan_refuses_an_output_that_is_the_input(folder, capsys):
    path = recipe(folder, ["clean_links_mapper"], export="in.jinx")
    assert run(["plan", path]) == 2
    assert "in.jinx is also an input" in capsys.readouterr().err


def test_the_error_of_a_row_is_one_line(folder, capsys):
    (folder / "mine.py").write_text("def f(sample):\n    raise ValueError('one\\ntwo')\n")
    step = {"python_file_mapper": {"file_path": "mine.py", "function_name": "f"}}
    assert run(["run", recipe(folder, [step], workers=1)]) == 1
    assert "row 0: python_file_mapper: ValueError: one two\n" in capsys.readouterr().err


def test_convert_schema_there_and_back(folder, capsys):
    turns = [{"from": "human", "value": "What is it?"}, {"from": "gpt", "value": "A cat."}]
    records = [{"id": str(n), "conversations": turns} for n in range(3)]
    (folder / "llava.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert run(["convert-schema", "llava.jsonl", "chat.jinx", "--from", "llava", "--to", "messages"]) == 0
    assert "3 samples" in capsys.readouterr().err
    assert rows_of(folder / "chat.jinx")[0]["messages"] == [
        {"role": "user", "content": "What is it?"},
        {"role": "assistant", "content": "A cat."},
    ]
    assert run(["convert-schema", "chat.jinx", "back.jsonl", "--from", "messages", "--to", "llava"]) == 0
    assert [json.loads(line) for line in (folder / "back.jsonl").read_text().splitlines()] == records
    assert run(["convert-schema", "llava.jsonl", "no.jinx", "--from", "alpaca", "--to", "messages"]) != 0
    assert "llava.jsonl: sample 0: " in capsys.readouterr().err
    assert not (folder / "no.jinx").exists()
    assert run(["convert-schema", "llava.jsonl", "no.jinx", "--from", "lava", "--to", "messages"]) == 2


def test_each_command_names_a_remedy_that_it_has(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, code = tmp_path / "in.jsonl", tmp_path / "mine.py"
    file.write_text('{"text": "some words", "n": 1}\n{"text": "more words", "n": 2}\n')
    code.write_text("def process_single(sample):\n    return {**sample, 'x': 3 // (sample['n'] - 1)}\n")
    (tmp_path / "r.yaml").write_text(
        "dataset: in.jsonl\nprocess: [text_length_filter, python_file_mapper: {file_path: mine.py}]\nexport: out.jinx\n"
    )
    assert run(["run", "r.yaml", "--workers", "1"]) == 1
    assert run(["analyze", "r.yaml", "--workers", "1"]) == 0
    assert run(["replay", "out.jinx.work", "rest.jinx", "--workers", "1"]) == 1
    capfd.readouterr()
    code.write_text(code.read_text() + "\n")
    assert run(["replay", "out.jinx.work", "rest.jinx"]) == 2
    assert "choose another OUT, or remove that working directory" in capfd.readouterr().err
    assert run(["resume", "r.yaml"]) == 2
    assert "(--restart --overwrite) of jinx-pipeline run" in capfd.readouterr().err
    file.write_text(file.read_text().replace("some", "SOME"))
    assert run(["analyze", "r.yaml"]) == 2
    assert "measure again with restart=True (--restart)" in capfd.readouterr().err
    assert run(["analyze", "r.yaml", "--restart", "--workers", "1"]) == 0


def test_a_process_that_cannot_start_is_not_blamed_on_the_output():
    refused = BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    assert one_line(refused) == "starting a process (ulimit -u): Resource temporarily unavailable"
    full = BlockingIOError(errno.EAGAIN, "write could not complete without blocking")
    assert one_line(full) == "<standard output>: write could not complete without blocking"
