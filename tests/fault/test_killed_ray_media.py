"""The recipes for clips on Ray, while workers, nodes, the driver, the database and the store die: the local bytes."""

import os
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import pytest
from tests.bucket import Bucket, served

from jinx_pipeline.recipe.shipped import shipped_or_file
from pipeline.database.servers import Server
from pipeline.engines.bucket_runs import Place, ended
from pipeline.execute.media_runs import rows_of

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")
pytest.importorskip("av")
pytest.importorskip("soundfile")
demo_media = pytest.importorskip("demo_media")

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.timeout(7200)]

STORE = 80_000_000
VIDEOS = 6
AWAY_SECONDS = 2
# Processes of a node that are no actors; without an agent, the node dies.
NO_ACTORS = (b"ray::IDLE", b"ray::DashboardAgent", b"ray::RuntimeEnvAgent")
ROUNDS_OF_SOAK = 5


class Nodes:
    """A head on which no worker runs, and two nodes with one CPU each."""

    def __init__(self, environment: dict[str, str]) -> None:
        from ray.cluster_utils import Cluster

        self._environment = environment
        head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
        self.cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        self._nodes: list[Any] = []
        for _ in range(2):
            self.add()

    def add(self) -> None:
        """One more node joins."""
        self._nodes.append(
            self.cluster.add_node(num_cpus=1, object_store_memory=STORE, env_vars=dict(self._environment))
        )

    def kill_worker(self) -> bool:
        """Kill an actor; returns whether there was one."""
        parents = {node.all_processes["raylet"][0].process.pid for node in self._nodes}
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                parent = int(status.read_text().partition("PPid:")[2].split()[0])
                command = (status.parent / "cmdline").read_bytes()
            except (OSError, IndexError):
                continue  # it has ended
            if parent in parents and command.startswith(b"ray::") and not command.startswith(NO_ACTORS):
                os.kill(int(status.parent.name), signal.SIGKILL)
                return True
        return False

    def replace(self) -> bool:
        """Kill a node; another one joins."""
        self.cluster.remove_node(self._nodes.pop(0), allow_graceful=False)
        self.add()
        return True


