"""`jinx.torch.PackedDataset`: packs by number, for trainers that have their own loader."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import get_worker_info

from jinx._dataset.dataset import Dataset
from jinx._optional import require
from jinx._pack.plan import PackPlan
from jinx.torch._encoding import TrainingSample
from jinx.torch._loader_plan import left_out_by, plan_of, whole_of
from jinx.torch._oversize import Tally
from jinx.torch._pack_options import PackOptions, pack_maker


class PackedDataset(TorchDataset[dict[str, Any]]):
    """A map-style dataset of packs: for torch's `DataLoader`, Accelerate, Hugging Face's `Trainer` and TRL.

        packs = jinx.torch.PackedDataset(ds, {"max_length": 4096}, tokenizer="model/")
        Trainer(model, args, train_dataset=packs, data_collator=packs.collate)

    A pack is a dict of `input_ids`, `labels` and `position_ids` (lists), `seq_lengths` (the length of each sample) and
    `samples` (each a `TrainingSample`, with its images). `PackedDataLoader` also shards, balances, resumes and reads
    ahead.

    Args:
        dataset: As for `PackedDataLoader`.
        plan: As for `PackedDataLoader`.
        **options: As for `PackedDataLoader`; the first worker warns once in each epoch, at the first sample that does
            not fit.
    """

    def __init__(
        self,
        dataset: Dataset | Sequence[Dataset],
        plan: PackPlan | Mapping[str, Any],
        **options: Unpack[PackOptions],
    ) -> None:
        whole = whole_of(dataset)
        self._plan = plan_of(plan, dataset, whole, encodes=options.get("encode") is not None)
        self._warns = "oversize" not in options
        if not isinstance(plan, PackPlan) and "oversize" not in plan:
            Tally().warn_of_losses("", "", left_out_by(self._plan))
        self._tally = Tally()
        self._dataset, self._maker = pack_maker(whole, self._plan.max_length, options, self._plan.cut)

    @property
    def plan(self) -> PackPlan:
        """The plan of the current epoch."""
        return self._plan

    def set_epoch(self, epoch: int) -> None:
        """Switch to the packs of another epoch."""
        self._plan = self._plan.with_epoch(epoch)
        self._tally = Tally()

    def __len__(self) -> int:
        """The number of packs."""
        return len(self._plan)

    def __getitem__(self, pack: int) -> dict[str, Any]:
        return self.__getitems__([pack])[0]

    def __getitems__(self, packs: Sequence[int]) -> list[dict[str, Any]]:
        """Several packs, read in one call."""
        chosen = [self._plan[pack].tolist() for pack in packs]
        flat = [position for pack in chosen for position in pack]
        encoded = iter(self._maker.encoding(list(zip(flat, self._dataset.take(flat), strict=True))))
        had_losses = self._tally.has_losses()
        batch = [_as_lists(self._maker.fitting.pack([next(encoded) for _ in pack], self._tally, [])) for pack in chosen]
        worker = get_worker_info()
        if self._warns and not had_losses and (worker is None or worker.id == 0):
            self._tally.warn_of_first_loss(f"epoch {self._plan.epoch}")
        return batch

    def to_hf(self) -> Any:
        """A Hugging Face `datasets.Dataset` of the packs, each read on access; TRL requires this class.

        Raises:
            ImportError: `datasets` is not installed.
        """
        datasets = require("datasets", extra="hf", what="A Hugging Face dataset")
        numbers = datasets.Dataset.from_dict({"pack": range(len(self))})
        return numbers.with_transform(self._columns)

    def _columns(self, numbers: Mapping[str, list[int]]) -> dict[str, list[Any]]:
        packs = self.__getitems__(numbers["pack"])
        return {name: [pack[name] for pack in packs] for name in packs[0]}

    def collate(self, packs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """A batch of packs as `PackedDataLoader` makes it, as `data_collator` or `collate_fn`."""
        return self._maker.collate([pack["samples"] for pack in packs])


def _as_lists(samples: list[TrainingSample]) -> dict[str, Any]:
    places = [sample.position_ids for sample in samples]
    return {
        "input_ids": [token for sample in samples for token in sample.input_ids.tolist()],
        "labels": [label for sample in samples for label in sample.labels.tolist()],
        "position_ids": np.concatenate(places, axis=-1).tolist() if places else [],
        "seq_lengths": [len(sample.input_ids) for sample in samples],
        "samples": samples,
    }
