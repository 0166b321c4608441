"""Workers on a Ray cluster: plain actors that Ray neither restarts nor retries, because the scheduler does."""

import secrets
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jinx_pipeline.engines import ray_actor
from jinx_pipeline.engines.parcel import discard, packed, taken
from jinx_pipeline.engines.ray_cluster import Cluster, one_line
from jinx_pipeline.engines.task_runner import event_of
from jinx_pipeline.engines.workers import Died, Event, Hopeless, Request
from jinx_pipeline.plan.source import Source
from jinx_pipeline.plan.stage import pickled
from jinx_pipeline.schedule.task import Cause

# How often the cluster is asked which nodes are leaving it.
_ASK_SECONDS = 0.5
# Every node of Ray has it.
_NODE_LABEL = "ray.io/node-id"
# How long a worker that was not reachable may take to answer, until it is given up.
_PROBE_SECONDS = 2.0
# Sources of no more are small; a path is of 4 KiB at most.
_FEW_PATHS = 16


@dataclass(eq=False)
class _Actor:
    """An actor and the call that it has not answered yet.

    Attributes:
        name: Under which the driver knows it.
        handle: Ray's.
        pool: Its pool.
        call: Ray's reference to the answer; None: it waits for work.
        attempt: The lease of that call; None: it is the greeting.
        node: Where it runs, as far as is known.
        give_up_at: When a probe has failed.
        known_stages: Stages that it has.
    """

    name: str
    handle: Any
    pool: str
    call: Any
    attempt: int | None = None
    node: str | None = None
    pid: int | None = None
    give_up_at: float | None = None
    known_stages: set[str] = field(default_factory=set[str])


