"""The recipes that cut videos and recordings into clips: every scene is found, and the result is always the same."""

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest

import jinx
from pipeline.database.servers import Server
from pipeline.execute.media_runs import COMMANDS, OUTPUTS, digests, result_of, rows_of, run_all, run_one, started
from pipeline.made import Killer

pytest.importorskip("av")
pytest.importorskip("soundfile")
demo_media = pytest.importorskip("demo_media")

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::platformdirs.api.RuntimeDirWarning", "ignore::ResourceWarning"),
]
VIDEOS = 2


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Media, their scenes and their sounds."""
    folder = tmp_path_factory.mktemp("made")
    return folder, *demo_media.make_media(folder, VIDEOS)


@pytest.fixture(scope="module")
def calm(made, tmp_path_factory):
    """A directory with the result of one worker that nothing disturbs."""
    folder = tmp_path_factory.mktemp("calm")
    shutil.copytree(made[0], folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run_all("--workers", "1")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_scene_and_sound_is_found_and_nothing_else(made, calm):
    _, scenes, sounds = made
    assert demo_media.rows_of_table(calm / "clips.db") == scenes
    assert demo_media.spans_of(calm / "speech.jinx") == sounds
    assert len(list((calm / "clips").glob("*/*.mp4"))) == len(scenes)
    packed = jinx.open(calm / "packed").to_list()
    assert [len(sample["video"]) for sample in packed] == [
        (calm / row[4]).stat().st_size for row in result_of(calm)["rows"]
    ]
    assert set(OUTPUTS) < set(result_of(calm))


def test_the_result_is_the_same_after_kills_of_workers(folder, calm):
    with Killer(2, folder / "clips.jinx.work", every=2) as killer:
        run_all("--workers", "4")
    assert killer.killed
    assert result_of(folder) == result_of(calm)


def test_the_result_is_the_same_after_kills_of_drivers(folder, calm):
    for stored in (1, 4):
        driver = started(COMMANDS[0], "--workers", "2")
        until = time.monotonic() + 60
        while len(list(Path("clips").glob("*/*"))) < stored and driver.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        driver.kill()
        driver.wait()
    assert not Path("clips.jinx").exists()
    run_all("--workers", "2")
    assert result_of(folder) == result_of(calm)


def test_a_table_that_is_locked_for_a_while(folder, calm):
    """A process holds the file of SQLite; the run waits for it."""
    with closing(sqlite3.connect("clips.db")) as database:
        database.execute("PRAGMA journal_mode=WAL")
    other = sqlite3.connect("clips.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    def release():
        time.sleep(6)
        other.execute("COMMIT")

    thread = Thread(target=release)
    thread.start()
    run_one(COMMANDS[0], "--workers", "2")
    thread.join()
    other.close()
    assert result_of(folder)["rows"] == result_of(calm)["rows"]


def test_a_server_that_is_killed_between_clips(folder, calm, monkeypatch):
    with TemporaryDirectory(prefix="jinx-postgresql-") as place:
        server = Server(Path(place))
        monkeypatch.setenv("META_DB", server.url)

        def crash():
            while len(list(Path("clips").glob("*/*"))) < 2:
                time.sleep(0.02)
            server.kill()
            time.sleep(3)
            server.start()

        thread = Thread(target=crash)
        thread.start()
        try:
            run_one(COMMANDS[0], "--workers", "2", "--set", "database=env:META_DB")
            thread.join()
            run_one(COMMANDS[1], "--workers", "2", "--set", "database=env:META_DB")
            rows = rows_of("env:META_DB")
        finally:
            server.stop()
    assert rows == result_of(calm)["rows"]
    assert digests(folder)["packed.parquet"] == digests(calm)["packed.parquet"]
    # The output names its recipe, which names the database.
    assert jinx.open("clips.jinx").to_list() == jinx.open(calm / "clips.jinx").to_list()
