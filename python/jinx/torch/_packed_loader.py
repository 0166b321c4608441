"""`jinx.torch.PackedDataLoader`: packs as batches for training."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from jinx._annotate.counting_settings import require_one_way_of_counting
from jinx._dataset.dataset import Dataset
from jinx._failed_iteration import refuses_after_error
from jinx._pack.plan import PackPlan
from jinx._results import Result
from jinx.errors import InvalidError, MismatchError
from jinx.torch._loader_plan import left_out_by, plan_of, whole_of
from jinx.torch._oversize import Tally
from jinx.torch._pack_options import Made, PackOptions, pack_maker
from jinx.torch._scheduled_loader import ScheduledLoader, Workers, pack_sums, required_state

if TYPE_CHECKING:
    from jinx._pack.schedule import Balance

WithoutImages = Literal["keep", "drop", "error"]
_LABELS, _IMAGES = "num_label_tokens", "num_images"


@dataclass(frozen=True, slots=True)
class PackedStats(Result):
    """Counts of what a loader has delivered so far, on this rank.

    Attributes:
        packs: Packs, including fillers.
        fillers: Empty packs at the end of an epoch.
        samples: Samples in these packs.
        tokens: Their tokens.
        label_tokens: Tokens that count in the loss.
        images: Their images.
        occupancy: The share of the packs that is filled with tokens.
        truncated: Samples whose end did not fit, because they are longer than planned, or because the plan cuts long
            ones (`oversize="truncate"`).
        dropped: Samples left out for these reasons.
        empty: Samples that were encoded as no tokens; these are in their packs and take no room.
        skipped: Samples left out because of an error (`on_error="skip"`).
    """

    packs: int
    fillers: int
    samples: int
    tokens: int
    label_tokens: int
    images: int
    occupancy: float
    truncated: int
    dropped: int
    empty: int
    skipped: int


class PackedDataLoader(ScheduledLoader[Made]):
    """Packs of samples as batches, in the order of a plan; the same packs for any number of ranks and workers.

        ds = jinx.open("lengths.jinx")                          # made by jinx annotate
        plan = jinx.pack(ds, max_length=4096, max_images=8)
        loader = jinx.torch.PackedDataLoader(ds, plan, tokenizer="model/", image_rule="qwen-vl")
        for batch in loader:
            batch["input_ids"], batch["labels"], batch["position_ids"], batch["cu_seqlens"]

    A batch is a dict whose rows are packs, padded on the right:

    - `input_ids`, `labels`, `position_ids`, `sequence_ids`: int64 of shape (batch_size, max_length). Labels are -100
      for tokens that do not count in the loss and for the first token of each sample; the model shifts them. Positions
      restart in each sample. Sequence ids count the samples of the batch from 1; padding has 0.
    - `cu_seqlens`, `max_seqlen`: the start of each sequence of the flattened batch and the end of the last one,
      including padding, as int32; and the length of the longest sequence.
    - `sample_ids`: int64 of shape (samples,), the position in the dataset of the samples with sequence id 1, 2, ...
    - `images`, `image_sequence_ids`: a list in the order of the image tokens, and the sequence id of each.
    - `num_tokens`, `num_label_tokens`: of this batch. `num_label_tokens_step`: of all ranks and micro-steps of the
      optimiser step, as planned, if the dataset has that column and the plan truncates no sample.
    - `attention_mask`, if it was requested.

    Divide the summed loss by `num_label_tokens_step`: then every token of a step has the same weight, and a filler
    pack, whose labels are all -100, adds 0 instead of NaN. `jinx.torch.token_loss` does it.

    Args:
        dataset: The dataset that was packed, or a list of several (a mixture).
        plan: From `jinx.pack`, or the keywords to call it with: `{"max_length": 4096, "max_images": 8}`. Unless they
            set `"oversize"` (such as `"oversize": "drop"`), rank 0 warns at the end of an epoch about samples that the
            plan leaves out.
        batch_size: Packs in a batch.
        accumulation: Batches of one optimiser step.
        rank: The number of this rank; by default from `torch.distributed`, else from the environment (`RANK`), else 0.
        world_size: The number of ranks; by default from the same sources (`WORLD_SIZE`), else 1.
        num_workers: Threads that read and decode ahead, or processes; by default one less than there are cores. With 0,
            a batch is made when the loop asks for it.
        workers: `"threads"`: threads of the core read and decode, and another thread tokenizes and collates.
            `"processes"`: for slow Python functions.
        prefetch_factor: Batches that each worker reads ahead.
        pin_memory: Copy tensors into page-locked memory, if there is a GPU.
        drop_last: Leave out the packs that do not fill the last optimiser step; otherwise filler packs fill it, so that
            all ranks have the same number of batches.
        balance: As for `PackPlan.schedule`.
        without_images: Packs without images: `"keep"` them, `"drop"` them on every rank, or refuse the plan
            (`"error"`). A rank that skips the vision model makes the others wait for its gradients.
        multiprocessing_context: The start method of worker processes, as in torch: `"fork"` or `"spawn"`.
        **options: How samples become tokens and packs become batches:

            - `tokenizer`, `chat_template`, `image_rule`, `image_token`, `text_column`, `image_column`: as for
              `jinx.annotate`. Lengths that were counted with other settings raise an error. Without a tokenizer, the
              token ids that `jinx annotate --tokens` stored are used.
            - `encode`: instead of a tokenizer, a function of the sample that returns a dict with `input_ids`, and
              perhaps `labels` and `images`.
            - `image_fn`: applied to each image, for instance a processor that makes a tensor of it.
            - `position_fn`: a function of a `TrainingSample`, whose images are those before `image_fn`. It returns the
              positions of its tokens: integers of shape (tokens,), or (axes, tokens) for models with several axes;
              `position_ids` then has the shape (axes, batch_size, max_length). The function is also called for a sample
              without tokens. `jinx.torch.MRope` makes the positions of the Qwen-VL family.
            - `decode`: as `Dataset.decode`; without it, images are the stored bytes.
            - `oversize`: if the samples of a pack are longer than planned, `"truncate"` (the default) cuts the end off
              (samples with images are left out), `"drop"` leaves samples out, `"error"` raises. A pack never has more
              than `max_length` tokens. Unless it is given, rank 0 warns of what it lost, once when an epoch ends;
              `stats` counts it on each rank.
            - `on_error`: `"raise"` (the default) the error of a sample that cannot be read or encoded, which names its
              position, or `"skip"` it: the pack lacks this sample, and `skipped` lists the error.
            - `filler_image`: the image of a batch without images, with the sequence id 0, so that the vision model runs
              on every rank; multiply its embedding by 0.
            - `padding_free`: one row with the tokens of all packs and no padding, of shape (1, tokens).
            - `attention_mask`: `"2d"` is int64 (batch_size, max_length); `"block"` is bool (batch_size, 1, max_length,
              max_length), True where a token may attend. Kernels that take `cu_seqlens` or restarting positions need no
              mask, and some ignore the borders of samples if there is a 2-D mask.
            - `pad_id`: by default the padding id of the tokenizer, else 0.
            - `collate_fn`: makes the batch from a list of packs, which are lists of `TrainingSample`.

    Attributes:
        skipped: The errors of samples left out in this epoch.

    Raises:
        MismatchError: The plan is for another dataset, or the lengths were counted with other settings.
        ValueError: Arguments exclude each other.
    """

    def __init__(
        self,
        dataset: Dataset | Sequence[Dataset],
        plan: PackPlan | Mapping[str, Any],
        *,
        batch_size: int = 1,
        accumulation: int = 1,
        rank: int | None = None,
        world_size: int | None = None,
        num_workers: int | None = None,
        workers: Workers = "threads",
        prefetch_factor: int = 2,
        pin_memory: bool = False,
        drop_last: bool = False,
        balance: "Balance" = "auto",
        without_images: WithoutImages = "keep",
        multiprocessing_context: Any = None,
        **options: Unpack[PackOptions],
    ) -> None:
        if without_images not in {"keep", "drop", "error"}:
            raise ValueError(f"without_images={without_images!r}: give 'keep', 'drop' or 'error'")
        whole = whole_of(dataset)
        if isinstance(plan, PackPlan) and plan.mask is not None:
            raise InvalidError(
                "a mask chose the packs of this plan, which says nothing about other epochs; give only() the least "
                "that a pack holds, as {'num_images': 1}"
            )
        epoch_plan = plan_of(plan, dataset, whole, encodes=options.get("encode") is not None)
        chosen, maker = pack_maker(whole, epoch_plan.max_length, options, epoch_plan.cut)
        self._without_images: WithoutImages = without_images
        self._warns = "oversize" not in options
        self._tells_plan = not isinstance(plan, PackPlan) and "oversize" not in plan
        self._labels = _labels_of(whole, num_cut=len(epoch_plan.cut))
        self._tally = Tally()
        self.skipped: list[Exception] = []
        super().__init__(
            chosen,
            self._with_images(epoch_plan),
            maker,
            batch_size=batch_size,
            accumulation=accumulation,
            rank=rank,
            world_size=world_size,
            num_workers=num_workers,
            workers=workers,
            prefetch_factor=prefetch_factor,
            pin_memory=pin_memory,
            drop_last=drop_last,
            balance=balance,
            multiprocessing_context=multiprocessing_context,
        )

    def stats(self) -> PackedStats:
        """Counts of what this loader has delivered so far."""
        counted = asdict(self._tally)
        capacity = counted.pop("capacity")
        del counted["cut_as_planned"]
        return PackedStats(**counted, occupancy=self._tally.tokens / capacity if capacity else 0.0)

    @refuses_after_error
    def __iter__(self) -> Iterator[Any]:
        self.skipped = []
        return self._told(super().__iter__())

    def _told(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yields the batches, and warns about losses at the end or when the loop stops early."""
        plan, before = self._plan, replace(self._tally)
        try:
            yield from batches
        finally:
            if self.rank == 0:
                lost = Tally()
                if self._warns:
                    lost.dropped = self._tally.dropped - before.dropped
                    lost.truncated = self._tally.truncated - before.truncated
                    lost.cut_as_planned = self._tally.cut_as_planned - before.cut_as_planned
                by_plan = left_out_by(plan) if self._tells_plan else None
                lost.warn_of_losses(f"epoch {plan.epoch}, rank 0", "they were planned", by_plan)

    def state_dict(self) -> dict[str, Any]:
        """The position of all ranks: some integers, the identity of dataset and plan. Call it between two batches.

        The state is the same on each rank. Another number of ranks, workers or packs in a batch may continue from it.
        """
        return {**super().state_dict(), "without_images": self._without_images}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Let the next iteration continue where the saved loaders were, with exactly the remaining packs.

        Raises:
            MismatchError: The state has another dataset or plan; the message names the differences.
            InvalidError: The value is not the state of a `PackedDataLoader`, or has another `without_images`.
        """
        saved = required_state(state).get("without_images")
        if saved != self._without_images:
            raise InvalidError(f"the saved loader had without_images={saved!r}, this one has {self._without_images!r}")
        super().load_state_dict({name: value for name, value in state.items() if name != "without_images"})

    def _finished(self, result: Made, step: int) -> Any:
        self.skipped += result.skipped
        batch, tally = result.batch, result.tally
        if isinstance(batch, dict):
            tally.label_tokens = int(batch.get(_LABELS, 0))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            total = self._labels_of_step(step)
            if total is not None:
                if tally.label_tokens > total:
                    raise MismatchError(
                        f"a batch has {tally.label_tokens:,} labels, and {_LABELS} says {total:,} for its whole "
                        "optimiser step: the column does not count what samples are encoded to; run jinx annotate "
                        "again, or drop it"
                    )
                batch["num_label_tokens_step"] = total
        self._tally.add(tally)
        return batch  # pyright: ignore[reportUnknownVariableType]

    def _labels_of_step(self, step: int) -> int | None:
        """The number of labels in a step over all ranks; it comes from the plan, so that ranks need not communicate."""
        if self._labels_of_packs is None:
            return None
        packs = self._active.step_packs(step // self._active.accumulation)
        return int(self._labels_of_packs[packs[packs >= 0]].sum())

    @cached_property
    def _labels_of_packs(self) -> npt.NDArray[np.int64] | None:
        return None if self._labels is None else pack_sums(self._plan, self._labels)

    def _planned(self, epoch: int) -> PackPlan:
        if epoch == self.epoch:
            return self._plan
        self.__dict__.pop("_labels_of_packs", None)
        return self._with_images(super()._planned(epoch))

    def _with_images(self, plan: PackPlan) -> PackPlan:
        """The plan after applying `without_images`."""
        if self._without_images == "keep":
            return plan
        if not plan.has_images:
            raise InvalidError(
                f"without_images={self._without_images!r} needs {_IMAGES} of all samples, which the plan lacks: "
                "plan with lengths that jinx annotate counted with an image rule, or of a function that returns it"
            )
        has_any = plan.totals(_IMAGES) > 0
        if self._without_images == "drop":
            return plan.only({_IMAGES: 1})
        if not has_any.all():
            none = int((~has_any).sum())
            raise InvalidError(f"{none:,} of {len(plan):,} packs have no image; without_images='drop' leaves them out")
        return plan


def _labels_of(dataset: Dataset, *, num_cut: int) -> npt.NDArray[np.int64] | None:
    """The labels of each sample; None if that is not known, or not how many labels samples have after truncation."""
    if _LABELS not in dataset.column_names:
        return None
    if num_cut:
        warnings.warn(
            f"the plan truncates {num_cut:,} samples, and {_LABELS} counts the labels of whole ones: batches have no "
            'num_label_tokens_step; plan with oversize="drop", or drop the column',
            stacklevel=3,
        )
        return None
    require_one_way_of_counting([dataset])
    counts = dataset.column(_LABELS)
    # The column is a list, so some value in it is not a number.
    lacking = np.ma.getmaskarray(counts) if hasattr(counts, "dtype") else np.array([not _is_int(n) for n in counts])
    if lacking.any():
        raise InvalidError(
            f"sample {int(lacking.argmax())} has no {_LABELS}, and others have: count all of them with jinx annotate, "
            "or drop the column, which leaves num_label_tokens_step out of the batches"
        )
    return np.asarray(counts, dtype=np.int64)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