class RayWorkers:
    """Workers on the nodes of a cluster.

    Args:
        cluster: It.
        check: Run by each worker on its node before its first task.
        folder: For what is too large for a message; on storage that all nodes see.
        needs: Resources of one worker by pool, with Ray's names.
        threads: Threads that one worker's kernels use.
        files: Python files with operators that the workers are to load.
    """

    def __init__(
        self,
        cluster: Cluster,
        check: Callable[[], str | None],
        folder: Path,
        needs: Mapping[str, Mapping[str, float]],
        *,
        threads: int = 1,
        files: tuple[str, ...] = (),
    ) -> None:
        self._cluster = cluster
        self._ray = cluster.ray
        self._check = check
        self._folder = folder
        # Workers of a driver that was killed may still read what it sent.
        self._sender = secrets.token_hex(3)
        self._needs = needs
        self._threads = threads
        self._files = files
        self._ray.cloudpickle.register_pickle_by_value(ray_actor)
        # One class for all, so that Ray sends its code once.
        self._actor_class = self._ray.remote(max_restarts=0, max_task_retries=0)(ray_actor.RayActor)
        self._actors: dict[str, _Actor] = {}
        self._doubtful: list[_Actor] = []
        self._stages: dict[str, Any] = {}
        self._sources: dict[Source, Any] = {}
        self._number = 0
        self._leaving: set[str] = set()
        self._unfit: set[str] = set()
        self._asked_at = 0.0

    def start(self, pool: str) -> str:
        """Ask for an actor, which may wait for a node; one of the pool that was not reachable is probed first."""
        self._number += 1
        name = f"{pool}-{self._number}"
        probed = next((one for one in self._doubtful if one.pool == pool), None)
        if probed is not None:
            self._doubtful.remove(probed)
            made = _Actor(name, probed.handle, pool, None, known_stages=probed.known_stages)
            made.node, made.pid = probed.node, probed.pid
            made.give_up_at = time.monotonic() + _PROBE_SECONDS
        else:
            made = _Actor(name, self._new_actor(pool), pool, None)
        made.call = made.handle.hello.remote(self._check)
        self._actors[name] = made
        return name

    def _new_actor(self, pool: str) -> Any:
        needs = dict(self._needs[pool])
        options: dict[str, Any] = {
            "num_cpus": needs.pop("CPU", 1),
            "num_gpus": needs.pop("GPU", 0),
            "memory": needs.pop("memory", None),
            "resources": needs or None,
        }
        if self._unfit:
            options["label_selector"] = {_NODE_LABEL: f"!in({','.join(sorted(self._unfit))})"}
        path = [one for one in sys.path if one]
        more = {"threads": self._threads, "sees_gpus": pool == "gpu", "files": self._files}
        return self._actor_class.options(**options).remote(str(Path.cwd()), path, **more)

    def load_stage(self, key: str, stage: Any) -> None:
        """Pickle a stage, functions of scripts and notebooks included."""
        self._stages[key] = packed(pickled(stage), self._folder / f"stage-{key}-{self._sender}")

    def submit(self, worker: str, request: Request) -> None:
        """Call the actor."""
        actor = self._actors[worker]
        stage = None if request.stage in actor.known_stages else self._stages[request.stage]
        actor.known_stages.add(request.stage)
        actor.attempt = request.attempt
        actor.call = actor.handle.run.remote(stage, replace(request, source=self._sent_source(request.source)))

    def _sent_source(self, source: Source) -> Any:
        """The source, or one parcel for all tasks: after a global operator it may have a path for each block."""
        if len(source.parts) + len(source.base) <= _FEW_PATHS:
            return source
        if source not in self._sources:
            path = self._folder / f"source-{len(self._sources)}-{self._sender}"
            self._sources[source] = packed(source, path)
        return self._sources[source]

    def events(self, timeout: float) -> list[Event]:
        """What actors have answered, and which are gone."""
        by_call = {actor.call: actor for actor in self._actors.values() if actor.call is not None}
        if not by_call:
            time.sleep(timeout)
            return self._on_leaving_nodes()
        self._ray.wait(list(by_call), num_returns=1, timeout=timeout)
        # All that are there by now.
        answered, _ = self._ray.wait(list(by_call), num_returns=len(by_call), timeout=0)
        events = [self._event(by_call[call]) for call in answered]
        return [*events, *self._failed_probes(), *self._on_leaving_nodes()]

    def _on_leaving_nodes(self) -> list[Event]:
        """Workers without a task on nodes that are drained get none any more."""
        now = time.monotonic()
        if now - self._asked_at >= _ASK_SECONDS:
            self._asked_at, self._leaving = now, self._cluster.leaving()
        idle = [one for one in self._actors.values() if one.call is None and one.node in self._leaving]
        for actor in idle:
            self._end(actor)
        return [self._gone(one, Cause.NODE, "its node is being drained") for one in idle]

    def _event(self, actor: _Actor) -> Event:
        call, actor.call = actor.call, None
        try:
            answer = taken(self._ray.get(call))
        except self._ray.exceptions.RayError as error:
            return self._without_answer(actor, error)
        if answer[0] == "unfit":
            return self._unfit_node(actor, *answer[1:])
        if answer[0] == "ready":
            actor.pid, actor.node, actor.give_up_at = answer[1], answer[2], None
        actor.attempt = None
        return event_of(actor.name, answer)

    def _unfit_node(self, actor: _Actor, node: str, problem: str) -> Event:
        """A node that joined late does not pass the check that others have passed: it gets no worker any more."""
        self._unfit.add(node)
        self._end(actor)
        if all(one["NodeID"] in self._unfit for one in self._cluster.nodes() if one["Resources"].get("CPU", 0) > 0):
            return Hopeless(actor.name, problem, "")
        return self._gone(actor, Cause.NODE, problem)

    def _without_answer(self, actor: _Actor, error: Exception) -> Event:
        errors = self._ray.exceptions
        if isinstance(error, (errors.RayTaskError, errors.ObjectStoreFullError, errors.OutOfDiskError)):
            return Hopeless(actor.name, one_line(error), str(error))
        if isinstance(error, errors.OutOfMemoryError):
            return self._gone(actor, Cause.MEMORY, one_line(error))
        if isinstance(error, errors.RayActorError) and not isinstance(error, errors.ActorUnavailableError):
            return self._buried(actor, error)
        # What was lost is the connection or the answer, perhaps not the worker.
        return self._unreachable(actor, one_line(error))

    def _unreachable(self, actor: _Actor, what: str) -> Died:
        """Its task goes to others now; the worker is asked whether it lives when the driver wants one more."""
        del self._actors[actor.name]
        if actor.give_up_at is None:
            self._doubtful.append(actor)
        else:
            self._end(actor)
        return Died(actor.name, Cause.NODE, f"not reachable: {what}")

    def _buried(self, actor: _Actor, error: Exception) -> Died:
        text = str(error)
        lost = "node has died" in text or getattr(error, "preempted", False)
        if lost or (actor.node is not None and not self._cluster.is_alive(actor.node)):
            return self._gone(actor, Cause.NODE, "its node was lost")
        if "NODE_OUT_OF_MEMORY" in text or "running low on memory" in text:
            return self._gone(actor, Cause.MEMORY, "killed: its node was short of memory")
        return self._gone(actor, Cause.DIED, one_line(error))

    def _gone(self, actor: _Actor, cause: Cause, what: str) -> Died:
        self._actors.pop(actor.name, None)
        return Died(actor.name, cause, what)

    def _failed_probes(self) -> list[Event]:
        now = time.monotonic()
        late = [one for one in self._actors.values() if one.give_up_at is not None and one.give_up_at < now]
        for actor in late:
            self._end(actor)
        return [self._gone(one, Cause.NODE, f"no answer within {_PROBE_SECONDS:.0f} s") for one in late]

    def kill(self, worker: str) -> None:
        """End a worker at once."""
        actor = self._actors.pop(worker, None)
        if actor is not None:
            self._end(actor)

    def _end(self, actor: _Actor) -> None:
        self._ray.kill(actor.handle, no_restart=True)

    def close(self) -> None:
        """End all workers."""
        for actor in [*self._actors.values(), *self._doubtful]:
            self._end(actor)
        self._actors.clear()
        self._doubtful.clear()
        for sent in [*self._stages.values(), *self._sources.values()]:
            discard(sent)

    def pids(self) -> dict[str, int]:
        """The processes of workers that were ready, on whatever node, for tests and monitors."""
        return {name: one.pid for name, one in self._actors.items() if one.pid is not None}
