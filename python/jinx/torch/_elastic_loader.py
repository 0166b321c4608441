"""`jinx.torch.ElasticLoader`: single samples in a global random order, which any number of ranks can resume."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jinx._dataset.dataset import Dataset
from jinx._dataset.selection import BlockOrder
from jinx._failed_iteration import refuses_after_error
from jinx._pack.pack import pack as make_plan
from jinx._pack.plan import PackPlan
from jinx.errors import InvalidError, LimitError
from jinx.torch._block_order import epoch_in_blocks, required_order
from jinx.torch._collate import collate
from jinx.torch._loader_plan import required
from jinx.torch._pack_options import Read
from jinx.torch._scheduled_loader import ScheduledLoader, Workers, required_state

if TYPE_CHECKING:
    from jinx._dataset.decode_media import DecodeSpec


@dataclass(frozen=True)
class _Batch:
    """A batch of samples; pickled into worker processes."""

    collate: Callable[[list[Any]], Any]
    skips_errors: bool

    def __call__(self, packs: Read) -> tuple[Any, list[Exception]]:
        samples: list[Any] = []
        skipped: list[Exception] = []
        for _, sample in (item for pack in packs for item in pack):
            if not isinstance(sample, Exception):
                samples.append(sample)
            elif self.skips_errors:
                skipped.append(sample)
            else:
                raise sample
        return self.collate(samples) if samples else None, skipped


def _plan_of_tokens(dataset: Dataset, tokens: int, seed: int | None) -> PackPlan:
    """Batches of at most `tokens` tokens, with a warning if samples are in no batch.

    Raises:
        LimitError: A sample has more tokens.
    """
    try:
        plan = make_plan(dataset, tokens, strategy="next_fit", oversize="error", seed=seed)
    except LimitError:
        problem = f"some samples have more tokens than tokens_per_batch={tokens}"
        raise LimitError(f"{problem}; leave them out, ds.filter('num_tokens <= {tokens}'), or raise it") from None
    if plan.left_out.empty:
        warnings.warn(
            f"{plan.left_out.empty:,} of {len(dataset):,} samples have no tokens (num_tokens is 0) and are in no batch",
            stacklevel=3,
        )
    return plan


class ElasticLoader(ScheduledLoader[tuple[Any, list[Exception]]]):
    """Samples without packing: shuffled as a whole, divided among ranks, and resumed exactly by any number of them.

    With `tokens_per_batch`, batches have different numbers of samples and about equal numbers of tokens. Samples
    without tokens are in no batch, which a warning says.

    Args:
        dataset: A dataset or view.
        batch_size: Samples of one rank in a batch.
        tokens_per_batch: Instead of `batch_size`: the maximum number of tokens in a batch, by the column `num_tokens`.
        accumulation: Batches of one optimiser step.
        shuffle: A new random order in each epoch; otherwise the order of the dataset. `"blocks"` mixes blocks of
            neighbours, as `Dataset.shuffle(blocks=True)`: a dataset in an object store is read in large pieces. The
            order is the same for any number of ranks and workers.
        seed: The seed of the random order.
        rank: The number of this rank; this and the next six arguments are as for `PackedDataLoader`.
        world_size: The number of ranks.
        num_workers: Threads or processes.
        workers: `"threads"` or `"processes"`.
        prefetch_factor: Batches that each worker reads ahead.
        pin_memory: Copy tensors into page-locked memory.
        multiprocessing_context: The start method of worker processes.
        remainder: What to do at the end of an epoch if some ranks have no samples left: `"pad"` gives them the first
            samples again, and `"drop"` leaves out the last samples, so that all ranks have the same number of batches.
        columns: The columns to read.
        decode: As `Dataset.decode`.
        collate_fn: Makes a batch from a list of samples; by default `jinx.torch.collate`.
        on_error: What to do with a sample that cannot be read: `"raise"` its error, or `"skip"` it and list the error
            in `skipped`. A batch whose samples were all skipped is left out.

    Attributes:
        skipped: The errors of samples left out in this epoch.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int | None = None,
        *,
        tokens_per_batch: int | None = None,
        accumulation: int = 1,
        shuffle: bool | Literal["blocks"] = True,
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
        num_workers: int | None = None,
        workers: Workers = "threads",
        prefetch_factor: int = 2,
        pin_memory: bool = False,
        multiprocessing_context: Any = None,
        remainder: Literal["pad", "drop"] = "pad",
        columns: str | list[str] | None = None,
        decode: "DecodeSpec" = None,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        on_error: Literal["raise", "skip"] = "raise",
    ) -> None:
        if remainder not in {"pad", "drop"} or on_error not in {"raise", "skip"}:
            raise ValueError(f"remainder={remainder!r}, on_error={on_error!r}: give 'pad' or 'drop', 'raise' or 'skip'")
        if batch_size is not None and tokens_per_batch is not None:
            raise ValueError("batch_size and tokens_per_batch exclude each other")
        required(dataset)
        in_blocks = required_order(shuffle)
        if in_blocks and tokens_per_batch is not None:
            raise ValueError("shuffle='blocks' excludes tokens_per_batch, which packs samples of the whole dataset")
        order = seed if shuffle and not in_blocks else None
        self._seed_of_blocks = seed if in_blocks else None
        if tokens_per_batch is None:
            # Treat each sample as a pack, so that ranks and batch sizes may change in the middle of an epoch.
            plan = make_plan(np.ones(len(dataset), dtype=np.uint32), 1, strategy="next_fit", seed=order)
        else:
            plan = _plan_of_tokens(dataset, tokens_per_batch, order)
        chosen = dataset if columns is None else dataset.select_columns(columns)
        self._pads = remainder == "pad"
        self._order: tuple[int, BlockOrder] | None = None
        self.skipped: list[Exception] = []
        super().__init__(
            chosen if decode is None else chosen.decode(decode),
            plan,
            _Batch(collate_fn or collate, on_error == "skip"),
            batch_size=1 if batch_size is None else batch_size,
            accumulation=accumulation,
            rank=rank,
            world_size=world_size,
            num_workers=num_workers,
            workers=workers,
            prefetch_factor=prefetch_factor,
            pin_memory=pin_memory,
            drop_last=remainder == "drop",
            balance=None,
            multiprocessing_context=multiprocessing_context,
        )

    @refuses_after_error
    def __iter__(self) -> Iterator[Any]:
        self.skipped = []
        return (batch for batch in super().__iter__() if batch is not None)

    def _batches(self, schedule: Any) -> Iterator[list[list[int]]]:
        """The batches of a schedule; if this rank has no pack in one, one of its first packs is used again.

        Which one depends on the place in the epoch's order only, so that it is the same after a resumption and for any
        number of ranks.
        """
        for step, packs in enumerate(super()._batches(schedule)):
            if self._pads and len(self._plan):
                place = schedule._first_place(step)
                packs = [pack or self._positions((place + i) % len(self._plan)) for i, pack in enumerate(packs)]  # noqa: PLW2901
            yield packs

    def _positions(self, pack: int) -> list[int]:
        positions = super()._positions(pack)
        return positions if self._seed_of_blocks is None else self._in_blocks(positions, self._seed_of_blocks)

    def _in_blocks(self, positions: list[int], seed: int) -> list[int]:
        return self._order_of_epoch(seed).positions[positions].tolist()

    def _order_of_epoch(self, seed: int) -> BlockOrder:
        if self._order is None or self._order[0] != self.epoch:
            self._order = self.epoch, epoch_in_blocks(self.dataset, seed, self.epoch)
        return self._order[1]

    def _blocks(self, schedule: Any) -> tuple[list[int], int, int, int, int] | None:
        if self._seed_of_blocks is None or not len(self.dataset):
            return None
        order = self._order_of_epoch(self._seed_of_blocks)
        batches = len(self._whole)
        read = len(self.dataset) * (batches - len(schedule)) // batches if batches else 0
        return order.starts.tolist(), order.size, order.mixed, read, self.world_size

    def state_dict(self) -> dict[str, Any]:
        """See `ScheduledLoader.state_dict`."""
        state = super().state_dict()
        return state if self._seed_of_blocks is None else {**state, "blocks": self._seed_of_blocks}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `ScheduledLoader.load_state_dict`.

        Raises:
            InvalidError: The value is not the state of such a loader, or of one with another order.
            MismatchError: The state has another dataset or plan; the message names the differences.
        """
        saved = dict(required_state(state))
        seed = saved.pop("blocks", None)
        if seed != self._seed_of_blocks:
            raise InvalidError(f"the saved loader had {_named(seed)}, this one has {_named(self._seed_of_blocks)}")
        super().load_state_dict(saved)

    def _finished(self, result: tuple[Any, list[Exception]], step: int) -> Any:
        del step
        batch, skipped = result
        self.skipped += skipped
        return batch

    @property
    def plan(self) -> PackPlan:
        """The plan of the current epoch; a pack is one sample, or one batch with `tokens_per_batch`."""
        return self._plan


def _named(seed: Any) -> str:
    return "no blocks" if seed is None else f"shuffle='blocks' and seed={seed}"
