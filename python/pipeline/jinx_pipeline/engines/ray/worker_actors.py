"""Workers on a Ray cluster: actors that Ray neither restarts nor retries, because the scheduler does."""

import re
import secrets
import sys
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jinx_pipeline.engines.ray import actor as ray_actor
from jinx_pipeline.engines.ray.cluster import RayCluster, one_line
from jinx_pipeline.engines.ray.spilled_value import discard, spilled_if_large, take_value
from jinx_pipeline.engines.worker_backend import Died, Event, FatalEvent, Ready, Request, event_of
from jinx_pipeline.plan.source import Source
from jinx_pipeline.runlog.work_dir import stop_path
from jinx_pipeline.schedule.task import Cause
from jinx_pipeline.worker.crash_note import read_crash_note
from jinx_pipeline.worker.memory import memory_limit_message
from jinx_pipeline.worker.work import Work, pickled

# The interval for asking which nodes are leaving the cluster.
_ASK_SECONDS = 0.5
# A label of every Ray node.
_NODE_LABEL = "ray.io/node-id"
_NODE_IN_TEXT = re.compile(r"\bID: ([0-9a-f]{56})\b")
# How long an unreachable worker may take to answer, because it may be busy with a block.
_PROBE_SECONDS = 60.0
# An unreachable node gets no new workers for this long, unless its state is known earlier.
_SUSPECT_SECONDS = 30.0
# How long a node that is short of memory gets no new workers.
_REST_SECONDS = 5.0
# When the avoided nodes change, a worker that has waited for longer than this is requested again.
_PATIENCE_SECONDS = 2.0
# A source is small if it has at most this many paths: a path has at most 4 KiB.
_FEW_PATHS = 16


@dataclass(eq=False)
class _Actor:
    """An actor with its pending calls.

    Attributes:
        name: The name of the worker for the driver.
        pool: Its pool.
        handle: The handle of the Ray actor.
        calls: Ray's references to the pending answers, in order, with their requests; empty if it is idle.
        avoided: Nodes on which it must not start.
        since: When the actor was requested, or probed.
        patience: Seconds until it may be requested again.
        node: The id of its node; None if it has not answered yet.
        host: The name of the machine.
        pid: The process id.
        work: The work of the call.
        known_works: The works that it has loaded.
    """

    name: str
    pool: str
    handle: Any
    calls: dict[Any, Request | None]
    avoided: frozenset[str]
    since: float
    patience: float = _PATIENCE_SECONDS
    node: str | None = None
    host: str = ""
    pid: int | None = None
    work: str | None = None
    known_works: set[str] = field(default_factory=set[str])


# The fixed properties of an actor: its resources, whether pandas is hidden, and its threads.
Kind = tuple[tuple[tuple[str, float], ...], bool, int]


@dataclass
class ActorReserve:
    """Actors that are kept between two runs. If one has died in the meantime, its next call fails.

    Attributes:
        handles: The handles of the actors, by kind.
    """

    handles: dict[Kind, list[Any]] = field(default_factory=dict[Kind, list[Any]])

    def take(self, kind: Kind) -> Any:
        """An actor of a kind, if there is one."""
        waiting = self.handles.get(kind)
        return waiting.pop() if waiting else None

    def keep(self, kind: Kind, handle: Any) -> None:
        """Keep an actor that a run no longer needs."""
        self.handles.setdefault(kind, []).append(handle)

    def end_others(self, ray: Any, kinds: Collection[Kind]) -> None:
        """End the kept actors of other kinds."""
        for kind in [kind for kind in self.handles if kind not in kinds]:
            for handle in self.handles.pop(kind):
                ray.kill(handle, no_restart=True)


