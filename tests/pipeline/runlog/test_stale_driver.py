"""A driver that another one has replaced publishes nothing, and loses nothing; on a disk whose locks do not hold."""

import json

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Built, Published, Publishing
from jinx_pipeline.runlog.run_log import LostEpochError
from jinx_pipeline.store import lease
from pipeline.made import digest, log_of, records_of


class NoLock:
    """What a lock is on such a disk."""

    def __init__(self, path, text=""):
        path.touch()

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def go(tmp_path, monkeypatch):
    monkeypatch.setattr(lease, "FileLock", NoLock)
    data = tmp_path / "in.jsonl"
    data.write_text("".join(json.dumps({"n": n, "text": f"text number {n}"}) + "\n" for n in range(100)))
    flow = Dataset.load(data).process(jp.ops.TextLengthFilter(min_len=1))
    return lambda out, **more: flow.export(out, workers=1, block_rows=40, **more)


def between(monkeypatch, name, other, *, of=None):
    """Run `other` once, before a call of a method of the ledger (with a record of a kind)."""
    real = getattr(Ledger, name)
    results = []

    def call(self, *args):
        if not results and (of is None or isinstance(args[0], of)):
            results.append(None)
            results[0] = other()
        return real(self, *args)

    monkeypatch.setattr(Ledger, name, call)
    return results


@pytest.mark.parametrize(
    ("name", "of"),
    [("out", Built), *((name, of) for name in ("out", "out.jinx", "out.jsonl") for of in (Publishing, Published))],
)
def test_a_driver_that_is_replaced_while_it_publishes(go, tmp_path, monkeypatch, name, of):
    calm, out = tmp_path / "calm" / name, tmp_path / name
    calm.parent.mkdir()
    go(calm)
    other = between(monkeypatch, "record", lambda: go(out), of=of)
    with pytest.raises(LostEpochError, match="another process has taken over this run; leave it to that one"):
        go(out)
    assert (other[0].rows_out, other[0].resumed) == (100, True)
    assert digest(out) == digest(calm)
    (published,) = records_of(tmp_path / f"{name}.work", "published")
    assert published["epoch"] == 2
    assert (go(out).resumed, digest(out)) == (True, digest(calm))


@pytest.mark.parametrize("restart", [False, True])
def test_a_driver_that_is_replaced_while_it_works_stops_and_its_late_records_do_not_count(
    go, tmp_path, monkeypatch, restart
):
    out = tmp_path / "out"
    other = between(monkeypatch, "commit", lambda: go(out, restart=restart))
    with pytest.raises(LostEpochError):
        go(out)
    assert (other[0].rows_out, other[0].resumed) == (100, not restart)
    written = digest(out)
    assert len(jinx.open(out)) == 100
    parts = [
        record["receipt"]["part"] for record in records_of(tmp_path / "out.work", "committed") if record["epoch"] == 1
    ]
    assert restart or len(parts) > 0
    again = go(out)
    assert (again.resumed, again.rows_out, digest(out)) == (True, 100, written)
    assert log_of(tmp_path / "out.work").exists()


def test_a_driver_whose_run_another_one_has_given_up_stops(go, tmp_path, monkeypatch):
    out = tmp_path / "out.jinx"
    other = between(monkeypatch, "record", lambda: go(out, restart=True), of=Publishing)
    with pytest.raises(LostEpochError):
        go(out)
    assert other[0].rows_out == 100
    assert (go(out).resumed, len(jinx.open(out))) == (True, 100)
