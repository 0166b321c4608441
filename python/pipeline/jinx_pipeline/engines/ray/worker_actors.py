"""Workers on a Ray cluster: plain actors that Ray neither restarts nor retries, because the scheduler does."""

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
from jinx_pipeline.engines.ray.spilled_value import discard, spilled_if_large, taken
from jinx_pipeline.engines.worker_backend import Died, Event, FatalEvent, Ready, Request, event_of
from jinx_pipeline.plan.source import Source
from jinx_pipeline.runlog.work_dir import stop_path
from jinx_pipeline.schedule.task import Cause
from jinx_pipeline.worker.crash_note import read_crash_note
from jinx_pipeline.worker.memory import memory_limit_message
from jinx_pipeline.worker.work import Work, pickled

# How often the cluster is asked which nodes are leaving it.
_ASK_SECONDS = 0.5
# Every node of Ray has it.
_NODE_LABEL = "ray.io/node-id"
_NODE_IN_TEXT = re.compile(r"\bID: ([0-9a-f]{56})\b")
# How long a worker that was not reachable may take to answer: it may have a block in hand.
_PROBE_SECONDS = 60.0
# A node that was not reachable gets no new worker for so long, unless it is known to be dead or to live before.
_SUSPECT_SECONDS = 30.0
# The same for one that is short of memory.
_REST_SECONDS = 5.0
# A worker that has waited for longer is asked for again when it is known that nodes are to be avoided.
_PATIENCE_SECONDS = 2.0
# Sources of no more are small; a path is of 4 KiB at most.
_FEW_PATHS = 16


