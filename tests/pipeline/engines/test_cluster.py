"""Workers that several runs borrow: none is started twice, and nothing of one run is left in the next."""

import json
import os
import threading
import time
from dataclasses import replace

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.engines.driver import RepairError
from pipeline.made import digest, rows_of, write_input


@pytest.fixture
def data(tmp_path):
    return write_input(tmp_path / "in.jinx")


@pytest.fixture
def cluster():
    with jp.Cluster() as cluster:
        yield cluster


def process_of(sample):
    """Which process did it, and what it finds there of others."""
    import os
    import sys

    left = [name for name in sys.modules if name.startswith("left_by_a_run")]
    return {
        "n": sample["n"],
        "pid": os.getpid(),
        "folder": os.path.realpath("."),
        "left": left,
        "mark": os.environ.get("MARK", ""),
    }


def pids(path):
    return {row["pid"] for row in rows_of(path)}


def test_a_second_run_starts_no_worker_and_has_the_same_bytes(cluster, data, tmp_path):
    flow = jp.Dataset.load(data).process(process_of)
    for name in ("one", "two"):
        flow.export(tmp_path / name, workers=2, block_rows=10, cluster=cluster)
    assert pids(tmp_path / "one") >= pids(tmp_path / "two")
    assert os.getpid() not in pids(tmp_path / "one")
    words = jp.Dataset.load(data).process(["clean_links_mapper", "words_num_filter", "document_deduplicator"])
    words.export(tmp_path / "lent", workers=2, cluster=cluster)
    words.export(tmp_path / "again", workers=2, cluster=cluster)
    words.export(tmp_path / "own", workers=2)
    assert digest(tmp_path / "lent") == digest(tmp_path / "again") == digest(tmp_path / "own")
    log = tmp_path / "two.work" / "workers.log"
    assert log.exists()


def test_workers_take_the_surroundings_of_each_run(cluster, data, tmp_path, monkeypatch):
    flow = jp.Dataset.load(data).process(process_of)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.setenv("MARK", name)
        flow.export(tmp_path / f"out-{name}", workers=1, cluster=cluster)
        row = rows_of(tmp_path / f"out-{name}")[0]
        assert (row["folder"], row["mark"]) == (str(tmp_path / name), name)
    assert pids(tmp_path / "out-a") == pids(tmp_path / "out-b")


def test_code_of_one_run_does_not_reach_the_next(cluster, data, tmp_path, monkeypatch):
    """A module next to the script and a file of operators are edited between two runs."""
    monkeypatch.syspath_prepend(str(tmp_path))
    module, file = tmp_path / "left_by_a_run.py", tmp_path / "mine.py"
    name = f"mark_{tmp_path.name.replace('-', '_')}_mapper"

    def importing(sample):
        import left_by_a_run

        return {**sample, "module": left_by_a_run.VERSION}

    for version in (1, 2):
        # Python takes a module of equal size and second for unchanged, so each version has a size of its own.
        module.write_text(f"VERSION = {version}\n" + "#" * version)
        file.write_text(
            "import jinx_pipeline as jp\n"
            f"@jp.register({name!r})\n"
            "class Mark(jp.Mapper):\n"
            "    writes = ('operator',)\n"
            "    def process(self, batch, ctx):\n"
            f"        return {{'operator': [{version}] * len(batch)}}\n"
        )
        jp.load_file(file)
        flow = jp.Dataset.load(data).process([importing, jp.create(name), process_of_all])
        flow.export(tmp_path / f"out-{version}", workers=1, cluster=cluster, custom_operators=(str(file),))
        row = rows_of(tmp_path / f"out-{version}")[0]
        assert (row["module"], row["operator"]) == (version, version)
    jp.Dataset.load(data).process(process_of).export(tmp_path / "last", workers=1, cluster=cluster)
    assert rows_of(tmp_path / "last")[0]["left"] == []
    assert pids(tmp_path / "last") == pids(tmp_path / "out-1") == pids(tmp_path / "out-2")


def process_of_all(sample):
    import os

    return {**sample, "pid": os.getpid()}


def test_a_model_of_one_run_is_not_the_next_ones(cluster, data, tmp_path):
    class Model(jp.Mapper):
        """Writes what it has loaded."""

        writes = ("model",)

        def process(self, batch, ctx):
            return {"model": [ctx.model(str(tmp_path / "model"), loaded)] * len(batch)}

    for version in ("1", "2"):
        (tmp_path / "model").write_text(version)
        jp.Dataset.load(data).process(Model()).export(tmp_path / f"out-{version}", workers=1, cluster=cluster)
        assert rows_of(tmp_path / f"out-{version}")[0]["model"] == version


def loaded(name, device):
    del device
    with open(name) as file:  # noqa: PTH123 - pickled by value
        return file.read()


def test_a_run_that_fails_leaves_the_cluster_usable(cluster, data, tmp_path):
    def fails(sample):
        raise ImportError("there is no such package")

    good = jp.Dataset.load(data).process(process_of)
    good.export(tmp_path / "before", workers=2, cluster=cluster)
    with pytest.raises(jp.StoppedError):
        jp.Dataset.load(data).process(fails).export(tmp_path / "bad", workers=2, cluster=cluster)
    with pytest.raises(RepairError):
        jp.Dataset.load(data).process(stops).export(tmp_path / "bad2", workers=2, stop_after_bad=0, cluster=cluster)
    good.export(tmp_path / "after", workers=2, cluster=cluster)
    assert [row["n"] for row in rows_of(tmp_path / "after")] == [row["n"] for row in rows_of(tmp_path / "before")]


