"""Connects to a Ray cluster, and checks whether it can run a recipe."""

import os
import socket
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

from jinx_pipeline.engines.ray.pool_resources import Needs, how_many
from jinx_pipeline.optional import require

_CONNECT_SECONDS = 5.0
_CHECK_SECONDS = 60.0
# The interval for asking the cluster for its nodes.
_LOOK_SECONDS = 0.5
# How long a run waits at its end for the thread that asks the cluster.
_END_SECONDS = 2.0


@dataclass(frozen=True)
class Ray:
    """Run on a Ray cluster: `ds.export("/shared/out.jinx", engine=jp.Ray())`.

    Inputs, the working directory, the output and files with operators must be on storage that every node sees.

    Attributes:
        address: `"auto"`: the cluster that this process is connected to, that `RAY_ADDRESS` names or that runs on this
            machine; `"local"`: one is started for this run on this machine; or the address `"host:port"`.
        workers: The number of workers of each pool without a GPU; None: as many as the cluster has room for, and more
            when nodes join. Workers without room wait for nodes, which makes an autoscaling cluster grow.
        resources: The resources of one worker, such as `{"CPU": 2, "memory": 4e9, "fast_disk": 1}`; by default, what
            the operators need. `GPU` and `accelerator_type:...` only apply to workers with a GPU.
    """

    address: str = "auto"
    workers: int | None = None
    resources: Mapping[str, float] = field(default_factory=dict[str, float])

    def options(self) -> dict[str, Any]:
        """The options of a recipe for this engine."""
        options: dict[str, Any] = {"engine": "ray", "ray_address": self.address, "ray_resources": dict(self.resources)}
        return options if self.workers is None else {**options, "workers": self.workers}


@dataclass(frozen=True)
class _ClusterState:
    """The nodes of a cluster when it was last asked."""

    nodes: list[dict[str, Any]]
    leaving: set[str]


