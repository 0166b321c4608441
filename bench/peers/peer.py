"""What a system can do. One file each derives from `Peer`; heavy packages are imported when they are used."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

FIELDS = ("id", "image", "messages", "source", "width", "height", "score")


class Unsupported(Exception):  # noqa: N818 - not a failure: the peer has no such operation
    """The peer cannot do this; the report gives the message."""


class Peer:
    """A format with one way to read it.

    A store is a directory written by `write`; `open` gives whatever the other methods take as `ds`. Samples may be of
    any kind: the `touch_*` methods know how to read them and return a number that depends on what was read.

    Attributes:
        name: What the command line and the tables call it.
        title: One line for the report.
        environment: The file in requirements/ that lists what it needs; "" for this repository's own environment.
        distributions: Whose versions are reported.
        store: The system whose store it reads, when not its own.
        only: The cases it takes part in; empty for all.
        data: The kinds of data it takes part in.
        modules: Imported before any clock starts; only the cold start pays for imports.
        checked: Whether what it wrote is read back and compared.
        out: The store that is being read; set by the harness.
        snippet: Python that opens `path` and reads the first sample's id and image, for the cold start.
    """

    name = ""
    title = ""
    environment = "ref"
    distributions: tuple[str, ...] = ()
    store = ""
    only: tuple[str, ...] = ()
    data: tuple[str, ...] = ("jpeg", "pixels")
    modules: tuple[str, ...] = ()
    checked = True
    out = Path()
    snippet = ""

    def write(self, source: Path, out: Path) -> None:
        """Write the rows of a Parquet file into the empty directory `out`."""
        raise Unsupported(f"cannot write {source.name} into {out.name}: it has no writer")

    def open(self, out: Path) -> Any:
        """The store, ready for reading."""
        raise NotImplementedError

    def stream(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        """The samples in order. `fields` are the columns that will be touched, for peers that must know beforehand."""
        del fields
        return ds

    def pick(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterator[Any]:
        """The samples at these positions, one by one."""
        del fields
        return map(ds.__getitem__, order)

    def batches(self, ds: Any, order: Sequence[int], size: int) -> Iterator[Iterable[Any]]:
        """The samples at these positions, `size` at a time, by the peer's fastest way."""
        for start in range(0, len(order), size):
            yield self.pick(ds, order[start : start + size])

    def shuffled(self, ds: Any, order: Sequence[int], fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        """Iterate in the given order."""
        return self.pick(ds, order, fields)

    def sorted(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        """Sort by the number of messages with a function of the sample, then iterate."""
        lengths = [len(self.messages(sample)) for sample in self.pick(ds, range(len(ds)), ["messages"])]
        return self.pick(ds, sorted(range(len(ds)), key=lengths.__getitem__), fields)

    def lengths(self, ds: Any) -> Iterable[int]:
        """The number of messages of every sample, by the peer's fastest way, as whatever that gives."""
        return (len(self.messages(sample)) for sample in self.stream(ds, ["messages"]))

    def loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        """Batches of whole samples, by torch's DataLoader or what the peer has in its place."""
        return data_loader(Opened(self, ds), size, workers)

    def image_loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        """The same with every JPEG decoded into an array of shape (height, width, 3)."""
        return data_loader(Opened(self, ds, self.decoded), size, workers)

    def picklable(self, sample: Any) -> Any:
        """What a worker process sends; by default the sample as it is."""
        return sample

    def decoded(self, sample: Any) -> dict[str, Any]:
        """A sample with its image as an array."""
        return {"id": sample["id"], "messages": self.messages(sample), "image": decode(self.image(sample))}

    def image(self, sample: Any) -> Any:
        """The image's bytes."""
        return sample["image"]

    def messages(self, sample: Any) -> Any:
        """The list of messages."""
        return sample["messages"]

    def plain(self, sample: Any) -> dict[str, Any]:
        """All columns as plain Python objects, for comparing the content."""
        return {name: sample[name] for name in FIELDS if name != "image"} | {"image": bytes(self.image(sample))}

    def touch_field(self, sample: Any) -> int:
        """Read the id."""
        return len(sample["id"])

    def touch_count(self, sample: Any) -> int:
        """Read the id and the number of messages."""
        return len(sample["id"]) + len(sample["messages"])

    def touch_messages(self, sample: Any) -> int:
        """Read all messages."""
        messages = sample["messages"]
        return len(messages) + len(messages[-1]["content"][-1]["text"])

    def touch_all(self, sample: Any) -> int:
        """Read every column."""
        return touched(sample, sample["image"], sample["messages"])

    def touch_decoded(self, sample: Any) -> int:
        """Read a decoded image's shape."""
        height, width, _ = sample["image"].shape
        return int(height * 10_000 + width)


class Streamed(Peer):
    """A system whose datasets torch's DataLoader takes as they are; the workers decode images."""

    def loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        return data_loader(ds, size, workers)

    def image_loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        return data_loader(ds, size, workers, collate=self.decoded_batch)

    def decoded_batch(self, samples: list[Any]) -> list[Any]:
        """Runs in the workers."""
        return list(map(self.decoded, samples))


class Opened:
    """A map-style dataset that each worker process opens for itself: open files must not be shared."""

    def __init__(self, peer: Peer, ds: Any, convert: Callable[[Any], Any] | None = None) -> None:
        self.peer, self.ds, self.convert = peer, ds, convert or peer.picklable
        self.length, self.process = len(ds), os.getpid()

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        if self.process != os.getpid():
            self.ds, self.process = self.peer.open(self.peer.out), os.getpid()
        (samples,) = self.peer.batches(self.ds, indices, len(indices))
        return list(map(self.convert, samples))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "ds": None, "process": None}


def data_loader(
    ds: Any, size: int | None, workers: int, context: str = "fork", collate: Callable[[list[Any]], Any] = list
) -> Iterable[Iterable[Any]]:
    """Torch's own."""
    import torch.utils.data

    collate_fn = collate if size else None
    return torch.utils.data.DataLoader(
        ds, batch_size=size, num_workers=workers, collate_fn=collate_fn, multiprocessing_context=context
    )


def touched(sample: Any, image: Any, messages: Any) -> int:
    """A number that depends on every column."""
    return (
        len(image)
        + image[-1000]
        + len(messages)
        + len(messages[-1]["content"][-1]["text"])
        + len(sample["id"])
        + len(sample["source"])
        + sample["width"]
        + sample["height"]
        + int(sample["score"] * 10_000)
    )


def decode(jpeg: Any) -> Any:
    """A uint8 tensor of shape (height, width, 3)."""
    import io

    import numpy as np
    import torch
    from PIL import Image

    return torch.from_numpy(np.array(Image.open(io.BytesIO(jpeg)).convert("RGB")))
