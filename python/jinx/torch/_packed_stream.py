"""`jinx.torch.PackedStream`: packs a stream of samples whose lengths are not known beforehand."""

import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack, cast

from torch.utils.data import IterableDataset, get_worker_info

from jinx._annotate.counting import at_sample
from jinx._failed_iteration import refuses_after_error
from jinx._pack.pack import pack as make_plan
from jinx.errors import InvalidError
from jinx.torch._distributed import rank_and_world
from jinx.torch._encoding import TrainingSample
from jinx.torch._oversize import Tally
from jinx.torch._pack_options import PackOptions, pack_maker

if TYPE_CHECKING:
    from jinx._pack.config import Strategy

# A pack that is at least this full takes no more samples.
_FULL = 0.98


class PackedStream(IterableDataset[dict[str, Any]]):
    """Packs a stream in order: encodes and packs a buffer of samples at a time, and yields its full packs.

        source = lambda: jinx.stream("data.jsonl")
        stream = jinx.torch.PackedStream(source, 4096, columns=["messages"], tokenizer="model/")
        for batch in stream: ...

    Batches are those of `PackedDataLoader` with one pack each. The samples of packs that are not full stay in the
    buffer for the next packs. Images wait in stored form: `image_fn` is called when their pack is yielded. Without
    lengths, there is no `len` and no resumption; `jinx annotate` gives both.

    It is an `IterableDataset`: with `DataLoader(stream, batch_size=None, num_workers=2)`, each worker packs its part of
    the samples. The source is divided among ranks and workers sample by sample.

    Args:
        source: The samples, which can be iterated several times: a dataset, a list, or a function that returns an
            iterator.
        max_length: The tokens of a pack.
        columns: Names of the columns, if `tokenizer` is given and the source is not a dataset.
        max_images: The maximum number of images of a pack.
        window: The number of samples in the buffer.
        strategy: As for `jinx.pack`.
        seed: The seed of the order of samples and packs within a buffer; None keeps the order.
        rank: As for `PackedDataLoader`.
        world_size: As for `PackedDataLoader`.
        **options: As for `PackedDataLoader`, except `decode`. A sample longer than `max_length` is treated as
            `oversize` says, and so is one with more images than `max_images`, which cannot be truncated. A sample
            without tokens is left out, and `tally.empty` counts it.

    Attributes:
        tally: Counts so far, in this process.
        skipped: The errors of samples left out.
    """

    def __init__(
        self,
        source: Iterable[Any] | Any,
        max_length: int,
        *,
        columns: list[str] | None = None,
        max_images: int | None = None,
        window: int = 1024,
        strategy: "Strategy" = "knapsack",
        seed: int | None = 0,
        rank: int | None = None,
        world_size: int | None = None,
        **options: Unpack[PackOptions],
    ) -> None:
        _require_source(source)
        names = columns if columns is not None else getattr(source, "column_names", [])
        if "decode" in options:
            raise ValueError("a stream decodes with image_fn, when a pack is complete")
        if operator.index(window) < 1 or operator.index(max_length) < 1:
            raise ValueError(f"window={window}, max_length={max_length}: give 1 or more")
        self._warns = "oversize" not in options
        self._image_fn = options.get("image_fn")
        late: PackOptions = {**options, "image_fn": None}
        _, self._maker = pack_maker(_Columns(names), max_length, late)  # pyright: ignore[reportArgumentType]
        self._source = source
        self._is_spent = False
        self._budgets = (max_length, max_images)
        self._window = window
        self._seed = seed
        self._strategy: Strategy = strategy
        self._rank, self._world = rank_and_world(rank, world_size)
        self.tally = Tally()
        self.skipped: list[Exception] = []

    @refuses_after_error
    def __iter__(self) -> Iterator[dict[str, Any]]:
        before = replace(self.tally)
        try:
            yield from self._batches()
        finally:
            worker = get_worker_info()
            if self._warns and self._rank == 0 and (worker is None or worker.id == 0):
                lost = Tally(
                    dropped=self.tally.dropped - before.dropped, truncated=self.tally.truncated - before.truncated
                )
                lost.warn_of_losses("this stream, first worker", "max_length or have more images than max_images")

    def _batches(self) -> Iterator[dict[str, Any]]:
        buffer: list[TrainingSample] = []
        samples = self._mine()
        for number in itertools.count():
            incoming = list(itertools.islice(samples, max(self._window - len(buffer), 1)))
            buffer += self._encoded(incoming)
            if not incoming and not buffer:
                return
            packs = self._packs(buffer, number)
            full = [pack for pack in packs if not incoming or self._is_full(pack)]
            # If no pack is full, no later samples can fill one, so all packs are given out.
            given = full or packs
            taken = {id(sample) for pack in given for sample in pack}
            buffer = [sample for sample in buffer if id(sample) not in taken]
            yield from map(self._batch, given)

    def _mine(self) -> Iterator[tuple[int, Any]]:
        """The samples of this rank and worker, with their numbers."""
        worker = get_worker_info()
        parts = self._world * (worker.num_workers if worker else 1)
        part = self._rank + self._world * (worker.id if worker else 0)
        source: Any = self._source() if callable(self._source) else self._source
        if isinstance(source, Iterator) and source is self._source:
            if self._is_spent:
                raise InvalidError("the source is an iterator, which gives its samples once; give a function instead")
            self._is_spent = True
        return itertools.islice(enumerate(cast("Iterable[Any]", source)), part, None, parts)

    def _encoded(self, samples: list[tuple[int, Any]]) -> list[TrainingSample]:
        """The samples that fit into a pack, encoded."""
        accepted: list[TrainingSample] = []
        most_images = self._budgets[1]
        for outcome in self._maker.encoding(samples):
            if isinstance(outcome, TrainingSample) and most_images is not None and len(outcome.images) > most_images:
                if self._maker.fitting.oversize == "error":
                    raise at_sample(
                        ValueError(f"{len(outcome.images)} images, more than max_images={most_images}"),
                        outcome.position,
                    )
                self.tally.dropped += 1
                continue
            alone = Tally()
            kept = self._maker.fitting.pack([outcome], alone, self.skipped)
            accepted += kept if kept and len(kept[0].input_ids) else []
            for name in ("truncated", "dropped", "skipped", "empty"):
                setattr(self.tally, name, getattr(self.tally, name) + getattr(alone, name))
        return accepted

    def _packs(self, buffer: list[TrainingSample], number: int) -> list[list[TrainingSample]]:
        max_length, max_images = self._budgets
        sizes = {
            "num_tokens": [len(sample.input_ids) for sample in buffer],
            "num_images": [len(sample.images) for sample in buffer],
        }
        plan = make_plan(
            sizes,
            max_length,
            max_images=max_images,
            strategy=self._strategy,
            window=max(len(buffer), 1),
            seed=self._seed,
            epoch=number,
            threads=1,
        )
        return [[buffer[i] for i in pack] for pack in plan]

    def _is_full(self, pack: list[TrainingSample]) -> bool:
        max_length, max_images = self._budgets
        tokens = sum(len(sample.input_ids) for sample in pack)
        images = sum(len(sample.images) for sample in pack)
        return tokens >= _FULL * max_length or (max_images is not None and images >= max_images)

    def _batch(self, pack: list[TrainingSample]) -> dict[str, Any]:
        if self._image_fn is not None:
            pack = [member.with_images([self._image_fn(image) for image in member.images]) for member in pack]
        self.tally.packs += 1
        self.tally.samples += len(pack)
        self.tally.tokens += sum(len(sample.input_ids) for sample in pack)
        self.tally.capacity += self._budgets[0]
        self.tally.images += sum(len(sample.images) for sample in pack)
        return self._maker.collate([pack])


def _require_source(source: Any) -> None:
    if isinstance(source, str | PathLike) or not (callable(source) or hasattr(source, "__iter__")):
        raise TypeError(
            f"source: give a dataset, a list or a function that returns an iterator, not "
            f'{type(cast("object", source)).__name__}; for a file: lambda: jinx.stream("data.jsonl")'
        )


class _Columns:
    """Stands for the dataset in an `Encoding` of a stream: it has column names, but no files with counted lengths."""

    _definition: Mapping[str, Any] | None = None

    def __init__(self, names: list[str]) -> None:
        self.column_names = names

    def _identities(self) -> list[tuple[int, str]]:
        return []

    def select_columns(self, columns: list[str]) -> "_Columns":
        """See `Dataset.select_columns`."""
        return _Columns(columns)
