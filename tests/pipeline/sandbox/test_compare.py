"""Comparisons of recipes: halving, controls, verdicts, resuming, and what is refused."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import jinx
from jinx_pipeline.cli.compare import compare as command
from jinx_pipeline.cli.program import run as program
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.sandbox.comparison import compare
from jinx_pipeline.sandbox.comparison_page import comparison_page, write_table
from jinx_pipeline.sandbox.intervals import interval, t_quantile, verdict
from jinx_pipeline.sandbox.spec import Spec, Sweep, Variant, read_spec, with_value
from jinx_pipeline.sandbox.trials import TrialError, TrialResult, Trials, score_of

# Each comparison runs several recipes, whose processes a busy machine starts slowly.
pytestmark = pytest.mark.timeout(300)

LONG = {"text_length_filter": {"min_len": 20}}
FAILING = "raises: the command failed"


@pytest.fixture
def dataset(tmp_path):
    """300 samples; the score of a training set is the share of good ones in it."""
    path = tmp_path / "in.jinx"
    with jinx.Writer(path) as writer:
        for i in range(300):
            writer.write({"text": "x" * (i % 60), "good": i % 60 >= 20, "n": i})
    return path


def spec(dataset: Path, *variants: Variant, **changes) -> Spec:
    given = {"budgets": (30, 90), "train": ("train", "{data}"), "evaluate": ("eval", "{out}"), **changes}
    return Spec({"path": str(dataset)}, variants, **given)


@pytest.fixture
def runs(monkeypatch):
    """Trials without processes: the score is the share of good samples, and noise; returns what was run."""
    done: list[tuple[int, int]] = []

    def do(self, digest, data, budget, seed):
        rows = jinx.open(data)
        if "fails" in str(self._spec.train):
            raise TrialError(FAILING)
        done.append((budget, seed))
        noise = np.random.default_rng([seed, len(rows)]).normal(0, 0.01)
        return TrialResult(digest, float(np.mean([row["good"] for row in rows])) + noise, 0.5)

    monkeypatch.setattr(Trials, "_done", do)
    return done


def test_the_best_recipe_is_found_and_is_better_than_both_controls(dataset, runs, tmp_path):
    variants = [Variant("long", [LONG]), Variant("short", [{"text_length_filter": {"max_len": 30}}])]
    variants += [
        Variant(f"n below {n}", [{"specified_numeric_field_filter": {"field_key": "n", "max_value": n}}])
        for n in (150, 250)
    ]
    result = compare(spec(dataset, *variants), tmp_path / "work")
    assert (result.verdict.best, result.verdict.is_better) == ("long", True)
    assert result.verdict.text.startswith("long is better than both controls")
    first = [row.variant for row in result.rows if row.budget == 30]
    last = [row.variant for row in result.rows if row.budget == 90]
    assert first == ["long", "short", "n below 150", "n below 250", "all samples", "random samples"]
    assert len(last) == 4  # two of four remain, and the controls
    controls = {row.variant: row.samples for row in result.rows if row.is_control and row.budget == 90}
    assert controls == {
        "all samples": 300,
        "random samples": next(r.samples for r in result.rows if r.variant == "long"),
    }
    table = tmp_path / "out.jinx"
    write_table(result, table)
    assert [row["variant"] for row in jinx.open(table)] == first + last
    page = comparison_page("x <y>", result)
    assert "long is better than both controls" in page
    assert "x &lt;y&gt;" in page
    assert page.count("<svg") == 2


def test_a_comparison_replaces_only_its_own_table(dataset, runs, tmp_path, capsys):
    result = compare(spec(dataset, Variant("long", [LONG])), tmp_path / "work")
    for _ in range(2):
        write_table(result, tmp_path / "table.jinx")
    before = dataset.read_bytes()
    (tmp_path / "notes.jinx").write_text("mine")
    (tmp_path / "v.yaml").write_text("")
    for place in (dataset, tmp_path / "notes.jinx"):
        with pytest.raises(FileExistsError, match="is not the table of a comparison"):
            write_table(result, place)
        assert program(["compare", str(tmp_path / "v.yaml"), "--out", str(place)]) == 2
        assert "is not the table of a comparison; choose another name" in capsys.readouterr().err
    assert dataset.read_bytes() == before
    assert (tmp_path / "notes.jinx").read_text() == "mine"


@pytest.mark.parametrize("kind", ["jinx", "jsonl"])
def test_a_replaced_dataset_is_compared_anew(runs, tmp_path, kind):
    path, work = tmp_path / f"in.{kind}", tmp_path / "work"
    scores = []
    for is_good in (True, False):
        rows = [{"text": "x" * 30, "good": is_good, "n": i} for i in range(100)]
        if kind == "jinx":
            with jinx.Writer(path, overwrite=True) as writer:
                writer.write_many(rows)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        result = compare(spec(path, Variant("long", [LONG]), budgets=(30,)), work)
        scores.append(round(result.rows[0].mean))
    assert scores == [1, 0]


def test_a_recipe_without_effect_is_not_distinguishable(dataset, runs, tmp_path):
    nothing = Variant("nothing", [{"text_length_filter": {"min_len": 0}}])
    result = compare(spec(dataset, nothing), tmp_path / "work")
    assert not result.verdict.is_better
    assert result.verdict.text.startswith("not distinguishable")


def test_an_interrupted_comparison_does_nothing_twice(dataset, runs, tmp_path, monkeypatch):
    chosen = spec(dataset, Variant("long", [LONG]))
    whole = compare(chosen, tmp_path / "whole")
    total = len(runs)
    runs.clear()
    do = Trials._done

    def interrupted(*arguments):
        if len(runs) == total // 2:
            raise KeyboardInterrupt
        return do(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Trials, "_done", interrupted)
        with pytest.raises(KeyboardInterrupt):
            compare(chosen, tmp_path / "work")
    with (tmp_path / "work" / "trials" / "trials.jsonl").open("ab") as file:
        file.write(b'{"digest": "ha')  # a line that a crash has cut
    resumed = compare(chosen, tmp_path / "work")
    assert len(runs) == total
    assert [row.scores for row in resumed.rows] == [row.scores for row in whole.rows]


def test_a_sweep_measures_once(dataset, runs, tmp_path):
    swept = Variant("swept", [LONG], Sweep("text_length_filter.min_len", (5, 20, 40)))
    result = compare(spec(dataset, swept, budgets=(30,)), tmp_path / "work")
    names = [row.variant for row in result.rows]
    assert names[:3] == [f"swept (text_length_filter.min_len={value})" for value in (5, 20, 40)]
    assert [row.samples for row in result.rows[:3]] == [275, 200, 100]
    assert len(list((tmp_path / "work" / "data").glob("stats-*.jinx"))) == 1


def test_a_search_finds_a_threshold(dataset, runs, tmp_path):
    pytest.importorskip("optuna", reason="the extra `optuna`")
    swept = Variant("swept", [LONG], Sweep("text_length_filter.min_len", low=0, high=30, trials=4))
    result = compare(spec(dataset, swept, budgets=(60,), seeds=2), tmp_path / "work")
    assert result.rows[0].mean is not None
    assert result.rows[0].mean > 0.85


def test_a_failed_variant_is_named_and_the_others_go_on(dataset, runs, tmp_path):
    none = Variant("none", [{"text_length_filter": {"min_len": 1000}}])
    result = compare(spec(dataset, none, Variant("long", [LONG])), tmp_path / "work")
    assert result.rows[0].error == "its recipe keeps no sample"
    assert result.verdict.best == "long"
    with pytest.raises(TrialError, match=FAILING):
        compare(spec(dataset, Variant("long", [LONG]), train=("fails", "{data}")), tmp_path / "other")


def test_commands_run_without_a_shell_and_their_failures_are_named(dataset, tmp_path):
    trial = "import sys; print(sys.argv[1:]); print('{\"score\": 0.5}' if sys.argv[1] != 'bad' else 'x')"
    train = (sys.executable, "-S", "-c", "print('trained; $HOME')", "{data}")

    def score(*words: str) -> float:
        chosen = spec(
            dataset,
            train=train,
            evaluate=(sys.executable, "-S", "-c", trial.replace("{", "{{").replace("}", "}}"), *words),
        )
        return Trials(chosen, tmp_path / "trials").run(dataset, "x", 10, 0).score

    assert score("{out}", "{seed}") == 0.5
    with pytest.raises(TrialError, match="it printed 'x'"):
        score("bad")
    missing = spec(dataset, train=(sys.executable, "-S", "-c", "import sys; sys.exit(3)"), evaluate=train)
    with pytest.raises(TrialError, match="ended with 3"):
        Trials(missing, tmp_path / "trials").run(dataset, "y", 10, 0)
    slow = spec(dataset, train=(sys.executable, "-S", "-c", "import time; time.sleep(60)"), evaluate=train, seconds=0.3)
    with pytest.raises(TrialError, match=r"took longer than 0\.3 s"):
        Trials(slow, tmp_path / "trials").run(dataset, "z", 10, 0)


def test_scores():
    assert score_of("epoch 1\n0.25\n\n") == 0.25
    assert score_of('{"score": 3}') == 3
    for output in ("", "nan", "inf", '{"loss": 1}', "[1]", "true words"):
        with pytest.raises(TrialError):
            score_of(output)


def test_intervals_are_those_of_student():
    # Values of tables of the t distribution.
    assert [round(t_quantile(freedom), 3) for freedom in (1, 2, 9)] == [12.706, 4.303, 2.262]
    found = interval([1.0, 2.0, 3.0])
    assert (found.mean, round(found.low, 3), round(found.high, 3)) == (2.0, -0.484, 4.484)


def test_a_small_score_may_be_the_goal():
    scores = {
        "a": [1.0, 1.01, 0.99],
        "b": [1.5, 1.52, 1.48],
        "all samples": [2, 2.01, 1.99],
        "random samples": [2, 2.02, 2],
    }
    assert verdict(scores, ["all samples", "random samples"], is_max=False).text == "a is better than both controls"
    assert verdict(scores, ["all samples", "random samples"], is_max=True).best == "b"
    assert not verdict(scores, ["all samples", "random samples"], is_max=True).is_better


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": [1]}, "did you mean 'budgets'"),
        ({"budgets": [5, 5]}, "increasing numbers"),
        ({"variants": {"a": [{"text_lenght_filter": {}}]}}, "did you mean 'text_length_filter'"),
        ({"variants": {"all samples": []}}, "controls are added"),
        (
            {"variants": {"a": {"process": [LONG], "sweep": {"words_num_filter.min_num": [1]}}}},
            "has no words_num_filter",
        ),
        ({"variants": {"a": {"process": [LONG], "sweep": [1]}}}, "sweep is"),
        ({"train": "python x.py"}, "train needs {data}"),
        ({"train": "python {data} {0.x}"}, "may hold"),
        ({"eval": 3}, "eval is a command"),
        ({"seeds": 1}, "at least 2"),
        ({"goal": "most"}, "max or min"),
        ({"dataset": None}, "dataset is a path"),
    ],
)
def test_mistakes_are_named(tmp_path, change, message):
    given = {
        "dataset": "in.jinx",
        "variants": {"a": [LONG]},
        "train": "python train.py {data} {out}",
        "eval": "python eval.py {out}",
        "budgets": [10],
    }
    path = tmp_path / "variants.yaml"
    path.write_text(json.dumps(given))
    assert read_spec(path).variants[0].name == "a"
    path.write_text(json.dumps(given | change))
    with pytest.raises(RecipeError, match=message.replace("{", r"\{").replace("(", r"\(")):
        read_spec(path)


def test_a_value_of_a_sweep_replaces_one_parameter():
    variant = Variant("a", ["clean_links_mapper", LONG, "words_num_filter"], Sweep("text_length_filter.max_len", (9,)))
    assert with_value(variant, 9) == [
        "clean_links_mapper",
        {"text_length_filter": {"min_len": 20, "max_len": 9}},
        "words_num_filter",
    ]


@pytest.mark.skipif("JINX_CASES" not in os.environ, reason="takes minutes: make test-service")
@pytest.mark.timeout(900)
def test_the_example_finds_the_planted_recipe(repository, tmp_path, monkeypatch):
    folder = tmp_path / "compare"
    shutil.copytree(repository / "examples" / "compare", folder)
    text = (folder / "variants.yaml").read_text().replace("python ", f"{sys.executable} ")
    (folder / "variants.yaml").write_text(text)
    monkeypatch.chdir(folder)
    subprocess.run([sys.executable, "make_data.py", "reviews.jinx"], check=True)
    done = CliRunner().invoke(command, ["variants.yaml"])
    assert done.exit_code == 0, done.output
    assert "long is better than both controls" in done.stdout
    assert (folder / "compared.html").read_text().startswith("<!doctype html>")
    assert len(jinx.open("compared.jinx")) == 8
