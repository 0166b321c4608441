"""The base of loaders that follow a plan's schedule: threads or worker processes, and exact resumption."""

import itertools
import operator
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from jinx._arguments import whole_number, worker_number
from jinx._core import Batches
from jinx._dataset.added_identity import identity_with_columns
from jinx._dataset.dataset import Dataset
from jinx._dataset.identity import require_identity
from jinx._pack.plan import PackPlan
from jinx._pack.schedule import required_state as required_position
from jinx.errors import InvalidError
from jinx.torch._background_iterator import ahead
from jinx.torch._distributed import rank_and_world
from jinx.torch._loader import pinned, spare_cores
from jinx.torch._pack_options import Read

if TYPE_CHECKING:
    from jinx._pack.schedule import Balance, PackSchedule

Workers = Literal["threads", "processes"]
# For each pack of a batch, the positions of its samples.
Positions = list[list[int]]
R = TypeVar("R")

_VERSION = 4
_MEMBERS = {"version", "epoch", "dataset"}
_FILLER = -1


class ScheduledLoader(Generic[R]):
    """The base class of loaders that follow a schedule.

    Args:
        dataset: The dataset.
        plan: The samples of each pack.
        make: Makes the object for the loop from the packs of a batch; picklable for worker processes.
    """

    def __init__(
        self,
        dataset: Dataset,
        plan: PackPlan,
        make: Callable[[Read], R],
        *,
        batch_size: int,
        accumulation: int,
        rank: int | None,
        world_size: int | None,
        num_workers: int | None,
        workers: Workers,
        prefetch_factor: int,
        pin_memory: bool,
        drop_last: bool,
        balance: "Balance",
        multiprocessing_context: Any,
    ) -> None:
        if workers not in {"threads", "processes"}:
            raise ValueError(f"workers={workers!r}: give 'threads' or 'processes'")
        whole_number("prefetch_factor", prefetch_factor, least=1)
        self.dataset = dataset
        self.rank, self.world_size = rank_and_world(rank, world_size)
        self.num_workers = spare_cores() if num_workers is None else worker_number("num_workers", num_workers, 0)
        self.workers: Workers = workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self._plan = plan
        self._make = make
        self._context = multiprocessing_context
        self._layout: dict[str, Any] = {
            "batch_size": batch_size,
            "accumulation": accumulation,
            "balance": balance,
            "drop_last": drop_last,
        }
        self._resume: Mapping[str, Any] | None = None
        self._active = self._schedule(None)
        self._done = 0
        self._iteration = 0

    @property
    def plan(self) -> PackPlan:
        """The plan of the current epoch."""
        return self._plan

    @property
    def epoch(self) -> int:
        """The epoch of the next iteration; each complete iteration adds one."""
        return self._plan.epoch

    def set_epoch(self, epoch: int) -> None:
        """Plan another epoch: the same samples in other packs. The current epoch continues if it is the same one."""
        if operator.index(epoch) != self.epoch:
            self._begin(self._planned(epoch), None)

    def __len__(self) -> int:
        """Batches of this epoch on each rank, from its beginning."""
        return len(self._whole)

    @property
    def remaining(self) -> int:
        """Remaining batches of this epoch; fewer than `len` after `load_state_dict`."""
        return len(self._active) - self._done

    def state_dict(self) -> dict[str, Any]:
        """The position of all ranks: some integers, the identity of dataset and plan. Call it between two batches.

        The state is the same on each rank. Another number of ranks, workers or packs in a batch may continue from it.
        """
        active = self._active.state(self._done)
        return {"version": _VERSION, "epoch": self.epoch, "dataset": self._identity, **active}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Let the next iteration continue where the saved loaders were, with exactly the remaining packs.

        Raises:
            MismatchError: The state has another dataset or plan; the message names the differences.
            InvalidError: The value is not the state of such a loader, or of one with another `balance`.
        """
        saved = required_state(state)
        require_identity(saved["dataset"], self._identity, "this state")
        plan = self._planned(saved["epoch"])
        position = required_position({name: value for name, value in saved.items() if name not in _MEMBERS})
        plan.require(position["plan"])
        if position["balance"] != self._whole.balance:
            raise InvalidError(
                f"the saved loader had balance={position['balance']!r}, this one has {self._whole.balance!r}; make it "
                "with the same arguments"
            )
        self._begin(plan, position)

    @cached_property
    def _identity(self) -> dict[str, Any]:
        return identity_with_columns(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        resume, self._resume = self._resume, None
        if self._done or resume is not None:
            self._active = self._schedule(resume)
            self._done = 0
        schedule = self._active
        iteration = self._iteration = self._iteration + 1
        results = self._in_processes(schedule) if self._uses_processes else self._in_threads(schedule)
        for step, result in enumerate(results):
            if not self._continues(iteration, schedule):
                return
            self._done = step + 1
            yield self._finished(result, step)
        if self._continues(iteration, schedule):
            self._begin(self._planned(self.epoch + 1), None)

    def _continues(self, iteration: int, schedule: "PackSchedule") -> bool:
        """Whether a loop is still at the loader's position; False after `set_epoch` or `load_state_dict` inside it.

        Raises:
            InvalidError: Another loop has begun.
        """
        if self._iteration != iteration:
            raise InvalidError(
                "another loop over this loader has begun, and one loader has one position; make a second loader"
            )
        return self._active is schedule

    def _finished(self, result: R, step: int) -> Any:
        """The object to yield for a batch."""
        del step
        return result

    @property
    def _uses_processes(self) -> bool:
        return self.workers == "processes" and self.num_workers > 0

    def _planned(self, epoch: int) -> PackPlan:
        return self._plan.with_epoch(epoch)

    def _begin(self, plan: PackPlan, resume: Mapping[str, Any] | None) -> None:
        schedule = self._schedule(resume, plan)  # an invalid state must change nothing
        if plan is not self._plan:
            self.__dict__.pop("_whole", None)
        self._plan = plan
        self._resume = resume
        self._active = schedule
        self._done = 0

    def _schedule(self, resume: Mapping[str, Any] | None, plan: PackPlan | None = None) -> "PackSchedule":
        epoch_plan = self._plan if plan is None else plan
        return epoch_plan.schedule(world_size=self.world_size, rank=self.rank, resume=resume, **self._layout)

    @cached_property
    def _whole(self) -> "PackSchedule":
        return self._schedule(None)

    def _batches(self, schedule: "PackSchedule") -> Iterator[Positions]:
        for packs in schedule:
            yield [self._positions(pack) for pack in packs.tolist()]

    def _positions(self, pack: int) -> list[int]:
        """The samples of a pack; a filler pack has none."""
        return [] if pack == _FILLER else self._plan[pack].tolist()

    def _in_threads(self, schedule: "PackSchedule") -> Iterator[R]:
        if not self.num_workers:
            return self._read(schedule)
        return ahead(lambda: self._read(schedule), self.prefetch_factor)

    def _read(self, schedule: "PackSchedule") -> Iterator[R]:
        """Batches from values that threads of the core read and decode ahead."""
        sizes: deque[list[int]] = deque()

        def wanted() -> Iterator[Sequence[int]]:
            for packs in self._batches(schedule):
                sizes.append([len(pack) for pack in packs])
                yield list(itertools.chain.from_iterable(packs))

        depth = self.prefetch_factor * self.num_workers
        for outcomes in Batches(self.dataset, wanted(), None, self.num_workers, depth, self._blocks(schedule)):
            remaining = iter(outcomes)
            result = self._make([list(itertools.islice(remaining, size)) for size in sizes.popleft()])
            yield self._in_pinned(result) if self.pin_memory and torch.cuda.is_available() else result

    def _blocks(self, schedule: "PackSchedule") -> tuple[list[int], int, int, int, int] | None:
        """The blocks in which an epoch is read, for `Batches`."""
        del schedule
        return None

    def _in_pinned(self, batch: Any) -> Any:
        return batch.pin_memory() if hasattr(batch, "pin_memory") else pinned(batch)

    def _in_processes(self, schedule: "PackSchedule") -> Iterator[R]:
        loader: DataLoader[Any] = DataLoader(
            _ReadInProcess(self.dataset, self._make),
            batch_size=None,
            sampler=_Counted(self._batches(schedule), len(schedule)),  # pyright: ignore[reportArgumentType]
            num_workers=self.num_workers,
            prefetch_factor=self.prefetch_factor,
            pin_memory=self.pin_memory and torch.cuda.is_available(),
            collate_fn=_as_it_is,
            multiprocessing_context=self._context,
        )
        with _clear_errors():
            iterator = iter(loader)
            try:
                while (result := next(iterator, None)) is not None:
                    if isinstance(result, _Failed):
                        raise result.error
                    yield result
            finally:
                # An exception keeps the iterator alive, so that torch could report its worker's death at any later
                # point of the program.
                iterator._shutdown_workers()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def required_state(state: Any) -> Mapping[str, Any]:
    """Check that a value is a state that `state_dict` returned.

    Raises:
        InvalidError: The value is not a state, or has another version.
    """
    if not isinstance(state, Mapping) or not {"version", "epoch", "plan"} <= state.keys():  # pyright: ignore[reportUnknownMemberType]
        problem = "a dict of something else" if isinstance(state, Mapping) else type(state).__name__
        raise InvalidError(f"this is not the state of a loader of packs, which state_dict returns, but {problem}")
    saved: dict[str, Any] = {**state}
    if saved["version"] != _VERSION:
        raise InvalidError(
            f"this state has version {saved['version']}; this loader knows version {_VERSION}: resume with the version "
            "of jinx that saved it, or begin the epoch again"
        )
    if type(saved["epoch"]) is not int or not isinstance(saved["plan"], Mapping) or "dataset" not in saved:
        raise InvalidError("this state is damaged: its epoch is an integer, its plan and its dataset are dicts")
    return saved


class _Counted:
    """An iterator with a known length, like a sampler."""

    def __init__(self, batches: Iterator[Positions], count: int) -> None:
        self._batches = batches
        self._count = count

    def __iter__(self) -> Iterator[Positions]:
        return self._batches

    def __len__(self) -> int:
        return self._count


class _Failed:
    """Carries an error out of a process, unchanged."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _ReadInProcess(TorchDataset[Any]):
    """Makes the batch of some packs in a worker process."""

    def __init__(self, dataset: Dataset, make: Callable[[Read], Any]) -> None:
        self._dataset = dataset
        self._make = make

    def __getstate__(self) -> tuple[bytes, Callable[[Read], Any]]:
        # The dataset is opened with the first batch, where an error can be passed on; an error at startup would end the
        # process.
        return pickle.dumps(self._dataset), self._make

    def __setstate__(self, state: tuple[bytes, Callable[[Read], Any]]) -> None:
        self._pickled, self._make = state

    def __getitem__(self, packs: Positions) -> Any:
        try:
            dataset = self._opened
            return self._make(self._together(dataset, packs) or [self._read(dataset, pack) for pack in packs])
        except Exception as error:  # noqa: BLE001 - raised again in the loop
            return _Failed(error)

    @property
    def _opened(self) -> Dataset:
        if "_dataset" not in self.__dict__:
            self._dataset = pickle.loads(self._pickled)  # noqa: S301 - pickled by this program
        return self._dataset

    def _together(self, dataset: Dataset, packs: Positions) -> list[list[tuple[int, Any]]] | None:
        """The samples of all packs, read with one call; None if any of them cannot be read."""
        try:
            samples = iter(dataset.take(list(itertools.chain.from_iterable(packs))))
        except Exception:  # noqa: BLE001 - reported sample by sample
            return None
        return [[(position, next(samples)) for position in pack] for pack in packs]

    def _read(self, dataset: Dataset, pack: list[int]) -> list[tuple[int, Any]]:
        try:
            return list(zip(pack, dataset.take(pack), strict=True))
        except Exception:  # noqa: BLE001 - reported below, sample by sample
            return [(position, self._one(dataset, position)) for position in pack]

    def _one(self, dataset: Dataset, position: int) -> Any:
        try:
            return dataset.take([position])[0]
        except Exception as error:  # noqa: BLE001 - the loop decides, by on_error
            return error


@contextmanager
def _clear_errors() -> Generator[None]:
    """Replace the errors that a killed worker leaves (torch's own, or a broken pipe) by one that names the cause.

    Torch raises its error from a signal handler at any point of the program, even while workers are shut down.
    """
    try:
        yield
    except (ConnectionError, EOFError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "DataLoader worker" not in str(error):
            raise
        message = "a worker process was ended by the system, perhaps because memory ran out; try with fewer workers"
        raise RuntimeError(f"{message} ({error})") from error


def _as_it_is(batch: Any) -> Any:
    return batch


def pack_sums(plan: PackPlan, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The sum of one value per sample over each pack: int64 of shape (len(plan),)."""
    running = np.concatenate([[0], np.cumsum(values[plan.positions], dtype=np.int64)])
    return np.diff(running[plan.offsets])