class RayWorkers:
    """Workers on the nodes of a cluster.

    Args:
        cluster: The cluster.
        check: A check that each worker runs on its node before its first task.
        folder: A directory for values that are too large for a message, on storage that all nodes see.
        needs: Resources of one worker by pool, with Ray's names.
        threads: Threads that one worker's kernels use.
        files: Python files with operators for the workers to load.
        spare_pandas: See `pandas_import.spare`.
        memory_limit: Bytes of private memory that a worker may use before it kills itself; None for no limit.
        row_seconds: A worker kills itself when it takes longer for each row of its activity; None for no limit.
        reserve: Actors of earlier runs, to which idle actors return at the end; None: all are ended.
    """

    def __init__(
        self,
        cluster: RayCluster,
        check: Callable[[], str | None],
        folder: Path,
        needs: Mapping[str, Mapping[str, float]],
        *,
        threads: int = 1,
        files: tuple[str, ...] = (),
        spare_pandas: bool = False,
        memory_limit: int | None = None,
        row_seconds: float | None = None,
        reserve: "ActorReserve | None" = None,
    ) -> None:
        self.may_lack_room = True
        self._reserve = reserve
        self._cluster = cluster
        self._ray = cluster.ray
        self._check = check
        self._folder = folder
        # A random token in file names, because workers of a killed driver may still read its files.
        self._sender = secrets.token_hex(3)
        self._needs = needs
        self._threads = threads
        self._memory_limit = memory_limit
        path = [entry for entry in sys.path if entry]
        self._settings = ray_actor.RunSettings(
            self._sender, str(Path.cwd()), path, files, spare_pandas, memory_limit, row_seconds
        )
        if reserve is not None:
            reserve.end_others(cluster.ray, [self._kind(pool) for pool in needs])
        self._ray.cloudpickle.register_pickle_by_value(ray_actor)
        # One class for all actors, so that Ray sends its code once.
        self._actor_class = self._ray.remote(max_restarts=0, max_task_retries=0)(ray_actor.RayActor)
        self._actors: dict[str, _Actor] = {}
        # Unreachable workers that are being probed; the driver no longer knows them.
        self._doubtful: list[_Actor] = []
        self._works: dict[str, Any] = {}
        self._sources: dict[Source, Any] = {}
        self._number = 0
        self._leaving: set[str] = set()
        self._unfit: set[str] = set()
        # Unreachable nodes, and until when they are avoided: Ray takes up to 15 s to notice that a node is dead, and
        # new workers would wait for it until then.
        self._suspects: dict[str, float] = {}
        # The same for nodes that are short of memory.
        self._resting: dict[str, float] = {}
        self._asked_at = 0.0

    def start(self, pool: str) -> str:
        """Request an actor, which may wait for a node."""
        self._number += 1
        name = f"{pool}-{self._number}"
        self._actors[name] = self._request_actor(name, pool)
        return name

    def _request_actor(self, name: str, pool: str) -> _Actor:
        avoided = self._avoided()
        handle = None if self._reserve is None else self._reserve.take(self._kind(pool))
        handle = handle or self._new_handle(pool, avoided)
        call = handle.prepare.remote(self._check, self._settings)
        return _Actor(name, pool, handle, {call: None}, avoided, time.monotonic())

    def _kind(self, pool: str) -> Kind:
        needs = self._needs[pool]
        return tuple(sorted(needs.items())), self._settings.spare_pandas, self._threads

    def _new_handle(self, pool: str, avoided: frozenset[str]) -> Any:
        """Create an actor."""
        needs = dict(self._needs[pool])
        options: dict[str, Any] = {
            "num_cpus": needs.pop("CPU", 1),
            "num_gpus": needs.pop("GPU", 0),
            "memory": needs.pop("memory", None),
            "resources": needs or None,
        }
        if avoided:
            options["label_selector"] = {_NODE_LABEL: f"!in({','.join(sorted(avoided))})"}
        threads = max(self._threads, int(self._needs[pool].get("CPU", 1)))
        sees_gpus = bool(self._needs[pool].get("GPU"))
        return self._actor_class.options(**options).remote(threads=threads, sees_gpus=sees_gpus)

    def _avoided(self) -> frozenset[str]:
        """The ids of nodes that get no new workers for now."""
        now = time.monotonic()
        limited = (*self._suspects.items(), *self._resting.items())
        return frozenset(self._unfit | {node for node, until in limited if until > now})

    def _request_again(self) -> None:
        """Request waiting actors again if the avoided nodes have changed.

        A second request discards the start of an actor on another node, so each request gets some time first.
        """
        avoided, now = self._avoided(), time.monotonic()
        for actor in self._actors.values():
            if actor.node is None and actor.avoided != avoided and now - actor.since >= actor.patience:
                freed = actor.avoided - avoided
                if avoided - actor.avoided or any(self._cluster.is_alive(node) for node in freed):
                    self._end(actor)
                    replacement = self._request_actor(actor.name, actor.pool)
                    # An unstable node must not keep workers from starting on other nodes.
                    replacement.patience = min(2 * actor.patience, _PROBE_SECONDS)
                    self._actors[actor.name] = replacement

    def load_work(self, key: str, work: Work) -> None:
        """Pickle a work, with functions of scripts and notebooks."""
        self._works[key] = spilled_if_large(pickled(work), self._folder / f"work-{key}-{self._sender}")

    def submit(self, worker: str, request: Request) -> None:
        """Call the actor."""
        actor = self._actors[worker]
        work = None if request.work in actor.known_works else self._works[request.work]
        call = actor.handle.run.remote(work, replace(request, source=self._sent_source(request.source)))
        actor.calls[call] = request

    def _sent_source(self, source: Source) -> Any:
        """The source, or if it is large, a file with it that all tasks share: a source may have many paths."""
        if len(source.parts) + len(source.base) <= _FEW_PATHS:
            return source
        if source not in self._sources:
            path = self._folder / f"source-{len(self._sources)}-{self._sender}"
            self._sources[source] = spilled_if_large(source, path)
        return self._sources[source]

    def takes_ahead(self, worker: str) -> bool:
        """Whether a busy worker may be sent its next task: not if its node is being drained."""
        return self._actors[worker].node not in self._leaving

    def stop(self, worker: str, attempt: int) -> None:
        """Write a file next to the part, which the worker checks; a call would wait until the task has ended."""
        actor = self._actors.get(worker)
        for request in actor.calls.values() if actor is not None else ():
            if request is not None and request.attempt == attempt:
                with suppress(OSError):  # if this fails, the driver kills the worker
                    stop_path(Path(request.path)).touch()

    def events(self, timeout: float) -> list[Event]:
        """The answers of actors, and the deaths of actors."""
        self._request_again()
        by_call = {call: actor for actor in (*self._actors.values(), *self._doubtful) for call in actor.calls}
        if not by_call:
            time.sleep(timeout)
            return self._end_on_leaving_nodes()
        calls = list(by_call)
        answered, _ = self._ray.wait(calls, num_returns=len(calls), timeout=0)
        if not answered:
            answered, _ = self._ray.wait(calls, num_returns=1, timeout=timeout)
        events: list[Event] = []
        have_answered = set(answered)
        # The calls are in the order in which the actor runs them: it died in the first call without a result.
        for call, actor in [(call, actor) for call, actor in by_call.items() if call in have_answered]:
            # An unreachable actor that answered again may just have replaced this one.
            if call in actor.calls and (actor in self._doubtful or self._actors.get(actor.name) is actor):
                events += self._events_of(actor, call)
        self._give_up_doubtful()
        return [*events, *self._end_on_leaving_nodes()]

    def _end_on_leaving_nodes(self) -> list[Event]:
        """End idle workers on nodes that are being drained."""
        now = time.monotonic()
        if now - self._asked_at >= _ASK_SECONDS:
            self._asked_at, self._leaving = now, self._cluster.leaving()
        idle = [actor for actor in self._actors.values() if not actor.calls and actor.node in self._leaving]
        for actor in idle:
            self._end(actor)
        return [self._remove(actor, Cause.NODE, "its node is being drained") for actor in idle]

    def _events_of(self, actor: _Actor, call: Any) -> list[Event]:
        """The events for the answer or the error of a call."""
        request = actor.calls.pop(call)
        part = "" if request is None else request.path
        is_doubtful = actor in self._doubtful
        try:
            answer = take_value(self._ray.get(call))
        except self._ray.exceptions.RayError as error:
            return self._probe_failed(actor, error) if is_doubtful else [self._error_event(actor, part, error)]
        if answer[0] == "unfit":
            return [] if is_doubtful else [self._reject_node(actor, *answer[1:])]
        if answer[0] == "ready":
            actor.pid, actor.node, actor.host = answer[1:]
            self._suspects.pop(answer[2], None)
            if is_doubtful:
                return self._restore(actor)
        elif request is not None:
            actor.known_works.add(request.work)
        event = event_of(actor.name, answer)
        return [replace(event, host=actor.host) if isinstance(event, FatalEvent) else event]

    def _reject_node(self, actor: _Actor, node: str, problem: str) -> Event:
        """Exclude a node that joined late and does not pass the check."""
        self._unfit.add(node)
        self._end(actor)
        able = self._cluster.able(self._needs[actor.pool])
        if able and all(candidate["NodeID"] in self._unfit for candidate in able):
            return FatalEvent(actor.name, problem, "")
        return self._remove(actor, Cause.NODE, problem)

    def _error_event(self, actor: _Actor, part: str, error: Exception) -> Event:
        errors = self._ray.exceptions
        if isinstance(error, (errors.RayTaskError, errors.ObjectStoreFullError, errors.OutOfDiskError)):
            return FatalEvent(actor.name, one_line(error), str(error), actor.host)
        if isinstance(error, errors.OutOfMemoryError):
            return self._short_of_memory(actor, part, error)
        if isinstance(error, (errors.ActorUnavailableError, errors.ObjectLostError)):
            # The connection or the answer is lost; the worker may still be alive.
            return self._unreachable(actor, one_line(error))
        if isinstance(error, errors.ActorDiedError):
            return self._death_event(actor, part, error)
        # The actor cannot be started: its environment cannot be set up, it is not schedulable, ...
        self._end(actor)
        return self._remove(actor, Cause.DIED, one_line(error))

    def _unreachable(self, actor: _Actor, what: str) -> Died:
        """Report a worker as dead, so that its tasks go to others, and probe whether it is alive."""
        del self._actors[actor.name]
        if actor.node is None:
            self._end(actor)
        else:
            self._suspects[actor.node] = time.monotonic() + _SUSPECT_SECONDS
            actor.calls, actor.since = (
                {actor.handle.prepare.remote(self._check, self._settings): None},
                time.monotonic(),
            )
            self._doubtful.append(actor)
        return Died(actor.name, Cause.NODE, f"not reachable: {what}")

    def _restore(self, actor: _Actor) -> list[Event]:
        """Use an unreachable worker that has answered again, instead of its replacement that still waits for a node."""
        self._doubtful.remove(actor)
        candidates = (other for other in self._actors.values() if other.pool == actor.pool and other.node is None)
        waiting = next(candidates, None)
        if waiting is None:
            self._end(actor)
            return []
        self._end(waiting)
        self._actors[waiting.name] = actor
        actor.name = waiting.name
        return [Ready(actor.name, actor.node or "")]

    def _probe_failed(self, actor: _Actor, error: Exception) -> list[Event]:
        self._doubtful.remove(actor)
        if not isinstance(error, self._ray.exceptions.ActorDiedError):
            self._end(actor)
        elif actor.node is not None and not _is_node_failure(error):
            self._suspects.pop(actor.node, None)  # the node is alive; only the worker has died
        return []

    def _give_up_doubtful(self) -> None:
        late = time.monotonic() - _PROBE_SECONDS
        for actor in [actor for actor in self._doubtful if actor.since < late or not actor.calls]:
            self._doubtful.remove(actor)
            self._end(actor)

    def _death_event(self, actor: _Actor, part: str, error: Exception) -> Died:
        if _is_node_failure(error) or (actor.node is not None and not self._cluster.is_alive(actor.node)):
            return self._remove(actor, Cause.NODE, "its node was lost")
        text = str(error)
        if "NODE_OUT_OF_MEMORY" in text or "running low on memory" in text:
            return self._short_of_memory(actor, part, error)
        note = read_crash_note(part)
        if note.is_over_limit:
            limit = self._memory_limit or 0
            return self._remove(actor, Cause.MEMORY, memory_limit_message(limit), note.operator)
        if note.late:
            return self._remove(actor, Cause.TIMEOUT, note.late, note.operator)
        return self._remove(actor, Cause.DIED, one_line(error), note.operator)

    def _short_of_memory(self, actor: _Actor, part: str, error: Exception) -> Died:
        """Ray killed a worker to save its node; avoid the node, since the next worker would soon be killed too."""
        text = str(error)
        # A worker that was still starting has not yet reported its node.
        match = _NODE_IN_TEXT.search(text)
        node = match[1] if match else actor.node
        if node is not None:
            self._resting[node] = time.monotonic() + _REST_SECONDS
        what = next((line.strip() for line in text.splitlines() if "memory" in line), "")
        return self._remove(actor, Cause.NODE_MEMORY, what, read_crash_note(part).operator)

    def _remove(self, actor: _Actor, cause: Cause, what: str, operator: str = "") -> Died:
        self._actors.pop(actor.name, None)
        return Died(actor.name, cause, what, operator)

    def busy_with(self, worker: str) -> str:
        """Empty, because what a worker on another machine does is unknown."""
        del worker
        return ""

    def kill(self, worker: str) -> None:
        """Kill a worker."""
        actor = self._actors.pop(worker, None)
        if actor is not None:
            self._end(actor)

    def _end(self, actor: _Actor) -> None:
        self._ray.kill(actor.handle, no_restart=True)

    def close(self) -> None:
        """End all workers; with a reserve, return the idle ones."""
        if self._reserve is not None:
            for actor in [actor for actor in self._actors.values() if actor.node is not None and not actor.calls]:
                self._reserve.keep(self._kind(actor.pool), self._actors.pop(actor.name).handle)
        for actor in [*self._actors.values(), *self._doubtful]:
            self._end(actor)
        self._actors.clear()
        self._doubtful.clear()
        for sent in [*self._works.values(), *self._sources.values()]:
            discard(sent)

    def pids(self) -> dict[str, int]:
        """The process ids of workers that have been ready, on any node, for tests and monitoring."""
        return {name: actor.pid for name, actor in self._actors.items() if actor.pid is not None}


def _is_node_failure(error: Exception) -> bool:
    """Whether an actor died because its node failed."""
    return "node has died" in str(error) or bool(getattr(error, "preempted", False))
