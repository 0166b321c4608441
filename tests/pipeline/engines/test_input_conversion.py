"""Sources that workers convert: pieces, the same bytes for any of them, rows that cannot be read, and kills."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import jinx
from jinx_pipeline import Dataset
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.plan import pieces
from jinx_pipeline.plan.pieces import lines_of, pieces_of

SMALL = 2_000


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES", SMALL)


def lines(rows: int) -> list[str]:
    """JSON lines of which each 50th cannot be read."""
    return [
        "broken\n" if row % 50 == 7 else json.dumps({"n": row, "text": "word " * (row % 30)}) + "\n"
        for row in range(rows)
    ]


def converted(out):
    """The dataset that a run has made of its source."""
    (made,) = [path for path in (out.parent / f"{out.name}.work" / "inputs").iterdir() if path.is_dir()]
    return {path.name: path.read_bytes() for path in made.iterdir()}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_ranges_hold_each_line_once(size):
    data = b"a\n\nlonger than a range\n{}\nlast without an end"
    ranges = [(start, min(start + size, len(data))) for start in range(0, len(data), size)]
    read = [b"".join(lines_of(io.BytesIO(data), *edges)) for edges in ranges]
    assert b"".join(read) == data
    assert all(item.endswith(b"\n") for item in read[:-1] if item and item != read[-1] and b"last" not in item)


def test_what_cannot_be_divided_is_one_piece(tmp_path):
    text = "".join(lines(300))
    for name, content in [("in.jsonl", text), ("array.jsonl", f" [{text}]"), ("in.json", text), ("small.jsonl", "{}")]:
        (tmp_path / name).write_text(content)
    assert len(pieces_of(str(tmp_path / "in.jsonl"))) == -(-len(text) // SMALL)
    for name in ("array.jsonl", "in.json", "small.jsonl"):
        assert len(pieces_of(str(tmp_path / name))) == 1
    assert pieces_of("s3://bucket/in.jsonl") == []


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(lines(300)))
    return path


def test_lines_give_the_same_bytes_for_any_number_of_workers(source, tmp_path):
    outs = [tmp_path / f"out-{workers}" for workers in (1, 3)]
    done = [
        Dataset.load(source).process("words_num_filter").export(out, workers=workers, max_bad_rows=10)
        for out, workers in zip(outs, (1, 3), strict=True)
    ]
    assert converted(outs[0]) == converted(outs[1])
    assert [sample["n"] for sample in jinx.open(outs[0])] == [
        row for row in range(300) if row % 50 != 7 and row % 30 >= 10
    ]
    for result in done:
        assert [(bad.row, bad.operator, bad.source) for bad in result.bad_rows] == [
            (row, "reading the input", str(source)) for row in range(7, 300, 50)
        ]
    assert list((tmp_path / "out-1.work" / "inputs").glob("*.work")) == []


def test_a_range_without_a_line_and_one_of_unreadable_rows_alone(tmp_path):
    rows = [json.dumps({"n": 0, "text": "x" * 9000}) + "\n", *["broken\n"] * 900, json.dumps({"n": 1, "text": "y"})]
    (tmp_path / "in.jsonl").write_text("".join(rows))
    done = (
        Dataset.load(tmp_path / "in.jsonl")
        .process({"text_length_filter": {"min_len": 0}})
        .export(tmp_path / "out", workers=1, max_bad_rows=900)
    )
    assert [sample["n"] for sample in jinx.open(tmp_path / "out")] == [0, 1]
    assert [bad.row for bad in done.bad_rows] == list(range(1, 901))


def test_each_file_of_a_directory_is_a_piece(tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"{number}.jsonl").write_text(
            json.dumps({"n": number, "text": "t"}) + ("\n?" if number == 1 else "")
        )
    done = (
        Dataset.load(tmp_path / "in")
        .process({"text_length_filter": {"min_len": 0}})
        .export(tmp_path / "out", workers=2, max_bad_rows=1)
    )
    assert [sample["n"] for sample in jinx.open(tmp_path / "out")] == [0, 1, 2]
    assert [bad.row for bad in done.bad_rows] == [2]


def test_a_file_that_cannot_be_read_stops_the_run_with_its_name(tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(2):
        (tmp_path / "in" / f"{number}.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(StoppedError, match=r"converted first: .*\d\.parquet"):
        Dataset.load(tmp_path / "in").process({"text_length_filter": {"min_len": 0}}).export(
            tmp_path / "out", workers=1
        )


SCRIPT = """
import sys
import jinx_pipeline as jp
from jinx_pipeline.plan import pieces
if __name__ == "__main__":
    pieces.PIECE_BYTES = {size}
    jp.Dataset.load(sys.argv[1]).process("words_num_filter").export(sys.argv[2], workers=2, max_bad_rows=10**6)
"""


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_killed_driver_keeps_the_pieces_that_are_done(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text("".join(lines(700)))
    (tmp_path / "run.py").write_text(SCRIPT.format(size=SMALL))
    out, inputs = tmp_path / "out", tmp_path / "out.work" / "inputs"
    running = subprocess.Popen([sys.executable, str(tmp_path / "run.py"), str(source), str(out)])
    until = time.monotonic() + 50
    while len(list(inputs.glob("*.work/runs/*/parts/*[0-9a-f]"))) < 5 and time.monotonic() < until:
        assert running.poll() is None
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    (log,) = inputs.glob("*.work/runs/*/log.jsonl")
    kept = log.read_text().count('"convert"')
    Dataset.load(source).process("words_num_filter").export(out, workers=1, max_bad_rows=10**6)
    Dataset.load(source).process("words_num_filter").export(tmp_path / "calm", workers=1, max_bad_rows=10**6)
    assert kept > 0
    assert converted(out) == converted(tmp_path / "calm")


def test_an_empty_shard_is_named(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    with jinx.Writer(folder / "a.jinx") as writer:
        writer.write({"text": "a text"})
    (folder / "b.jinx").write_bytes(b"")
    with pytest.raises(StoppedError, match=r"TruncatedFileError: .*b\.jinx: the file is empty"):
        Dataset.load(folder).export(tmp_path / "out.jinx", workers=1)
