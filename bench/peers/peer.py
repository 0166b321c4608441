"""What a contestant can do. One file each derives from `Peer`; heavy packages are imported when they are used."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

FIELDS = ("id", "image", "messages", "source", "width", "height", "score")


class Unsupported(Exception):  # noqa: N818 - not a failure: the peer has no such operation
    """The peer cannot do this; the text says why and stands in the report."""


class Peer:
    """A format with one way to read it.

    A store is a folder written by `write`; `open` gives whatever the other methods take as `ds`. Samples may be of any
    kind: the `touch_*` methods know how to read them and return a number that depends on what was read.

    Attributes:
        name: What the command line and the tables call it.
        title: One line for the report.
        environment: The file in requirements/ that lists what it needs; "" for this repository's own environment.
        distributions: Whose versions are reported.
        store: The contestant whose store it reads, when not its own.
        only: The cases it takes part in; empty for all.
        data: The kinds of data it takes part in.
        modules: Imported before any clock starts; only the cold start pays for imports.
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
    snippet = ""

    def write(self, source: Path, out: Path) -> None:
        """Write the rows of a Parquet file into the empty folder `out`."""
        raise Unsupported(f"cannot write {source.name} into {out.name}: it has no writer")

    def open(self, out: Path) -> Any:
        """The store, ready for reading."""
        raise NotImplementedError

    def stream(self, ds: Any, fields: Sequence[str] = FIELDS) -> Iterable[Any]:
        """The samples in order. `fields` is what will be touched, for peers that must know beforehand."""
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

    def shuffled(self, ds: Any, order: Sequence[int]) -> Iterable[Any]:
        """Iterate in the given order."""
        return self.pick(ds, order)

    def sorted(self, ds: Any) -> Iterable[Any]:
        """Sort by the number of messages with a function of the sample, then iterate."""
        lengths = [len(self.messages(sample)) for sample in self.pick(ds, range(len(ds)), ["messages"])]
        return self.pick(ds, sorted(range(len(ds)), key=lengths.__getitem__))

    def lengths(self, ds: Any) -> Iterable[int]:
        """The number of messages of every sample, by the peer's fastest way."""
        return (len(self.messages(sample)) for sample in self.stream(ds, ["messages"]))

    def loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        """Batches of whole samples in order, by torch's DataLoader or what the peer has in its place."""
        import torch.utils.data

        return torch.utils.data.DataLoader(ds, batch_size=size, num_workers=workers, collate_fn=list)

    def image_loader(self, ds: Any, size: int, workers: int) -> Iterable[Iterable[Any]]:
        """The same with every JPEG decoded into an array of shape (height, width, 3)."""
        import torch.utils.data

        decoded = Decoded(ds, self)
        return torch.utils.data.DataLoader(decoded, batch_size=size, num_workers=workers, collate_fn=list)

    def image(self, sample: Any) -> Any:
        """The image's bytes."""
        return sample["image"]

    def messages(self, sample: Any) -> Any:
        """The list of messages."""
        return sample["messages"]

    def plain(self, sample: Any) -> dict[str, Any]:
        """All fields as plain Python objects, for comparing the content."""
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
        """Read every field."""
        image, messages = sample["image"], sample["messages"]
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

    def touch_decoded(self, sample: Any) -> int:
        """Read a decoded image's shape."""
        height, width, _ = sample["image"].shape
        return int(height * 10_000 + width)


class Decoded:
    """A map-style dataset whose images are decoded by Pillow, as most training scripts do it."""

    def __init__(self, ds: Any, peer: Peer) -> None:
        self.ds = ds
        self.peer = peer

    def __len__(self) -> int:
        return len(self.ds)

    def __getitem__(self, index: int) -> dict[str, Any]:
        sample = self.ds[index]
        return {"id": sample["id"], "messages": self.peer.messages(sample), "image": decode(self.peer.image(sample))}


def decode(jpeg: Any) -> Any:
    """A uint8 tensor of shape (height, width, 3)."""
    import io

    import numpy as np
    import torch
    from PIL import Image

    return torch.from_numpy(np.array(Image.open(io.BytesIO(jpeg)).convert("RGB")))