@dataclass(eq=False)
class _Actor:
    """An actor and the calls that it has not answered yet.

    Attributes:
        name: Under which the driver knows it.
        pool: Its pool.
        handle: Ray's.
        calls: Ray's references to the answers, in order, and the request of each; none: it waits for work.
        avoided: Nodes on which it was not to start.
        since: When it was asked for, or probed.
        patience: Seconds until it may be asked for again.
        node: Where it runs; None: it has not answered yet.
        host: The name of that machine.
        pid: Its process.
        work: The work of the call.
        known_works: Works that it has used, so that it has them.
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


# What an actor was made with: its resources, whether it spares pandas, and its threads.
Kind = tuple[tuple[tuple[str, float], ...], bool, int]


@dataclass
class ActorReserve:
    """Actors between two runs; one that has died meanwhile says so when it is used.

    Attributes:
        handles: By what they were made with.
    """

    handles: dict[Kind, list[Any]] = field(default_factory=dict[Kind, list[Any]])

    def take(self, kind: Kind) -> Any:
        """An actor of a kind, if there is one."""
        waiting = self.handles.get(kind)
        return waiting.pop() if waiting else None

    def keep(self, kind: Kind, handle: Any) -> None:
        """A run has no more use for an actor."""
        self.handles.setdefault(kind, []).append(handle)

    def end_others(self, ray: Any, kinds: Collection[Kind]) -> None:
        """End the actors that are of no such kind."""
        for kind in [kind for kind in self.handles if kind not in kinds]:
            for handle in self.handles.pop(kind):
                ray.kill(handle, no_restart=True)


class RayWorkers:
    """Workers on the nodes of a cluster.

    Args:
        cluster: It.
        check: Run by each worker on its node before its first task.
        folder: For what is too large for a message; on storage that all nodes see.
        needs: Resources of one worker by pool, with Ray's names.
        threads: Threads that one worker's kernels use.
        files: Python files with operators that the workers are to load.
        spare_pandas: See `pandas_import.spare`.
        memory_limit: Bytes of memory of its own that a worker may use before it ends itself; None: no limit.
        row_seconds: A worker ends itself when it takes longer for each row in its hands; None: no limit.
        reserve: Actors of earlier runs, to which those go back that have no task at the end; None: all are ended.
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
        # Workers of a driver that was killed may still read what it sent.
        self._sender = secrets.token_hex(3)
        self._needs = needs
        self._threads = threads
        self._memory_limit = memory_limit
        path = [one for one in sys.path if one]
        self._settings = ray_actor.RunSettings(
            self._sender, str(Path.cwd()), path, files, spare_pandas, memory_limit, row_seconds
        )
        if reserve is not None:
            reserve.end_others(cluster.ray, [self._kind(pool) for pool in needs])
        self._ray.cloudpickle.register_pickle_by_value(ray_actor)
        # One class for all, so that Ray sends its code once.
        self._actor_class = self._ray.remote(max_restarts=0, max_task_retries=0)(ray_actor.RayActor)
        self._actors: dict[str, _Actor] = {}
        # Workers that were not reachable and are asked whether they live; the driver has forgotten them.
        self._doubtful: list[_Actor] = []
        self._works: dict[str, Any] = {}
        self._sources: dict[Source, Any] = {}
        self._number = 0
        self._leaving: set[str] = set()
        self._unfit: set[str] = set()
        # Until when nodes are avoided that were not reachable: Ray takes up to 15 s to notice that one is dead, and
        # until then has workers wait for it.
        self._suspects: dict[str, float] = {}
        # The same of nodes that were short of memory.
        self._resting: dict[str, float] = {}
        self._asked_at = 0.0

    def start(self, pool: str) -> str:
        """Ask for an actor, which may wait for a node."""
        self._number += 1
        name = f"{pool}-{self._number}"
        self._actors[name] = self._asked_for(name, pool)
        return name

    def _asked_for(self, name: str, pool: str) -> _Actor:
        avoided = self._avoided()
        handle = None if self._reserve is None else self._reserve.take(self._kind(pool))
        handle = handle or self._new_handle(pool, avoided)
        call = handle.hello.remote(self._check, self._settings)
        return _Actor(name, pool, handle, {call: None}, avoided, time.monotonic())

    def _kind(self, pool: str) -> Kind:
        needs = self._needs[pool]
        return tuple(sorted(needs.items())), self._settings.spare_pandas, self._threads

    def _new_handle(self, pool: str, avoided: frozenset[str]) -> Any:
        """Ask Ray for an actor."""
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
        """Nodes that get no worker now."""
        now = time.monotonic()
        limited = (*self._suspects.items(), *self._resting.items())
        return frozenset(self._unfit | {node for node, until in limited if until > now})

    def _ask_again(self) -> None:
        """Ask again for workers that wait for nodes that are avoided now, or may not use those that turned out to live.

        One that is on its way to another node loses what it has done, so each has some time to arrive.
        """
        avoided, now = self._avoided(), time.monotonic()
        for actor in self._actors.values():
            if actor.node is None and actor.avoided != avoided and now - actor.since >= actor.patience:
                freed = actor.avoided - avoided
                if avoided - actor.avoided or any(self._cluster.is_alive(node) for node in freed):
                    self._end(actor)
                    again = self._asked_for(actor.name, actor.pool)
                    # A node that comes and goes must not keep workers from starting on others.
                    again.patience = min(2 * actor.patience, _PROBE_SECONDS)
                    self._actors[actor.name] = again

    def load_work(self, key: str, work: Work) -> None:
        """Pickle a work, functions of scripts and notebooks included."""
        self._works[key] = spilled_if_large(pickled(work), self._folder / f"work-{key}-{self._sender}")

    def submit(self, worker: str, request: Request) -> None:
        """Call the actor."""
        actor = self._actors[worker]
        work = None if request.work in actor.known_works else self._works[request.work]
        call = actor.handle.run.remote(work, replace(request, source=self._sent_source(request.source)))
        actor.calls[call] = request

    def _sent_source(self, source: Source) -> Any:
        """The source, or one file of it for all tasks: an input may have a path for each of many files."""
        if len(source.parts) + len(source.base) <= _FEW_PATHS:
            return source
        if source not in self._sources:
            path = self._folder / f"source-{len(self._sources)}-{self._sender}"
            self._sources[source] = spilled_if_large(source, path)
        return self._sources[source]

    def takes_ahead(self, worker: str) -> bool:
        """An actor on a node that is drained gets nothing new."""
        return self._actors[worker].node not in self._leaving

    def stop(self, worker: str, attempt: int) -> None:
        """Put a file next to the part, on which the worker looks: a call would wait until it is free."""
        actor = self._actors.get(worker)
        for request in actor.calls.values() if actor is not None else ():
            if request is not None and request.attempt == attempt:
                with suppress(OSError):  # the worker is ended then
                    stop_path(Path(request.path)).touch()

    def events(self, timeout: float) -> list[Event]:
        """What actors have answered, and which are gone."""
        self._ask_again()
        by_call = {call: one for one in (*self._actors.values(), *self._doubtful) for call in one.calls}
        if not by_call:
            time.sleep(timeout)
            return self._on_leaving_nodes()
        calls = list(by_call)
        answered, _ = self._ray.wait(calls, num_returns=len(calls), timeout=0)
        if not answered:
            answered, _ = self._ray.wait(calls, num_returns=1, timeout=timeout)
        events: list[Event] = []
        have_answered = set(answered)
        # In the order in which each actor does them: the first one that it did not end is what it has died of.
        for call, actor in [(call, actor) for call, actor in by_call.items() if call in have_answered]:
            # One that was found again may just have taken its place.
            if call in actor.calls and (actor in self._doubtful or self._actors.get(actor.name) is actor):
                events += self._events_of(actor, call)
        self._give_up_doubtful()
        return [*events, *self._on_leaving_nodes()]

    def _on_leaving_nodes(self) -> list[Event]:
        """Workers without a task on nodes that are drained get none any more."""
        now = time.monotonic()
        if now - self._asked_at >= _ASK_SECONDS:
            self._asked_at, self._leaving = now, self._cluster.leaving()
        idle = [one for one in self._actors.values() if not one.calls and one.node in self._leaving]
        for actor in idle:
            self._end(actor)
        return [self._gone(one, Cause.NODE, "its node is being drained") for one in idle]

    def _events_of(self, actor: _Actor, call: Any) -> list[Event]:
        """What an answer, or its absence, means."""
        request = actor.calls.pop(call)
        part = "" if request is None else request.path
        is_doubtful = actor in self._doubtful
        try:
            answer = taken(self._ray.get(call))
        except self._ray.exceptions.RayError as error:
            return self._probe_failed(actor, error) if is_doubtful else [self._without_answer(actor, part, error)]
        if answer[0] == "unfit":
            return [] if is_doubtful else [self._unfit_node(actor, *answer[1:])]
        if answer[0] == "ready":
            actor.pid, actor.node, actor.host = answer[1:]
            self._suspects.pop(answer[2], None)
            if is_doubtful:
                return self._found_again(actor)
        elif request is not None:
            actor.known_works.add(request.work)
        event = event_of(actor.name, answer)
        return [replace(event, host=actor.host) if isinstance(event, FatalEvent) else event]

    def _unfit_node(self, actor: _Actor, node: str, problem: str) -> Event:
        """A node that joined late does not pass the check that others have passed: it gets no worker any more."""
        self._unfit.add(node)
        self._end(actor)
        able = self._cluster.able(self._needs[actor.pool])
        if able and all(one["NodeID"] in self._unfit for one in able):
            return FatalEvent(actor.name, problem, "")
        return self._gone(actor, Cause.NODE, problem)

    def _without_answer(self, actor: _Actor, part: str, error: Exception) -> Event:
        errors = self._ray.exceptions
        if isinstance(error, (errors.RayTaskError, errors.ObjectStoreFullError, errors.OutOfDiskError)):
            return FatalEvent(actor.name, one_line(error), str(error), actor.host)
        if isinstance(error, errors.OutOfMemoryError):
            return self._short_of_memory(actor, part, error)
        if isinstance(error, (errors.ActorUnavailableError, errors.ObjectLostError)):
            # What was lost is the connection or the answer, perhaps not the worker.
            return self._unreachable(actor, one_line(error))
        if isinstance(error, errors.ActorDiedError):
            return self._buried(actor, part, error)
        # It cannot be started: its environment cannot be set up, it is not schedulable, ...
        self._end(actor)
        return self._gone(actor, Cause.DIED, one_line(error))

    def _unreachable(self, actor: _Actor, what: str) -> Died:
        """Its task goes to others now; it is asked whether it lives."""
        del self._actors[actor.name]
        if actor.node is None:
            self._end(actor)
        else:
            self._suspects[actor.node] = time.monotonic() + _SUSPECT_SECONDS
            actor.calls, actor.since = {actor.handle.hello.remote(self._check, self._settings): None}, time.monotonic()
            self._doubtful.append(actor)
        return Died(actor.name, Cause.NODE, f"not reachable: {what}")

    def _found_again(self, actor: _Actor) -> list[Event]:
        """A worker that was not reachable lives: it takes the place of one that still waits for a node."""
        self._doubtful.remove(actor)
        waiting = next((one for one in self._actors.values() if one.pool == actor.pool and one.node is None), None)
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
        elif actor.node is not None and not _tells_of_node(error):
            self._suspects.pop(actor.node, None)  # it was the worker
        return []

    def _give_up_doubtful(self) -> None:
        late = time.monotonic() - _PROBE_SECONDS
        for actor in [one for one in self._doubtful if one.since < late or not one.calls]:
            self._doubtful.remove(actor)
            self._end(actor)

    def _buried(self, actor: _Actor, part: str, error: Exception) -> Died:
        if _tells_of_node(error) or (actor.node is not None and not self._cluster.is_alive(actor.node)):
            return self._gone(actor, Cause.NODE, "its node was lost")
        text = str(error)
        if "NODE_OUT_OF_MEMORY" in text or "running low on memory" in text:
            return self._short_of_memory(actor, part, error)
        words = read_crash_note(part)
        if words.is_over_limit:
            limit = self._memory_limit or 0
            return self._gone(actor, Cause.MEMORY, memory_limit_message(limit), words.operator)
        if words.late:
            return self._gone(actor, Cause.TIMEOUT, words.late, words.operator)
        return self._gone(actor, Cause.DIED, one_line(error), words.operator)

    def _short_of_memory(self, actor: _Actor, part: str, error: Exception) -> Died:
        """Ray has ended a worker to save its node; the next one there would soon follow it."""
        text = str(error)
        # One that was still starting has not said where.
        named = _NODE_IN_TEXT.search(text)
        node = named[1] if named else actor.node
        if node is not None:
            self._resting[node] = time.monotonic() + _REST_SECONDS
        what = next((line.strip() for line in text.splitlines() if "memory" in line), "")
        return self._gone(actor, Cause.NODE_MEMORY, what, read_crash_note(part).operator)

    def _gone(self, actor: _Actor, cause: Cause, what: str, operator: str = "") -> Died:
        self._actors.pop(actor.name, None)
        return Died(actor.name, cause, what, operator)

    def busy_with(self, worker: str) -> str:
        """Not known of another machine before its task ends."""
        del worker
        return ""

    def kill(self, worker: str) -> None:
        """End a worker at once."""
        actor = self._actors.pop(worker, None)
        if actor is not None:
            self._end(actor)

    def _end(self, actor: _Actor) -> None:
        self._ray.kill(actor.handle, no_restart=True)

    def close(self) -> None:
        """End all workers, or give back those that have no task."""
        if self._reserve is not None:
            for actor in [one for one in self._actors.values() if one.node is not None and not one.calls]:
                self._reserve.keep(self._kind(actor.pool), self._actors.pop(actor.name).handle)
        for actor in [*self._actors.values(), *self._doubtful]:
            self._end(actor)
        self._actors.clear()
        self._doubtful.clear()
        for sent in [*self._works.values(), *self._sources.values()]:
            discard(sent)

    def pids(self) -> dict[str, int]:
        """The processes of workers that were ready, on whatever node, for tests and monitors."""
        return {name: one.pid for name, one in self._actors.items() if one.pid is not None}


def _tells_of_node(error: Exception) -> bool:
    """Whether an actor died because of its node."""
    return "node has died" in str(error) or bool(getattr(error, "preempted", False))
