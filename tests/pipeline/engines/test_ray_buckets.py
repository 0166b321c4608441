"""Runs on a Ray cluster whose nodes share nothing but a bucket: the bytes of the local engine, and a node may die."""

import pytest
from tests.bucket import served

from pipeline.engines.apart import Machine, wait_for
from pipeline.engines.bucket_runs import Place, ended, write_input

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

STORE = 80_000_000
# The temporary directory of every machine.
LOCAL = "/tmp/local"


@pytest.fixture
def place(tmp_path, monkeypatch):
    # `ray.init` makes this process ask for a token in all clusters that it starts; the machines have none.
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    (tmp_path / "bucket").mkdir()
    write_input(tmp_path / "bucket", 600)
    with served(tmp_path / "bucket") as bucket:
        place = Place(bucket, tmp_path)
        place.environment["HOME"] = str(tmp_path / "home")
        (tmp_path / "home").mkdir()
        yield place


class Nodes:
    """A head without CPUs next to the driver, and machines with one CPU each."""

    def __init__(self, place: Place) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False},
        )
        self.place = place
        self.machines: list[Machine] = []
        place.environment["RAY_ADDRESS"] = self.cluster.address

    def add(self, count: int) -> None:
        # Nothing that says where the driver's directories are.
        kept = {name: value for name, value in self.place.environment.items() if not name.startswith(("JINX_", "RAY_"))}
        for _ in range(count):  # one after the other: Ray gives each half a minute
            living = self._living()
            log = self.place.folder / f"machine-{len(self.machines)}.log"
            self.machines.append(Machine(self.cluster.address, kept, log))
            wait_for(lambda living=living: self._living() > living, 90, f"the machine does not join: see {log}")

    def _living(self) -> int:
        return len(self.cluster.global_state._live_node_ids())

    def close(self) -> None:
        for machine in self.machines:
            machine.kill()
        self.cluster.shutdown()


@pytest.fixture
def nodes(place):
    made = Nodes(place)
    try:
        yield made
    finally:
        made.close()


def require_apart(place: Place, machines: list[Machine]) -> None:
    """Each machine has its own temporary directories, and nothing of the driver's or of another machine's in them."""
    assert (place.folder / "recipes").is_dir()
    for number, machine in enumerate(machines):
        assert not machine.sees(place.folder).exists()
        own = f"{LOCAL}/of-{number}"
        machine.sees(own).touch()
        assert not any(other.sees(own).exists() for other in machines if other is not machine)


def has_worked(machine: Machine) -> bool:
    """Whether a worker has written files for the bucket on this machine."""
    return any(machine.sees(LOCAL).rglob(".jinx-mirror"))


@pytest.mark.timeout(480)
def test_nodes_that_share_only_a_bucket_give_the_bytes_of_the_local_engine(place, nodes):
    place.run("calm")
    nodes.add(1)
    require_apart(place, nodes.machines)
    place.run("one", "--engine", "ray", workers=1)
    assert place.digest("one") == place.digest("calm")
    nodes.add(3)
    require_apart(place, nodes.machines)
    place.run("four", "--engine", "ray", workers=4)
    assert place.digest("four") == place.digest("calm")
    assert sum(map(has_worked, nodes.machines)) > 1


@pytest.mark.timeout(480)
def test_kills_of_a_driver_and_of_machines_change_no_byte(place, nodes):
    place.run("calm")
    nodes.add(4)
    running = place.start("out", "--engine", "ray", workers=4)
    wait_for(lambda: place.log_objects("out") >= 4 or running.poll() is not None, 120, "nothing is logged")
    assert running.poll() is None
    nodes.machines.pop().kill()
    wait_for(lambda: place.log_objects("out") >= 8 or running.poll() is not None, 120, "nothing more is logged")
    assert running.poll() is None
    running.kill()
    running.communicate()
    again = place.start("out", "--engine", "ray", workers=4)
    objects = place.log_objects("out")
    wait_for(lambda: place.log_objects("out") > objects or again.poll() is not None, 120, "the run is not resumed")
    nodes.machines.pop().kill()
    ended(again)
    assert place.digest("out") == place.digest("calm")
    require_apart(place, nodes.machines)
    # The rest is done by one node, without what the others had on their disks.
    nodes.machines.pop().kill()
    place.run("last", "--engine", "ray", workers=1)
    assert place.digest("last") == place.digest("calm")
