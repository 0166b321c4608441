"""The benchmark: it measures, saves, compares what was read, and says why a system has no figures."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.results import Results

ROOT = Path(__file__).parents[2]


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.run", "--samples", "20", "--repeat", "2", "--reads", "10", *arguments]
    environment = {**os.environ, "XDG_CACHE_HOME": str(directory)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> tuple[Results, str]:
    """The results and the table of a small run of JINX alone."""
    directory = tmp_path_factory.mktemp("bench")
    file = directory / "results.json"
    cases = "write,iterate_all,random_all,take,sort_all,lengths"
    done = run(directory, "--peers", "jinx,jinx-unchecked,jinx-rows", "--cases", cases, "--save", str(file))
    assert done.returncode == 0, done.stderr
    return Results.load(file), done.stdout


def test_every_case_has_figures_of_every_round(saved):
    results, table = saved
    assert results.cases() == ["write", "iterate_all", "random_all", "take", "sort_all", "lengths"]
    for case in results.cases():
        records = results.of(case, "jinx")
        assert len(records) == 2, case
        assert all(record["samples"] and not record["capped"] for record in records)
    assert results.figure("write", "jinx", "bytes") > 20 * 40_000
    assert "random_all" in table


def test_what_was_read_is_the_same_for_all_systems(saved):
    results, _ = saved
    assert results.wrong == []
    sums = {
        record["checksum"]
        for peer in ("jinx", "jinx-unchecked", "jinx-rows")
        for record in results.of("iterate_all", peer)
    }
    assert len(sums) == 1


def test_a_peer_that_cannot_be_installed_is_shown(tmp_path):
    # No index answers there, and the installers find nothing elsewhere: no cache, no directory of wheels.
    index = "http://127.0.0.1:9/simple"
    environment = {"UV_NO_CACHE": "1", "UV_DEFAULT_INDEX": index, "UV_HTTP_TIMEOUT": "2"}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index, "PIP_RETRIES": "0", "PIP_FIND_LINKS": ""}
    file = tmp_path / "results.json"
    command = ["--peers", "jinx,webdataset", "--cases", "iterate_all", "--save", str(file)]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        done = run(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    kind, why = Results.load(file).reason("iterate_all", "webdataset")
    assert kind == "failed"
    assert why.startswith("not installed: ")
    assert "failed" in done.stdout


def test_ratios_compare_measurements_of_one_round():
    def record(peer: str, number: int, wall: float) -> dict:
        return {"case": "take", "peer": peer, "round": number, "wall": wall, "cpu": wall, "samples": 10}

    slow_machine = [record("ref", 0, 10.0), record("jinx", 0, 5.0)]
    fast_machine = [record("ref", 1, 1.0), record("jinx", 1, 0.5)]
    results = Results(records=slow_machine + fast_machine)
    assert results.ratio("take", "jinx", "ref", "wall") == 2.0


def test_different_checksums_fail_the_run(tmp_path):
    # Every process reads this first, the systems' too.
    (tmp_path / "sitecustomize.py").write_text(
        "from bench.peers import jinx\n"
        "honest = jinx.Jinx.touch_all\n"
        "jinx.Variant.touch_all = lambda self, sample: honest(self, sample) + 1\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
        done = run(tmp_path, "--peers", "jinx,jinx-unchecked", "--cases", "iterate_all")
    assert done.returncode != 0
    assert "read different data: iterate_all" in done.stderr


def test_targets_are_judged_by_what_was_measured(saved):
    from bench.targets import outcomes

    results, _ = saved
    judged = {outcome.operation: outcome for outcome in outcomes(results)}
    assert judged['verify="rows"'].met is not None
    assert judged["`jinx.torch.Loader`, batches of 64, all columns, wall"].met is None


def test_the_targets_name_cases_that_exist():
    from bench import peers
    from bench.cases import CASES

    known = peers.every()
    for target in json.loads((ROOT / "bench" / "targets.json").read_text()):
        for check in target["checks"]:
            assert check.get("case", "take") in CASES
            assert check.get("peer", "jinx") in known
            assert check.get("against", "ref") in {"best", *known}


def test_the_page_and_the_tables_are_those_of_the_results(tmp_path):
    from bench.report import page, write_tables

    pages = ROOT / "docs" / "benchmarks"
    results = Results.load(pages / "results.json")
    text = page(results, {"Samples per second by use and system": "speed.svg"})
    assert (pages / "report.md").read_text() == text
    assert len(text.splitlines()) < 300
    write_tables(results, tmp_path / "tables.csv")
    assert (tmp_path / "tables.csv").read_text() == (pages / "tables.csv").read_text()


def test_a_page_of_a_small_run_says_what_was_not_measured(saved):
    from bench.report import page

    results, _ = saved
    text = page(results, {})
    assert "## Read at random" in text
    assert "## Feed PyTorch" not in text
    assert "### Not measured" in text
