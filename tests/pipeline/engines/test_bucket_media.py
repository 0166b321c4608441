"""Videos in a bucket are cut into clips in the bucket: the clips of a disk, whatever dies, and none is left over."""

import json
import signal
import time
from hashlib import sha256

import pytest
from tests.bucket import served

import jinx
from pipeline.engines.bucket_runs import Place, ended

pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")

RECIPE = {
    "process": [
        {"video_split_by_duration_mapper": {"split_duration": 0.48, "save_dir": "clips"}},
        {"video_duration_filter": {"min_duration": 0.2}},
        {"video_resolution_filter": {}},
    ],
    "block_rows": 2,
}
KINDS = sorted(videos.GOOD)[:6]


@pytest.fixture
def place(tmp_path):
    """Datasets with the paths of videos, next to the videos: on the disk, and in a bucket."""
    for folder in (tmp_path / "disk", tmp_path / "bucket" / "data"):
        (folder / "videos").mkdir(parents=True)
        for kind in KINDS:
            (folder / "videos" / f"{kind}.mp4").write_bytes(videos.GOOD[kind]())
        with jinx.Writer(folder / "in.jinx") as writer:
            writer.write_many({"id": kind, "videos": [f"videos/{kind}.mp4"]} for kind in KINDS)
    with served(tmp_path / "bucket") as bucket:
        yield Place(bucket, tmp_path)


def start(place, out, *words, **more):
    paths = {"dataset": {"path": place.bucket.url("data/in.jinx")}, "export": {"path": place.bucket.url(f"{out}.jinx")}}
    return place.start(out, *words, **{**RECIPE, **paths, **more})


def contents(folder):
    """The digests of files by their paths."""
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in folder.glob("*/*")}


@pytest.mark.timeout(300)  # a killed driver is waited for
def test_clips_in_a_bucket_are_those_of_a_disk_after_kills_too(place):
    bucket, disk = place.bucket.directory, place.folder / "disk"
    local = {"dataset": {"path": str(disk / "in.jinx")}, "export": {"path": str(disk / "out.jinx")}}
    ended(place.start("disk", **RECIPE, **local, work_dir=str(disk / "work")))
    expected = jinx.open(disk / "out.jinx").to_list()
    assert len(expected) > 2 * len(KINDS)

    run = start(place, "out")
    while run.poll() is None and not list((bucket / "data" / "clips").rglob("*.mp4")):
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    ended(start(place, "out"))
    assert jinx.open(bucket / "out.jinx").to_list() == expected
    assert contents(bucket / "data" / "clips") == contents(disk / "clips")


def test_clips_that_nothing_names_are_cleaned_up(place):
    bucket = place.bucket.directory
    ended(start(place, "out"))
    videos_named = {sample["videos"][0] for sample in jinx.open(bucket / "out.jinx").to_list()}
    named = {name for name in videos_named if name.startswith("clips/")}
    orphan = bucket / "data" / "clips" / "ab" / f"ab{'0' * 30}.mp4"
    orphan.parent.mkdir(exist_ok=True)
    orphan.write_bytes(b"an orphan")
    assert len(contents(bucket / "data" / "clips")) > len(named) + 1  # clips that the filter has dropped
    ended(place.command("clean", place.bucket.url("out.work"), "--min-hours", "0", "--remove"))
    assert {f"clips/{path}" for path in contents(bucket / "data" / "clips")} == named


@pytest.mark.timeout(180)
def test_a_video_that_is_replaced_between_two_runs_is_noticed(place):
    bucket = place.bucket.directory
    place.bucket.delay = 0.05  # so that the run does not end before it is interrupted
    run = start(place, "out", block_rows=1)
    while run.poll() is None and place.log_objects("out") < 4:
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    run.communicate()
    place.bucket.delay = 0
    log = "".join(path.read_text() for path in sorted((bucket / "out.work").glob("runs/*/log.jsonl/*")))
    done = [record["block"] for record in map(json.loads, log.splitlines()) if record["kind"] == "committed"]
    assert done
    replaced = KINDS[done[0]]
    (bucket / "data" / "videos" / f"{replaced}.mp4").write_bytes(videos.video(frames=12))
    resumed = start(place, "out", block_rows=1)
    error = resumed.communicate()[1].decode()
    if resumed.returncode:  # other work depends on the block
        assert f"{replaced}.mp4 was replaced or changed during the run" in error
        ended(start(place, "out", "--restart", block_rows=1))
    ended(start(place, "fresh"))
    assert jinx.open(bucket / "out.jinx").to_list() == jinx.open(bucket / "fresh.jinx").to_list()


def test_a_video_that_is_not_there_costs_its_row_alone(place):
    (place.bucket.directory / "data" / "videos" / f"{KINDS[1]}.mp4").unlink()
    process = start(place, "out")
    error = process.communicate()[1].decode()
    assert process.returncode == 1, error
    assert {s["id"] for s in jinx.open(place.bucket.directory / "out.jinx").to_list()} == {*KINDS} - {KINDS[1]}
    (bad,) = (place.bucket.directory / "out.work" / "quarantine.jsonl").read_text().splitlines()
    assert f"{KINDS[1]}.mp4: there is no such object" in bad