class RayCluster:
    """A cluster that this process is connected to.

    Only the head of the cluster answers questions about nodes, which may take half a minute after it was restarted. So
    `nodes`, `is_alive` and `leaving` use the last answer, and `watched` asks regularly.
    """

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.refresh()

    def refresh(self) -> None:
        """Ask the cluster now; this blocks until its head answers."""
        alive = [node for node in self.ray.nodes() if node["Alive"]]
        self._state = _ClusterState(alive, self._draining())

    def _draining(self) -> set[str]:
        with suppress(AttributeError, self.ray.exceptions.RayError):
            # Ray has no public function for this; Ray's own training library uses the same call. Not available over
            # `ray://`.
            return set(self.ray._private.state.state.get_draining_nodes())
        return set()

    @contextmanager
    def watched(self) -> Generator["RayCluster"]:
        """Ask the cluster twice a second in a background thread."""
        ended = Event()

        def watch() -> None:
            while not ended.wait(_LOOK_SECONDS):
                # If there is no answer, the last one stays in use.
                with suppress(Exception):
                    self.refresh()

        thread = Thread(target=watch, name="jinx-ray-nodes", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join(_END_SECONDS)

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that are alive, as Ray describes them."""
        return self._state.nodes

    def is_alive(self, node_id: str) -> bool:
        """Whether a node is known and alive."""
        return any(node["NodeID"] == node_id for node in self.nodes())

    def leaving(self) -> set[str]:
        """The ids of nodes that are being drained: they still work for a while, and must get no new tasks."""
        return self._state.leaving

    def able(self, needs: Needs) -> list[dict[str, Any]]:
        """The nodes that can hold a worker with these needs if nothing else runs there."""
        return [node for node in self.nodes() if how_many(node["Resources"], needs)]

    def lacks(self, needs: Needs) -> str | None:
        """Why no node can hold a worker with these needs; None if one can."""
        if self.able(needs):
            return None
        required = {name: amount for name, amount in needs.items() if amount > 0}
        largest = {name: max((node["Resources"].get(name, 0) for node in self.nodes()), default=0) for name in required}
        required_text = ", ".join(f"{name}: {amount:g}" for name, amount in required.items())
        most = ", ".join(f"{name}: {amount:g}" for name, amount in largest.items())
        return f"no node of the Ray cluster has what a worker needs ({required_text}); the most that one has: {most}"

    def require_able(self, needs: Needs) -> None:
        """Refuse needs that no node has.

        Raises:
            RuntimeError: No node can hold a worker with these needs.
        """
        problem = self.lacks(needs)
        if problem is not None:
            raise RuntimeError(problem)

    def _own_node(self) -> str | None:
        """The node of this process, which is checked without a task; None if it is outside the cluster."""
        if self.ray.util.client.ray.is_connected():
            return None  # this process is a client outside the cluster
        return self.ray.get_runtime_context().get_node_id()

    def check_nodes(self, check: Callable[[], str | None], pools: Iterable[Needs]) -> None:
        """Run a check on this machine, and on every node that may run workers.

        A node that does not answer in time is no reason to refuse the run, as long as another one passes: its workers
        run the check before their first task.

        Args:
            check: The check.
            pools: The needs of a worker of each pool.

        Raises:
            RuntimeError: A node does not pass, or none answers; the message names it.
        """
        from ray.util import scheduling_strategies  # pyright: ignore[reportMissingImports] - the extra `ray`

        own = self._own_node()
        problem = check() if own is not None else None
        if problem is not None:
            raise RuntimeError(problem)
        remote = self.ray.remote(num_cpus=0, max_retries=0)(check)
        calls: dict[Any, dict[str, Any]] = {}
        self.refresh()
        able = {node["NodeID"]: node for needs in pools for node in self.able(needs)}
        for node_id, node in able.items():
            if node_id != own:
                strategy = scheduling_strategies.NodeAffinitySchedulingStrategy(node_id, soft=False)
                calls[remote.options(scheduling_strategy=strategy).remote()] = node
        answered, silent = self.ray.wait(list(calls), num_returns=len(calls), timeout=_CHECK_SECONDS)
        has_passed = own in able
        for call in answered:
            try:
                problem = self.ray.get(call)
            except (self.ray.exceptions.TaskUnschedulableError, self.ray.exceptions.NodeDiedError):
                continue  # the node is gone; if it comes back, its workers are checked
            except self.ray.exceptions.RayError as error:
                problem = f"node {calls[call]['NodeManagerAddress']}: {one_line(error)}"
            if problem is not None:
                raise RuntimeError(problem)
            has_passed = True
        if silent and not has_passed:
            address = calls[silent[0]]["NodeManagerAddress"]
            raise RuntimeError(f"node {address} of the Ray cluster did not answer within {_CHECK_SECONDS:.0f} s")


@contextmanager
def connected(address: str) -> Generator[RayCluster]:
    """Connect to a cluster; an existing connection is used and kept, and a new one is closed at the end.

    Raises:
        ConnectionError: No cluster answers at the address, or it has another version of Ray or Python.
        ImportError: Ray is not installed.
    """
    ray = require("ray", extra="ray", what="engine: ray")
    if ray.is_initialized():
        _refuse_other_cluster(ray, address)
        with RayCluster(ray).watched() as cluster:
            yield cluster
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    _refuse_unreachable(address)
    options = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="warning", **options)
    # Ray raises a plain Exception if a cluster does not start in time.
    except Exception as error:  # noqa: BLE001 - it is told in one line
        message = " ".join(str(error).split())  # Ray reports different versions on several lines
        raise ConnectionError(
            f"the Ray cluster at address {address!r} cannot be used: {message}{_advice(error)}"
        ) from None
    try:
        with RayCluster(ray).watched() as cluster:
            yield cluster
    finally:
        ray.shutdown()


def _refuse_other_cluster(ray: Any, address: str) -> None:
    """Refuse an address that is not that of the connected cluster: a process can only be connected to one."""
    if address == "auto":
        return
    connected_to = str(ray.get_runtime_context().gcs_address)
    is_client = address.startswith("ray://")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    known_host, _, known_port = connected_to.rpartition(":")
    # `ray://` uses another port of the same machine.
    same_port = ray.util.client.ray.is_connected() if is_client else port == known_port
    if same_port and _ip(ray, host) == _ip(ray, known_host):
        return
    raise ConnectionError(
        f"this process is connected to the Ray cluster at {connected_to} already, and the run is to use {address}; "
        "call ray.shutdown() first, or use the address 'auto' to run on the connected one"
    )


def _ip(ray: Any, host: str) -> str:
    """The IP address of a host, to compare two names of the host."""
    with suppress(OSError):
        address = socket.gethostbyname(host)
        return ray.util.get_node_ip_address() if address.startswith("127.") else address
    return host


def _advice(error: BaseException) -> str:
    """A hint on how to fix an error, if there is one."""
    if "Version mismatch" in str(error):
        return "; all nodes and this machine need the same versions of Ray and Python"
    cause: BaseException | None = error
    while cause is not None:
        if "AuthenticationError" in f"{type(cause).__name__}: {cause}":
            return "; it asks for a token: set RAY_AUTH_MODE=token, and give this process the token of the cluster"
        cause = cause.__cause__
    return ""


def _refuse_unreachable(address: str) -> None:
    """Refuse an address that does not answer; Ray itself would wait for minutes."""
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
    """The last line of an error of Ray, which is the message; the lines before it are a traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
