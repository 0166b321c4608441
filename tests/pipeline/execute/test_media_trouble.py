"""Bad videos, a full disk and a table that refuses a row: the recipe for clips loses nothing else."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.recipe.read import read_recipe
from jinx_pipeline.recipe.shipped import shipped_or_file
from pipeline.disks import disk_of, enlarge
from pipeline.execute.media_runs import COMMANDS, exit_code_of, rows_of

pytest.importorskip("av")
demo_media = pytest.importorskip("demo_media")
videos = pytest.importorskip("make_media.videos")

pytestmark = pytest.mark.timeout(600)


def good(cuts, **options):
    return videos.video(**{"frames": 60, "cuts": cuts, "size": (192, 96), "gop": 20} | options)


def test_bad_videos_and_a_refused_row_are_left_out_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("film.png").write_bytes(good((30,)))
    Path("picture.mp4").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    samples = {
        "plain": good((20, 40)),
        "rotated": good((20, 40), rotation=90),
        "variable": good((20, 40), times=[0.04 * n + 0.015 * (n % 3) for n in range(60)]),
        **videos.HOSTILE | {name: make for name, make in videos.ODD.items() if name != "cut off"},
        "other suffix": "film.png",
        "picture": "picture.mp4",
    }
    with jinx.Writer("videos.jinx") as writer:
        for name, made in samples.items():
            writer.write({"id": name, "videos": [made() if callable(made) else made]})
    with closing(sqlite3.connect("clips.db")) as database:
        # The table refuses the second scene of the rotated video.
        database.execute(
            "CREATE TABLE clips (source TEXT, video INTEGER, start REAL, end REAL, file TEXT, seconds REAL, "
            "width INTEGER, height INTEGER, motion REAL, PRIMARY KEY (source, video, start), "
            "CHECK (NOT (source = '1' AND start BETWEEN 0.5 AND 1)))"
        )
    assert exit_code_of(COMMANDS[0], "--workers", "2") == 1
    bad = [json.loads(line) for line in Path("clips.jinx.work/quarantine.jsonl").read_text().splitlines()]
    places = {name: row for row, name in enumerate(samples)}
    expected = {*videos.HOSTILE, "picture"}
    assert {record["row"] for record in bad if record["operator"] != "table_upsert"} == {places[n] for n in expected}
    assert [record["row"] for record in bad if record["operator"] == "table_upsert"] == [places["rotated"]]
    rows = rows_of("clips.db")
    scenes = {
        name: [(round(start, 2), round(end, 2)) for source, _, start, end, *_ in rows if source == str(place)]
        for name, place in places.items()
    }
    assert scenes["plain"] == [(0, 0.8), (0.8, 1.6), (1.6, 2.4)]
    assert scenes["rotated"] == [(0, 0.8), (1.6, 2.4)]
    assert len(scenes["variable"]) == 3
    assert scenes["of two sizes"] == [(0, 1.6)]
    assert scenes["one frame"] == []
    shown = {row[4]: len(videos.numbers(str(tmp_path / row[4]))) for row in rows}
    assert sum(shown[row[4]] for row in rows if row[0] == "0") == 60
    assert [sample["videos"][0] for sample in jinx.open("clips.jinx").to_list()] == [
        row[4] for row in rows_in_order(rows)
    ]


# Python loads this before anything else, in workers too.
HOSTILE_DECODER = """
import os, signal, time
import av

original = av.open

def opened(file, *arguments, **options):
    if not {"w"} & {*arguments, options.get("mode")}:
        content = file.read()
        file.seek(0)
        if b"this one dies" in content:
            os.kill(os.getpid(), signal.SIGSEGV)
        if b"this one hangs" in content:
            time.sleep(3600)
    return original(file, *arguments, **options)

av.open = opened
"""


def marked(mark):
    """A good video with a box that no decoder reads."""
    return good((30,)) + (8 + len(mark)).to_bytes(4, "big") + b"free" + mark


@pytest.mark.slow
def test_a_decoder_that_dies_or_hangs_costs_its_video_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hostile").mkdir()
    (tmp_path / "hostile" / "sitecustomize.py").write_text(HOSTILE_DECODER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hostile"))
    videos_of = [good((30,)), marked(b"this one dies"), good((20, 40)), marked(b"this one hangs"), marked(b"harmless")]
    with jinx.Writer("in.jinx") as writer:
        writer.write_many({"id": n, "videos": [video]} for n, video in enumerate(videos_of))
    result = jp.Run(read_recipe(str(shipped_or_file("video-clips")), workers=2, row_seconds=10, max_bad_rows=2))()
    assert sorted(bad.row for bad in result.bad_rows) == [1, 3]
    reasons = {bad.row: bad.error for bad in result.bad_rows}
    assert "the worker died" in reasons[1]
    assert "10" in reasons[3]
    scenes = [(source, round(start, 2), round(end, 2)) for source, _, start, end, *_ in rows_of("clips.db")]
    assert scenes == [
        ("0", 0, 1.2),
        ("0", 1.2, 2.4),
        ("2", 0, 0.8),
        ("2", 0.8, 1.6),
        ("2", 1.6, 2.4),
        ("4", 0, 1.2),
        ("4", 1.2, 2.4),
    ]
    assert len(jinx.open("clips.jinx")) == len(scenes)


def rows_in_order(rows):
    """The rows in the order of the input, whose sources are numbers but for those of files."""
    return sorted(rows, key=lambda row: (not row[0].isdigit(), int(row[0]) if row[0].isdigit() else 0, row[2]))


def test_a_full_disk_stops_the_run_which_is_resumed_when_there_is_room(tmp_path, monkeypatch):
    scenes, _ = demo_media.make_media(tmp_path / "made", 2)
    with disk_of(tmp_path / "small", "6m") as place, monkeypatch.context() as patch:
        patch.chdir(place)
        shutil.copytree(tmp_path / "made" / "videos", place / "videos")
        (place / "videos.jinx").write_bytes((tmp_path / "made" / "videos.jinx").read_bytes())
        free = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
        (place / "ballast").write_bytes(bytes(free - 20_000))
        words = ("--workers", "1", "--work-dir", f"{tmp_path}/work", "--set", f"database={tmp_path}/clips.db")
        with pytest.raises((StoppedError, OSError), match="No space left on device"):
            exit_code_of(COMMANDS[0], *words)
        assert not Path("clips.jinx").exists()
        enlarge(place, "64m")
        assert exit_code_of(COMMANDS[0], *words) == 0
        assert demo_media.rows_of_table(tmp_path / "clips.db") == scenes
        assert not list(Path("clips").glob(".*.part"))
        assert len(list(Path("clips").glob("*/*"))) == len(scenes)
