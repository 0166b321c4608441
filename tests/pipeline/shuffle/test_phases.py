"""Looks at all keys as tasks: the same for any number of shares and workers, and when workers and drivers die."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.operators.dedup import document_line_deduplicator, equal_keys
from jinx_pipeline.operators.group import key_value_grouper
from jinx_pipeline.operators.order import sort
from pipeline.made import digest, rows_of

MENU = "Home | News | Contact"
MORTAL = Path(__file__).with_name("mortal.py")
OPTIONS = {"block_rows": 60, "custom_operators": (str(MORTAL),)}
# Name, parameters, and whether an aggregator follows.
STEPS = [
    ("document_line_deduplicator", {}),
    ("document_deduplicator", {}),
    ("document_minhash_deduplicator", {"num_permutations": 32}),
    ("sort", {"by": ["-len(text)", "id"]}),
    ("key_value_grouper", {"group_by_keys": ["kind"]}),
]
TOTALS = {"kind": "first:kind", "rows": "count", "ids": "concat:id"}


@pytest.fixture(scope="module", autouse=True)
def _mortal():
    jp.load_file(MORTAL)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = random.Random(4)
    words = [f"w{number}" for number in range(900)]
    texts: list[list[str]] = []
    path = tmp_path_factory.mktemp("data") / "in.jinx"
    with jinx.Writer(path) as writer:
        for at in range(400):
            copy = list(rng.choice(texts)) if texts and rng.random() < 0.4 else rng.choices(words, k=40)
            if rng.random() < 0.5:
                copy[rng.randrange(len(copy))] = rng.choice(words)
            texts.append(copy)
            text = " ".join(copy) + (f"\n{MENU}" if at % 2 else "")
            writer.write({"id": f"{at:03}", "text": text, "kind": rng.choice([None, 1, 1.0, "1", [at % 3]])})
    return path


def chain(data, marker: str = ""):
    more = {"marker": marker} if marker else {}
    steps = [jp.create(f"mortal_{name}", **parameters, **more) for name, parameters in STEPS]
    return Dataset.load(data).process([*steps, jp.create("field_aggregator", columns=TOTALS, separator=" ")])


def alone(data):
    """Each operator alone, as it is without any engine."""
    samples = jinx.open(data).to_list()
    for name, parameters in STEPS[:-1]:
        samples = jp.create(name, **parameters)(samples)
    groups = jp.create(*[STEPS[-1][0]], **STEPS[-1][1]).groups(jp.Batch(samples))
    return [[sample["id"] for sample in group.samples()] for group in groups]


@pytest.fixture
def many_shares(monkeypatch):
    """Shares are decided by the driver, so workers need not know."""
    for module in (equal_keys, document_line_deduplicator, key_value_grouper):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(sort, "_ROWS_OF_A_SHARE", 50)


def shares_of(work_dir: Path) -> dict[str, int]:
    events = [json.loads(line) for line in (work_dir / "events.jsonl").read_text().splitlines()]
    return {one["operator"]: one["shares"] for one in events if one["kind"] == "phase"}


@pytest.fixture(scope="module")
def calm(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("calm") / "out"
    result = chain(data).export(out, workers=1, **OPTIONS)
    assert result.ok
    return out


def test_one_share_is_as_each_operator_alone(data, calm):
    assert [one["ids"].split() for one in rows_of(calm)] == alone(data)
    assert sum(one["rows"] for one in rows_of(calm)) < 380


def test_many_shares_and_a_death_in_each_change_nothing(data, calm, tmp_path, many_shares):
    result = chain(data, str(tmp_path / "died")).export(tmp_path / "out", workers=3, **OPTIONS)
    shares = shares_of(tmp_path / "out.work")
    assert min(shares.values()) > 1
    died = [path.name for path in tmp_path.iterdir() if path.name.startswith("died.")]
    assert len(died) == sum(shares.values())
    assert digest(tmp_path / "out") == digest(calm)
    assert result.ok
    figures = {one.operator: (one.rows_in, one.rows_out) for one in result.operators}
    assert figures["mortal_sort"][0] == figures["mortal_sort"][1] == figures["mortal_document_minhash_deduplicator"][1]


SCRIPT = """
import sys
from pathlib import Path

sys.path.insert(0, {tests!r})
from pipeline.shuffle import test_phases as phases

phases.jp.load_file(phases.MORTAL)
phases.equal_keys.ROWS_AT_ONCE = phases.key_value_grouper.ROWS_AT_ONCE = 100
phases.sort._ROWS_OF_A_SHARE = 50
phases.chain({data!r}, {marker!r}).export({out!r}, workers=2, **phases.OPTIONS)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["mortal_document_minhash_deduplicator.3", "mortal_sort.1", "mortal_key_value_grouper.0"]
)
def test_a_killed_driver_is_resumed_within_a_phase(data, calm, tmp_path, name):
    work = tmp_path / "markers"
    work.mkdir()
    out, marker = tmp_path / "out", work / "died"
    code = SCRIPT.format(tests=str(Path(__file__).parents[2]), data=str(data), marker=str(marker), out=str(out))
    # All die already, but for the one that takes the driver with it.
    for operator, _ in STEPS:
        for share in range(200):
            (work / f"died.mortal_{operator}.{share}").touch()
    (work / f"died.{name}").unlink()
    (work / "driver").touch()
    done = [subprocess.run([sys.executable, "-c", code], check=False).returncode for _ in range(2)]
    assert done == [-9, 0]
    assert digest(out) == digest(calm)


def test_a_share_that_kills_every_worker_stops_the_run(data, tmp_path):
    marker = tmp_path / "nowhere" / "died"
    with pytest.raises(
        jp.StoppedError,
        match="at the keys of all samples: the task failed: FileNotFoundError",
    ):
        chain(data, str(marker)).export(tmp_path / "out", workers=1, **OPTIONS)
    assert not (tmp_path / "out").exists()
