"""Lays out packs as the tensors of a batch, with attention masks and sequence boundaries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from jinx.torch._encoding import IGNORED, TrainingSample

Mask = Literal["none", "2d", "block"]


@dataclass(frozen=True)
class PackedCollator:
    """Lays packs out as the rows of a batch.

    Sample `k` of a batch, counted from 1 over all its rows, has the sequence id `k`; padding has 0.

    Args:
        max_length: Tokens of a row; None: the tokens of the longest row.
        pad_id: The id of padding.
        padding_free: One row with the tokens of all packs, and no padding.
        attention_mask: `"2d"` is 1 at tokens and 0 at padding; `"block"` is True for pairs where a token attends to an
            earlier token of its own sample, or to itself.
        filler_image: The image of a batch without images, with the sequence id 0, so that the vision model runs on
            every rank.
        axes: The shape of a token's position: () for one number, (3,) for time, height and width.
    """

    max_length: int | None
    pad_id: int = 0
    padding_free: bool = False
    attention_mask: Mask = "none"
    filler_image: Any = None
    axes: tuple[int, ...] = ()

    def __call__(self, packs: Sequence[Sequence[TrainingSample]]) -> dict[str, Any]:
        """The batch of some packs; a pack may be empty."""
        rows = [[sample for pack in packs for sample in pack]] if self.padding_free else packs
        widths = [sum(len(sample.input_ids) for sample in row) for row in rows]
        fixed = None if self.padding_free else self.max_length
        width = max(1, *widths) if fixed is None else fixed
        shape = len(rows), width
        input_ids = np.full(shape, self.pad_id, dtype=np.int64)
        labels = np.full(shape, IGNORED, dtype=np.int64)
        positions = np.zeros((*self.axes, *shape), dtype=np.int64)
        sequences = np.zeros(shape, dtype=np.int64)
        lengths: list[int] = []
        number = 0
        for r, row in enumerate(rows):
            sizes = [len(sample.input_ids) for sample in row]
            used = sum(sizes)
            if row:
                input_ids[r, :used] = np.concatenate([sample.input_ids for sample in row])
                labels[r, :used] = np.concatenate([sample.labels for sample in row])
                positions[..., r, :used] = self._positions(row, sizes)
                sequences[r, :used] = np.repeat(np.arange(number + 1, number + 1 + len(row)), sizes)
            number += len(row)
            # For kernels that take cu_seqlens, padding is a sequence of its own.
            positions[..., r, used:] = np.arange(width - used)
            lengths += [*sizes, width - used]
        bounds = np.concatenate([[0], np.cumsum([length for length in lengths if length])]).astype(np.int32)
        samples = [sample for row in rows for sample in row]
        batch: dict[str, Any] = {
            "input_ids": _tensor(input_ids),
            "labels": _tensor(labels),
            "position_ids": _tensor(positions),
            "cu_seqlens": _tensor(bounds),
            "max_seqlen": int(np.diff(bounds).max()),
            "sequence_ids": _tensor(sequences),
            "sample_ids": torch.tensor([sample.position for sample in samples], dtype=torch.int64),
            "num_tokens": sum(widths),
            "num_label_tokens": int((labels != IGNORED).sum()),
        }
        self._add_images(batch, samples)
        if self.attention_mask == "2d":
            batch["attention_mask"] = _tensor((sequences > 0).astype(np.int64))
        elif self.attention_mask == "block":
            batch["attention_mask"] = _tensor(block_mask(sequences))
        return batch

    def _positions(self, row: Sequence[TrainingSample], sizes: list[int]) -> npt.NDArray[np.int64]:
        """The positions of the samples of a row, one after another."""
        if any(sample.positions is not None for sample in row):
            positions = [sample.position_ids for sample in row]
            if (
                odd := next((k for k, array in enumerate(positions) if array.shape[:-1] != self.axes), None)
            ) is not None:
                raise ValueError(
                    f"sample {row[odd].position}: position_fn returned the shape {positions[odd].shape}, and "
                    f"{(*self.axes, 0)} for a sample without tokens; the axes are the same for all samples"
                )
            return np.concatenate(positions, axis=-1)
        return np.arange(sum(sizes)) - np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)

    def _add_images(self, batch: dict[str, Any], samples: Sequence[TrainingSample]) -> None:
        images = [image for sample in samples for image in sample.images]
        owners = [k for k, sample in enumerate(samples, 1) for _ in sample.images]
        if not images and self.filler_image is not None:
            images, owners = [self.filler_image], [0]
        batch["images"] = images
        batch["image_sequence_ids"] = torch.tensor(owners, dtype=torch.int64)


def _tensor(values: npt.NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(values)  # pyright: ignore[reportUnknownMemberType]


def block_mask(sequences: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """The block mask, of shape (rows, 1, width, width); padding attends to padding, so that no row is empty."""
    same = sequences[:, :, None] == sequences[:, None, :]
    return np.tril(same)[:, None]
