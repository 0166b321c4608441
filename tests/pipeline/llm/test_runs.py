"""Runs with a language model: killed, out of budget, refused for a row; nothing that was answered is asked again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.engines.local import probe
from jinx_pipeline.plan.source import Source
from jinx_pipeline.plan_page import describe
from jinx_pipeline.recipe.model import Step
from jinx_pipeline.report.metrics import metrics_text
from pipeline.llm.model_server import Said, digest, good, serving
from pipeline.made import rows_of

pytest.importorskip("aiohttp", reason="needs the extra llm")
pytestmark = pytest.mark.timeout(240)


def recipe(folder: Path, url: str, rows: int, **parameters) -> Path:
    (folder / "in.jsonl").write_text("".join(json.dumps({"text": f"text {n}"}) + "\n" for n in range(rows)))
    workers = parameters.pop("workers", 2)
    judge = {"kind": "openai", "url": url, "model": "m", "concurrency": 20, **parameters.pop("model", {})}
    data = {
        "dataset": {"path": str(folder / "in.jsonl")},
        "models": {"judge": judge},
        "process": [{"llm_quality_score_filter": {"api_or_hf_model": "judge", "min_score": 0, **parameters}}],
        "export": {"path": str(folder / "out.jinx")},
        "workers": workers,
        "block_rows": 100,
        "work_dir": str(folder / "work"),
    }
    file = folder / "recipe.yaml"
    file.write_text(json.dumps(data))
    return file


def finished(file: Path):
    return jp.Run(jp.read_recipe(file))()


def kept_keys(folder: Path) -> set[str]:
    """The digests of requests whose answers are kept, of complete lines."""
    data = b"".join(path.read_bytes() for path in (folder / "work" / "answers").glob("*.jsonl"))
    return {json.loads(line)["key"] for line in data.splitlines(keepends=True) if line.endswith(b"\n")}


def wait_for(condition, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.slow
def test_after_kills_of_worker_and_driver_nothing_is_asked_twice(tmp_path):
    with serving(lambda *asked: Said(good(*asked).text, seconds=0.05)) as server:
        file = recipe(tmp_path, server.url, 2000)
        command = [sys.executable, "-m", "jinx_pipeline", "run", str(file)]
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        kept: list[tuple[int, set[str]]] = []
        try:
            wait_for(lambda: len(server.bodies) > 400 and (tmp_path / "work" / "answers").exists())
            children = psutil.Process(driver.pid).children(recursive=True)
            workers = [child for child in children if child.name() == "jinx-worker"]
            os.kill(workers[0].pid, signal.SIGKILL)
            kept.append((len(server.bodies), kept_keys(tmp_path)))
            wait_for(lambda: len(server.bodies) > 1100)
        finally:
            driver.kill()
            driver.wait()
        wait_for(lambda: not any(worker.is_running() and worker.status() != "zombie" for worker in workers))
        kept.append((len(server.bodies), kept_keys(tmp_path)))
        assert len(kept[0][1]) > 300
        assert len(kept[1][1]) > 900
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert len(rows_of(tmp_path / "out.jinx")) == 2000
        asked = [digest(body) for body in server.bodies]
        assert len(set(asked)) == 2000
        for before, keys in kept:
            assert not keys.intersection(asked[before:])
        assert len(asked) <= 2000 + 2 * 40  # those under way when a process was killed


def test_a_budget_stops_a_run_which_goes_on_when_it_is_raised(tmp_path):
    with serving() as server:
        # Several workers may together send more, within the second after which they look at each other's answers.
        file = recipe(tmp_path, server.url, 300, workers=1, model_params={"max_requests": 120})
        with pytest.raises(StoppedError, match=r"max_requests \(120\) is used up"):
            finished(file)
        assert len(server.bodies) == 120
        result = finished(recipe(tmp_path, server.url, 300, model_params={"max_requests": 400}))
        assert (result.resumed, result.rows_out, len(server.bodies)) == (True, 300, 300)
        assert not [key for key, count in Counter(map(digest, server.bodies)).items() if count > 1]


def test_the_result_tells_requests_and_tokens_and_the_key_is_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", "sk-very-secret")

    def script(body, times):
        if "text 7\n" in body["messages"][1]["content"]:
            return Said("no text 7 for sk-very-secret", status=400)
        return Said("bad") if "text 8\n" in body["messages"][1]["content"] else good(body, times)

    with serving(script) as server:
        file = recipe(tmp_path, server.url, 50, model={"key_variable": "JUDGE_KEY"})
        result = finished(file)
        (bad,) = result.bad_rows
        assert bad.row == 7
        assert "status 400: no text 7 for [key]" in bad.error
        counts = result.operators[0].counts
        assert counts == {"requests": 50, "tokens in": 5000, "tokens out": 1000, "unparsed answers": 1}
        assert result.rows_out == 48  # row 8 has no score
        labels = 'operator="llm_quality_score_filter",place="0",what="unparsed answers"'
        assert f"jinx_pipeline_operator_counts_total{{{labels}}} 1" in metrics_text(result)
        assert server.keys == {"Bearer sk-very-secret"}
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert not [path for path in files if b"sk-very-secret" in path.read_bytes()]


def test_another_recipe_shares_a_directory_of_answers(tmp_path):
    with serving() as server:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            file = recipe(tmp_path / name, server.url, 20, model_params={"answers": str(tmp_path / "shared")})
            assert finished(file).rows_out == 20
        assert len(server.bodies) == 20
        assert not list((tmp_path / "b" / "work").glob("answers/*.jsonl"))


def test_a_plan_estimates_requests_tokens_and_money_and_sends_nothing(tmp_path):
    with serving() as server:
        params = {"model_params": {"prices": [2.0, 10.0]}, "sampling_params": {"max_tokens": 100}}
        file = recipe(tmp_path, server.url, 1000, **params)
        data = json.loads(file.read_text())
        jinx.convert(tmp_path / "in.jsonl", tmp_path / "in.jinx")
        data["dataset"]["path"] = str(tmp_path / "in.jinx")
        data["process"] += [{"generate_qa_from_text_mapper": {"hf_model": "judge"}}, "optimize_query_mapper"]
        file.write_text(json.dumps(data))
        plan = describe(jp.read_recipe(file))
        first, second, third = plan["requests"]
        assert (first["requests"], first["tokens_out"]) == (1000, 100_000)
        assert (second["requests"], third["requests"]) == (1000, None)
        assert 200_000 < first["tokens_in"] < 500_000
        assert first["money"] == pytest.approx(first["tokens_in"] * 2e-6 + 1.0)
        lines = [line for line in plan["lines"] if line.startswith("requests ")]
        assert lines[0].startswith("requests   llm_quality_score_filter: up to 1,000, about ")
        assert lines[2] == "requests   optimize_query_mapper: unknown, because it depends on earlier steps"
        assert not server.bodies


def test_a_probe_sends_nothing_even_for_fused_operators(tmp_path, monkeypatch):
    monkeypatch.setattr(probe, "MIN_ROWS", 1)
    with serving() as server:
        judge = jp.create("llm_quality_score_filter", api_endpoint=server.url)
        fused = jp.FusedOp(operators=[jp.create("text_length_filter", min_len=1), judge])
        recipe(tmp_path, server.url, 50)
        jinx.convert(tmp_path / "in.jsonl", tmp_path / "in.jinx")
        path = str(tmp_path / "in.jinx")
        found = probe.run_probe(jp.Recipe((jp.SourceSpec(path),), jp.Roles(), (Step(fused),)), Source((path,)), 50)
        assert not found.operators
        assert not server.bodies


def test_the_requests_of_an_aggregator_are_its_own(tmp_path):
    with serving() as server:
        steps = [
            jp.create("key_value_grouper", group_by_keys=["kind"]),
            jp.create("nested_aggregator", input_key="text", api_endpoint=server.url, output_key="all"),
            jp.create("general_field_filter", filter_condition="True == True"),
        ]
        samples = [{"text": f"text {n}", "kind": n % 3} for n in range(30)]
        result = jp.Dataset.load(samples).process(steps).export(tmp_path / "out.jinx", workers=1)
        assert [row["__dj__batch_meta__"] for row in rows_of(tmp_path / "out.jinx")] == [{"all": "A good text."}] * 3
        counts = {totals.operator: totals.counts for totals in result.operators}
        assert counts["nested_aggregator"] == {"requests": 3, "tokens in": 300, "tokens out": 60}
        assert counts["general_field_filter"] == {}
