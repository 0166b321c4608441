"""Packed batches for training from one data loader: how many a second, and what they cost.

Each contestant is a process of its own, in one environment: `python -m bench.packing.feeds NAME FOLDER WORKERS`. All of
them shuffle, decode the same images, tokenize the same conversations with the same tokenizer and lay out batches with
the same collator. litdata and MosaicML Streaming do not pack: a greedy packer runs in the workers of their loader.
"""

import gc
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset

import jinx
import jinx.torch
from bench.packing.feed_stores import COLUMNS, IMAGE_RULE
from bench.peers.peer import decode
from jinx._annotate.encoder import Encoder
from jinx.torch._encoding import IGNORED, TrainingSample
from jinx.torch._packed_batch import PackedCollator

if TYPE_CHECKING:
    from bench.peers.peer import Peer

MAX_LENGTH, MAX_IMAGES, PREFETCH = 4096, 48, 2
_ENCODED_TOGETHER = 32
_WARM_BATCHES = 8


class GreedyPacks(IterableDataset[Any]):
    """Packs the samples of a stream in the order of their arrival, in each worker of a `DataLoader`."""

    def __init__(self, samples: Iterable[Any], plain: Callable[[Any], dict[str, Any]], tokenizer: Path) -> None:
        self._samples, self._plain, self._tokenizer = samples, plain, tokenizer

    def __iter__(self) -> Iterator[dict[str, Any]]:
        encoder = Encoder(COLUMNS, self._tokenizer, image_rule=IMAGE_RULE)
        collate = PackedCollator(MAX_LENGTH, encoder.pad_id)
        pack: list[TrainingSample] = []
        left = MAX_LENGTH
        for sample in self._encoded(encoder):
            size = len(sample.input_ids)
            if size > left or len(pack) == MAX_IMAGES:
                yield collate([pack])
                pack, left = [], MAX_LENGTH
            pack.append(sample)
            left -= size
        if pack:
            yield collate([pack])

    def _encoded(self, encoder: Encoder) -> Iterator[TrainingSample]:
        several: list[dict[str, Any]] = []
        for sample in self._samples:
            several.append(self._plain(sample))
            if len(several) == _ENCODED_TOGETHER:
                yield from _training(encoder, several)
                several = []
        yield from _training(encoder, several)


def _training(encoder: Encoder, samples: list[dict[str, Any]]) -> Iterator[TrainingSample]:
    for sample, encoded in zip(samples, encoder.encode(samples), strict=True):
        if isinstance(encoded, Exception):
            raise encoded
        labels = np.where(encoded.is_label, encoded.input_ids, IGNORED)
        yield TrainingSample(0, encoded.input_ids, labels, [decode(sample["image"])])


def _jinx(how: str) -> Callable[[Path, int], Iterable[Mapping[str, Any]]]:
    def batches(folder: Path, workers: int) -> Iterable[Mapping[str, Any]]:
        dataset = jinx.open(folder / "lengths.jinx")
        return jinx.torch.PackedDataLoader(
            dataset,
            jinx.pack(dataset, MAX_LENGTH, max_images=MAX_IMAGES),
            tokenizer=folder / "model",
            image_rule=IMAGE_RULE,
            decode={"image": "numpy"},
            image_fn=torch.from_numpy,
            num_workers=workers,
            workers=how,
            prefetch_factor=PREFETCH,
        )

    return batches


def _litdata(folder: Path, workers: int) -> Iterable[Mapping[str, Any]]:
    import litdata

    from bench.peers.litdata import PEERS

    return _loader(litdata.StreamingDataset(str(folder / "chunks"), shuffle=True), PEERS[0], folder, workers)


def _streaming(folder: Path, workers: int) -> Iterable[Mapping[str, Any]]:
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    from bench.peers.streaming import PEERS

    clean_stale_shared_memory()
    samples = StreamingDataset(local=str(folder / "mds"), batch_size=1, shuffle=True)
    return _loader(samples, PEERS[0], folder, workers)


def _loader(samples: Any, peer: "Peer", folder: Path, workers: int) -> Iterable[Mapping[str, Any]]:
    def plain(sample: Any) -> dict[str, Any]:
        return {"image": peer.image(sample), "messages": peer.messages(sample)}

    packs = GreedyPacks(samples, plain, folder / "model")
    return DataLoader(packs, batch_size=None, num_workers=workers, prefetch_factor=PREFETCH)


FEEDS: dict[str, Callable[[Path, int], Iterable[Mapping[str, Any]]]] = {
    "jinx": _jinx("threads"),
    "jinx-processes": _jinx("processes"),
    "litdata": _litdata,
    "streaming": _streaming,
}


def measured(name: str, folder: Path, workers: int) -> dict[str, Any]:
    """One epoch of a loader, after a few batches that warm it up."""
    batches = FEEDS[name]
    # Imports, and the pages of the files.
    for _, _ in zip(batches(folder, workers), range(_WARM_BATCHES), strict=False):
        pass
    gc.collect()
    before, started = _cpu(), time.perf_counter()
    loader = batches(folder, workers)
    count = tokens = images = 0
    for batch in loader:
        count += 1
        tokens += batch["num_tokens"]
        images += len(batch["images"])
    wall = time.perf_counter() - started
    del loader
    gc.collect()
    return {"batches": count, "tokens": tokens, "images": images, "wall": wall, "cpu": _cpu() - before}


def _cpu() -> float:
    """User and system time of this process and of the workers that it ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
