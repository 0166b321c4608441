"""The counts of a run over HTTP while it runs, and its spans."""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.recipe.read import recipe_of
from jinx_pipeline.report.live_metrics import LiveMetrics, MetricsServer


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with jinx.Writer("in.jinx") as writer:
        writer.write_many({"n": n, "text": "word " * (n % 4) if n else 7} for n in range(40))
    data = {
        "dataset": {"path": "in.jinx"},
        "process": [{"words_num_filter": {"min_num": 2}}],
        "export": "out.jinx",
        "block_rows": 10,
        "max_bad_rows": 1,
    }
    return jp.Run(recipe_of(data))


def values_at(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = [line for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_counts_are_served_while_a_run_runs(run):
    counts, seen = LiveMetrics(), []
    with MetricsServer("0", counts) as server:
        run.observers = (counts, lambda kind, facts: seen.append((kind, values_at(server.url))))
        assert run().ok
        final = values_at(server.url)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(server.url.replace("/metrics", "/"), timeout=10)

    def total(values, name):
        return sum(value for key, value in values.items() if key.startswith(f"jinx_pipeline_{name}{{"))

    assert [kind for kind, _ in seen].count("block") == 4
    blocks = [total(values, "tasks_total") for kind, values in seen if kind == "block"]
    assert blocks == [1, 2, 3, 4]
    assert final["jinx_pipeline_phase_rows"] == 40
    assert final['jinx_pipeline_failed_rows_total{operator="words_num_filter"}'] == 1
    assert final["jinx_pipeline_started_workers_total"] >= 1
    assert total(final, "task_seconds_total") > 0
    with pytest.raises(OSError, match="refused"):
        values_at(server.url)


def test_addresses_of_the_server():
    for address in ("x", "host:", "70000"):
        with pytest.raises(ValueError, match="not a port"):
            MetricsServer(address, LiveMetrics())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            MetricsServer(str(taken.getsockname()[1]), LiveMetrics())


def test_tasks_are_spans_of_the_span_of_the_run(run):
    trace = pytest.importorskip("opentelemetry.trace", reason="opentelemetry-sdk is not installed")
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk is not installed")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    tracer = provider.get_tracer("jinx_pipeline")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "get_tracer", lambda name: tracer)
        assert run().ok
    *tasks, whole = spans.get_finished_spans()
    assert whole.name == "jinx_pipeline out.jinx"
    assert {span.parent.span_id for span in tasks} == {whole.context.span_id}
    assert sum(span.attributes["jinx.rows"] for span in tasks if span.name.startswith("words_num")) == 40
    assert all(span.start_time <= span.end_time for span in tasks)
    assert [event.name for event in whole.events] == ["bad_row"]


def test_a_program_without_traces_does_not_import_their_package():
    code = (
        "import sys\n"
        "from jinx_pipeline.report.traces import run_span\n"
        "with run_span('x') as spans:\n"
        "    print(spans, any(name.startswith('opentelemetry') for name in sys.modules))\n"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    environment = {**clean, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["None", "False"]