def stops(sample):
    raise ValueError("no")


def test_other_needs_have_other_workers_and_those_that_nobody_wants_are_ended(cluster, data, tmp_path):
    flow = jp.Dataset.load(data).process(process_of)
    flow.export(tmp_path / "one", workers=1, cluster=cluster)
    flow.export(tmp_path / "two", workers=1, threads=2, cluster=cluster)
    assert pids(tmp_path / "one").isdisjoint(pids(tmp_path / "two"))
    until = time.monotonic() + 50
    while any(os.path.exists(f"/proc/{pid}") for pid in pids(tmp_path / "one")):  # noqa: PTH110 - no path
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_run_that_is_cancelled_resumes_in_the_same_cluster(cluster, data, tmp_path):
    def slow(sample):
        import time

        time.sleep(0.02)
        return sample

    flow = jp.Dataset.load(data).process(slow)
    options = replace(flow.recipe.options, workers=1, block_rows=10)
    recipe = replace(flow.recipe, options=options, export=jp.Export(str(tmp_path / "out.jinx")))
    run = jp.Run(recipe, cluster=cluster)
    events = tmp_path / "out.jinx.work" / "events.jsonl"

    def cancel():
        while not events.exists() or b'"block"' not in events.read_bytes():
            time.sleep(0.01)
        run.cancel()

    thread = threading.Thread(target=cancel, daemon=True)
    thread.start()
    with pytest.raises(jp.StoppedError, match="the run was cancelled; run it again to resume"):
        run()
    thread.join(10)
    done = [event for event in map(json.loads, events.read_text().splitlines()) if event["kind"] == "block"]
    result = run()
    assert result.ok
    assert result.resumed
    again = [event for event in map(json.loads, events.read_text().splitlines()) if event["kind"] == "block"]
    assert len({item["block"] for item in again}) == len(again)
    assert 0 < len(done) < len(again)


def test_a_cluster_is_for_one_run_at_a_time_and_ends_with_its_block(data, tmp_path):
    cluster = jp.Cluster()
    flow = jp.Dataset.load(data).process(process_of)
    with cluster.lend(flow.recipe.options), pytest.raises(RuntimeError, match="another run uses this cluster"):
        flow.export(tmp_path / "out", cluster=cluster)
    flow.export(tmp_path / "out", cluster=cluster, workers=1)
    (pid,) = pids(tmp_path / "out")
    os.kill(pid, 0)
    cluster.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(RuntimeError, match="this cluster was closed"):
        flow.export(tmp_path / "late", cluster=cluster)
    with pytest.raises(ValueError, match="give engine or cluster, not both"):
        flow.export(tmp_path / "late", cluster=cluster, engine="local")
    with pytest.raises(TypeError, match=r"engine is 'local' or jp\.Ray"):
        jp.Cluster("ray")  # pyright: ignore[reportArgumentType] - what is refused
    assert isinstance(jinx.open(tmp_path / "out"), jinx.Dataset)


def test_a_worker_that_died_between_two_runs_is_replaced(cluster, data, tmp_path):
    flow = jp.Dataset.load(data).process(process_of)
    flow.export(tmp_path / "one", workers=1, cluster=cluster)
    (pid,) = pids(tmp_path / "one")
    os.kill(pid, 9)
    assert flow.export(tmp_path / "two", workers=1, cluster=cluster).ok
    assert pids(tmp_path / "two") != {pid}


def limit_files(sample):
    """Set limits and handlers of the worker that no later run may inherit."""
    import os
    import resource
    import signal

    resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_VIRTUAL, 3600)
    os.umask(0o077)
    return sample


def limits_of(sample):
    import os
    import resource
    import signal

    umask = os.umask(0o022)
    os.umask(umask)
    timer = signal.getitimer(signal.ITIMER_VIRTUAL)[0]
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    facts = [umask, timer, limit, signal.getsignal(signal.SIGTERM) == signal.SIG_IGN]
    return {"n": sample["n"], "pid": os.getpid(), "facts": str(facts)}


def test_limits_that_an_operator_sets_fail_its_own_run_by_name_and_no_later_run(cluster, data, tmp_path):
    seen = jp.Dataset.load(data).process(limits_of)
    seen.export(tmp_path / "before.jinx", workers=1, cluster=cluster)
    with pytest.raises(
        Exception, match=r"File too large.*an operator has changed RLIMIT_FSIZE, the handler of SIGTERM"
    ):
        jp.Dataset.load(data).process(limit_files).export(tmp_path / "limited.jinx", workers=1, cluster=cluster)
    seen.export(tmp_path / "after.jinx", workers=1, cluster=cluster)
    facts = [{row["facts"] for row in rows_of(tmp_path / name)} for name in ("before.jinx", "after.jinx")]
    assert facts[0] == facts[1]
    assert len(facts[0]) == 1
