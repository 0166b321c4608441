"""The Ray engine: which cluster, and whether it can run a recipe."""

import os
import secrets
import socket
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinx_pipeline.optional import require

_CONNECT_SECONDS = 5.0
_CHECK_SECONDS = 60.0
# How often the cluster is asked for room.
_ASK_SECONDS = 2.0


@dataclass(frozen=True)
class Ray:
    """Run on a Ray cluster: `ds.export("/shared/out.jinx", engine=jp.Ray())`.

    Inputs, the working directory, the output and files with operators must be on storage that every node sees.

    Attributes:
        address: `"auto"`: the cluster that `RAY_ADDRESS` names or that runs on this machine; `"local"`: one is started
            for this run on this machine; or `"host:port"`.
        workers: How many; None: as many as the CPUs of the cluster allow, and more when nodes join. More than
            there is room for wait for nodes.
        resources: What one worker takes, such as `{"CPU": 2, "memory": 4e9, "fast_disk": 1}`; 1 CPU if not given.
    """

    address: str = "auto"
    workers: int | None = None
    resources: Mapping[str, float] = field(default_factory=dict[str, float])

    def options(self) -> dict[str, Any]:
        """The same as options of a recipe."""
        found: dict[str, Any] = {"engine": "ray", "ray_address": self.address, "ray_resources": dict(self.resources)}
        return found if self.workers is None else {**found, "workers": self.workers}


class Cluster:
    """A cluster that this process is connected to."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that are alive, as Ray describes them."""
        return [node for node in self.ray.nodes() if node["Alive"]]

    def is_alive(self, node_id: str) -> bool:
        """Whether a node is known and alive."""
        return any(node["NodeID"] == node_id for node in self.nodes())

    def leaving(self) -> set[str]:
        """The ids of nodes that are being drained: they work for a while, and are to get nothing new."""
        with suppress(AttributeError, self.ray.exceptions.RayError):
            # Ray has no public way to ask; its own training library asks like this, too.
            return set(self.ray._private.state.state.get_draining_nodes())
        return set()

    def gpus(self) -> int:
        """GPUs of all nodes."""
        return int(sum(node["Resources"].get("GPU", 0) for node in self.nodes()))

    def room(self, needs: Mapping[str, float]) -> int:
        """How many workers with such needs the nodes can hold at a time.

        Raises:
            RuntimeError: No node can hold one.
        """
        nodes = self.nodes()
        wanted = {name: amount for name, amount in needs.items() if amount > 0}
        count = sum(_held(node, wanted) for node in nodes)
        if count == 0:
            most = {name: max((node["Resources"].get(name, 0) for node in nodes), default=0) for name in wanted}
            asked = ", ".join(f"{name}: {amount:g}" for name, amount in wanted.items())
            there = ", ".join(f"{name}: {amount:g}" for name, amount in most.items())
            raise RuntimeError(
                f"no node of the Ray cluster has what a worker needs ({asked}); the most that one has: {there}"
            )
        return count

    def able(self, needs: Mapping[str, float]) -> list[dict[str, Any]]:
        """The nodes that can hold a worker with such needs."""
        wanted = {name: amount for name, amount in needs.items() if amount > 0}
        return [node for node in self.nodes() if _held(node, wanted)]

    def _own_node(self) -> str | None:
        """The node on which this process runs: a process of Ray less for what is known here."""
        if self.ray.util.client.ray.is_connected():
            return None  # this process talks to a cluster that it is no part of
        return self.ray.get_runtime_context().get_node_id()

    def check_nodes(self, check: Callable[[], str | None]) -> None:
        """Run a check on every node that could get work.

        Raises:
            RuntimeError: A node does not pass, or does not answer; it is named.
        """
        from ray.util import scheduling_strategies  # pyright: ignore[reportMissingImports] - the extra `ray`

        own = self._own_node()
        problem = check() if own is not None else None
        if problem is not None:
            raise RuntimeError(problem)
        remote = self.ray.remote(num_cpus=0, max_retries=0)(check)
        calls: dict[Any, dict[str, Any]] = {}
        for node in self.nodes():
            if node["Resources"].get("CPU", 0) > 0 and node["NodeID"] != own:
                strategy = scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                calls[remote.options(scheduling_strategy=strategy).remote()] = node
        answered, silent = self.ray.wait(list(calls), num_returns=len(calls), timeout=_CHECK_SECONDS)
        for call in answered:
            try:
                problem = self.ray.get(call)
            except (self.ray.exceptions.TaskUnschedulableError, self.ray.exceptions.NodeDiedError):
                continue  # it is gone; should it come back, its workers are checked
            except self.ray.exceptions.RayError as error:
                problem = f"node {calls[call]['NodeManagerAddress']}: {one_line(error)}"
            if problem is not None:
                raise RuntimeError(problem)
        for call in silent:
            where = calls[call]["NodeManagerAddress"]
            raise RuntimeError(f"node {where} of the Ray cluster did not answer within {_CHECK_SECONDS:.0f} s")