@dataclass
class Case:
    """A recipe and where everything of its run is.

    Attributes:
        recipe: The name of the shipped recipe.
        place: Makes the commands.
        root: The directory or URL of the data.
        folder: The directory with the files of the root.
        database: As in the recipe; None: it has none.
    """

    recipe: str
    place: Place
    root: str
    folder: Path
    database: str | None

    def start(self, *words: str) -> Any:
        """Start a run."""
        source = "recordings" if self.recipe.startswith("audio") else "videos"
        path = self.place.folder / f"{self.recipe}.yaml"
        path.write_text(Path(shipped_or_file(self.recipe)).read_text("utf-8") + "block_rows: 1\n", "utf-8")
        places = ["--in", f"{self.root}/{source}.jinx", "--out", f"{self.root}/out.jinx"]
        parameters = [] if self.database is None else ["--set", f"database={self.database}"]
        work_dir = ["--work-dir", f"{self.root}/work", "--progress", "none"]
        return self.place.command("run", str(path), *places, *parameters, *work_dir, *words)

    def records(self) -> int:
        """The records of the log."""
        logs = self.folder.glob("work/runs/*/log.jsonl*")
        files = [file for log in logs for file in (log.iterdir() if log.is_dir() else [log])]
        return sum(file.read_bytes().count(b"\n") for file in files)

    def result(self) -> dict[str, Any]:
        """Every byte of the output and the clips, and every row of the table."""
        files = [path for path in (*self.folder.glob("clips/*/*"), *self.folder.glob("out.*")) if path.is_file()]
        assert files
        names = {str(path.relative_to(self.folder)): sha256(path.read_bytes()).hexdigest() for path in files}
        return {"files": names, "rows": rows_of(self.database) if self.database else []}

    def clear(self) -> None:
        """Remove all that a run has made."""
        for name in ("clips", "work"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for path in (*self.folder.glob("out.*"), *self.folder.glob("clips.db*")):
            path.unlink()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    # As root, the server runs as another user, who may not enter the directories of tests.
    with TemporaryDirectory(prefix="jinx-postgresql-") as folder, pytest.MonkeyPatch.context() as patch:
        server = Server(Path(folder))
        patch.setenv("META_DB", server.url)
        yield server
        server.stop()


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("bucket")
    demo_media.make_media(folder, VIDEOS)
    with served(folder) as bucket:
        yield bucket


@pytest.fixture(scope="module")
def nodes(bucket: Bucket, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    folder = tmp_path_factory.mktemp("nodes")
    place = Place(bucket, folder)
    names = ("PYTHONPATH", "JINX_SCRATCH", "JINX_CACHE", "JINX_STORE_PATIENCE", *bucket.environment)
    nodes = Nodes({**{name: place.environment[name] for name in names}, "META_DB": server.url})
    yield nodes
    nodes.cluster.shutdown()


def restart_store(bucket: Bucket) -> None:
    """The server of the bucket stops, and starts again."""
    bucket.close()
    time.sleep(AWAY_SECONDS)
    bucket.open()


def restart_server(server: Server) -> None:
    """The server of the database dies, and starts again."""
    server.kill()
    time.sleep(AWAY_SECONDS)
    server.start()


def lock_table(path: Path) -> None:
    """Another process writes to the file of SQLite for a while."""

    def hold() -> None:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("BEGIN IMMEDIATE")
            time.sleep(AWAY_SECONDS + 5)
            database.execute("COMMIT")

    Thread(target=hold).start()


def disturbed(case: Case, nodes: Nodes, steps: list[Callable[[], Any]], at: list[int]) -> None:
    """Run on Ray; each step begins when there are so many records; then the driver is killed and the run resumed."""
    words = ("--engine", "ray", "--ray-address", nodes.cluster.address, "--workers", "2")
    driver = case.start(*words)

    def wait_for_records(count: int) -> None:
        while driver.poll() is None and case.records() < count:
            time.sleep(0.02)

    def kill() -> None:
        wait_for_records(at[-1])
        driver.kill()

    # The run continues while a node joins, and must not end before the driver is killed.
    killer = Thread(target=kill)
    killer.start()
    for step, records in zip(steps, at[:-1], strict=True):
        wait_for_records(records)
        step()
    killer.join()
    said = driver.communicate()[1].decode()
    assert driver.returncode == -signal.SIGKILL, said
    ended(case.start(*words))


@pytest.fixture
def case(request: pytest.FixtureRequest, tmp_path: Path, bucket: Bucket, server: Server) -> Case:
    recipe, where = request.param
    place = Place(bucket, tmp_path)
    if where == "disk":
        shutil.copytree(bucket.directory, tmp_path / "data")
        database = str(tmp_path / "data" / "clips.db") if recipe == "video-clips" else None
        return Case(recipe, place, str(tmp_path / "data"), tmp_path / "data", database)
    return Case(recipe, place, bucket.url()[:-1], bucket.directory, "env:META_DB" if recipe == "video-clips" else None)


CASES = [
    ("video-clips", "bucket"),
    pytest.param(("video-clips", "disk"), id="video on a disk, with SQLite"),
    pytest.param(("audio-clips", "bucket"), id="audio in a bucket"),
]
CASES[0] = pytest.param(CASES[0], id="video in a bucket, with PostgreSQL")


@pytest.mark.parametrize("case", CASES, indirect=True)
def test_the_result_on_ray_is_that_of_the_local_engine(
    case: Case, nodes: Nodes, bucket: Bucket, server: Server, soak: bool
) -> None:
    case.clear()
    ended(case.start("--workers", "1"))
    expected = case.result()
    assert case.records() > 4 + VIDEOS
    steps: list[Callable[[], Any]] = [nodes.kill_worker, nodes.replace]
    if case.database == "env:META_DB":
        assert len(expected["rows"]) > 2 * VIDEOS
        steps.insert(0, lambda: restart_server(server))
    elif case.database is not None:
        steps.insert(0, lambda: lock_table(case.folder / "clips.db"))
    if case.root.startswith("s3:"):
        steps.insert(1, lambda: restart_store(bucket))
    for round in range(ROUNDS_OF_SOAK if soak else 1):
        case.clear()
        if case.database == "env:META_DB":
            server.run("DROP TABLE clips")
        dice = random.Random(round)
        if soak:
            dice.shuffle(steps)
        # The log begins with two records of the run; the first blocks are those of the videos.
        disturbed(case, nodes, steps, sorted(dice.sample(range(3, 3 + VIDEOS), len(steps) + 1)))
        assert case.result() == expected, f"round {round}"
    case.clear()
    if case.database == "env:META_DB":
        server.run("DROP TABLE clips")