def _held(node: Mapping[str, Any], wanted: Mapping[str, float]) -> int:
    """How many workers with such needs a node holds at a time."""
    return int(min((node["Resources"].get(name, 0) / amount for name, amount in wanted.items()), default=1))


class Room(Mapping[str, int]):
    """How many workers of each pool the cluster has room for; more when nodes join, never fewer.

    Args:
        cluster: It.
        needs: Resources of one worker by pool.
        fixed: A number of workers without GPU that was asked for.
    """

    def __init__(self, cluster: Cluster, needs: Mapping[str, Mapping[str, float]], fixed: int | None) -> None:
        self._cluster = cluster
        self._needs = needs
        self._fixed = fixed
        self._asked_at = time.monotonic()
        self._counts = {"cpu": fixed or cluster.room(needs["cpu"]), "gpu": cluster.gpus()}

    def __getitem__(self, pool: str) -> int:
        self._ask()
        return self._counts[pool]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def _ask(self) -> None:
        now = time.monotonic()
        if now - self._asked_at < _ASK_SECONDS:
            return
        self._asked_at = now
        # Where no node is left, replacements wait for one.
        with suppress(RuntimeError, self._cluster.ray.exceptions.RayError):
            gpus = self._cluster.gpus()
            cpus = self._fixed or self._cluster.room(self._needs["cpu"])
            self._counts = {"cpu": max(cpus, self._counts["cpu"]), "gpu": max(gpus, self._counts["gpu"])}


@contextmanager
def connected(address: str) -> Generator[Cluster]:
    """Connect to a cluster; one that was started for this is ended, a connection of the caller's is used and kept.

    Raises:
        ConnectionError: Nobody answers at the address, or the cluster has another version of Ray or Python.
        ImportError: Ray is not installed.
    """
    ray = require("ray", extra="ray", what="engine: ray")
    if ray.is_initialized():
        yield Cluster(ray)
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    _knock(address)
    more = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="warning", **more)
    except (ConnectionError, RuntimeError, ValueError) as error:
        what = " ".join(str(error).split())  # of a cluster of another version, the two versions on several lines
        raise ConnectionError(
            f"the Ray cluster at address {address!r} cannot be used: {what}{_advice(error)}"
        ) from None
    try:
        yield Cluster(ray)
    finally:
        ray.shutdown()


def _advice(error: BaseException) -> str:
    """What to do about it, as far as that can be told."""
    if "Version mismatch" in str(error):
        return "; all nodes and this machine need the same versions of Ray and Python"
    cause: BaseException | None = error
    while cause is not None:
        if "AuthenticationError" in f"{type(cause).__name__}: {cause}":
            return "; it asks for a token: set RAY_AUTH_MODE=token, and give this process the token of the cluster"
        cause = cause.__cause__
    return ""


def _knock(address: str) -> None:
    """Ray itself waits for minutes when nobody answers."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except OSError as error:
        raise ConnectionError(
            f"no Ray cluster answers at {address}: {error.strerror or error}; start one with `ray start --head`"
        ) from None


def one_line(error: BaseException) -> str:
    """The last line of what Ray says, which is what happened; the others are its traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def storage_check(folder: Path, paths: list[str]) -> Callable[[], str | None]:
    """A function that says what is wrong with the node on which it runs; None: nothing.

    It is sent as code, so that it can also tell of a node on which this package is missing.

    Args:
        folder: The working directory of the run; a token is put there.
        paths: What a worker reads.
    """
    token = secrets.token_hex(16)
    sign = folder / "token"
    sign.write_text(token, "ascii")

    def check() -> str | None:
        import os
        import socket
        from pathlib import Path as AnyPath

        node = f"node {socket.gethostname()}"
        try:
            import jinx_pipeline  # noqa: F401  # pyright: ignore[reportUnusedImport]
        except ImportError as error:
            return f"{node}: jinx-pipeline cannot be imported there ({error}); install it on every node"
        shared = "all nodes must see the same storage there"
        try:
            seen = AnyPath(sign).read_text("ascii")
        except OSError as error:
            return f"{node}: cannot read {sign} ({error.strerror}); {shared}"
        if seen != token:
            return f"{node}: {sign} is another file than the driver's; {shared}"
        if not os.access(sign.parent / "parts", os.W_OK):
            return f"{node}: {sign.parent / 'parts'} cannot be written; {shared}"
        for path in paths:
            if not os.path.lexists(path):
                return f"{node}: {path} does not exist; {shared}"
        return None

    return check
