"""The packers of other projects: the installed ones as they are, the algorithms of the others written down again.

mmdp, nanoVLM and torchtune do not install next to current packages: these are our own short versions of what they do.
Every function takes sizes and returns packs: lists of positions.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Sizes = dict[str, npt.NDArray[np.uint32]]
Packs = list[list[int]]
SPARE_BAGS = 5
AXOLOTL_GROUP = 100_000
AXOLOTL_BINS = 200


def trl(sizes: Sizes, max_length: int, rows: int | None) -> Packs:
    """TRL's `pack_dataset`, best fit decreasing, on lists of tokens, `rows` samples at once (its default: 1000)."""
    import datasets
    import pyarrow as pa
    from trl.data_utils import pack_dataset

    datasets.disable_progress_bars()
    lengths = sizes["num_tokens"].astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    positions = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    table = pa.table({"input_ids": pa.ListArray.from_arrays(offsets, positions)})
    packed = pack_dataset(
        datasets.Dataset(table), max_length, "bfd", {"batch_size": rows or len(lengths), "keep_in_memory": True}
    )
    column = packed.data.column("input_ids").combine_chunks()
    values, ends = column.values.to_numpy(), column.offsets.to_numpy()
    return [np.unique(values[start:end]).tolist() for start, end in pairwise(ends)]


def axolotl(sizes: Sizes, max_length: int) -> Packs:
    """The multipack sampler of axolotl: first fit in groups of 100,000, in one process."""
    from axolotl.utils.samplers.multipack import pack_parallel

    lengths = sizes["num_tokens"].astype(np.int32)
    return pack_parallel(lengths, max_length, AXOLOTL_GROUP, AXOLOTL_BINS, num_processes=1, safe_mode=False)


def in_order(sizes: Sizes, max_length: int) -> Packs:
    """Greedy packing, as torchtune and mmdp do it: a pack closes when the next sample does not fit."""
    packs: Packs = []
    left = 0
    for position, length in enumerate(sizes["num_tokens"].tolist()):
        if not packs or length > left:
            packs.append([])
            left = max_length
        packs[-1].append(position)
        left -= length
    return packs


def first_fit_buffers(sizes: Sizes, max_length: int, buffer: int = 512) -> Packs:
    """The toy bin packing of mmdp: first fit decreasing over buffers of 512 samples."""
    lengths = sizes["num_tokens"].tolist()
    packs: Packs = []
    for start in range(0, len(lengths), buffer):
        members: Packs = []
        left: list[int] = []
        for position in sorted(range(start, min(start + buffer, len(lengths))), key=lambda i: -lengths[i]):
            pack = next((number for number, room in enumerate(left) if room >= lengths[position]), len(left))
            if pack == len(left):
                left.append(max_length)
                members.append([])
            members[pack].append(position)
            left[pack] -= lengths[position]
        packs += members
    return packs


def balanced_knapsack(sizes: Sizes, max_length: int, max_images: int, sequences: int, spare: int = SPARE_BAGS) -> Packs:
    """The balanced knapsack of nanoVLM and mmdp: each buffer's samples into the least loaded of a few bags.

    Args:
        sizes: Tokens and images.
        max_length: The tokens of a bag.
        max_images: The images of a bag.
        sequences: The buffer, in sequences of `max_length` tokens: 8 in nanoVLM's script, 512 in mmdp's.
        spare: Bags opened beyond those that the tokens need.
    """
    lengths, images = sizes["num_tokens"].tolist(), sizes["num_images"].tolist()
    packs: Packs = []
    for buffer in _buffers(lengths, sequences * max_length):
        total = sum(lengths[position] for position in buffer)
        bags: list[list[int]] = [[0, 0] for _ in range(-(-total // max_length) + spare)]
        members: Packs = [[] for _ in bags]
        for position in sorted(buffer, key=lambda i: -lengths[i]):
            for bag in sorted(range(len(bags)), key=lambda number: bags[number][0]):
                if bags[bag][0] + lengths[position] <= max_length and bags[bag][1] + images[position] <= max_images:
                    break
            else:
                bag = len(bags)
                bags.append([0, 0])
                members.append([])
            bags[bag][0] += lengths[position]
            bags[bag][1] += images[position]
            members[bag].append(position)
        packs += [pack for pack in members if pack]
    return packs


def _buffers(lengths: list[int], tokens: int) -> Iterator[list[int]]:
    buffer: list[int] = []
    held = 0
    for position, length in enumerate(lengths):
        buffer.append(position)
        held += length
        if held >= tokens:
            yield buffer
            buffer, held = [], 0
    if buffer:
        yield buffer


# Name: (how many samples it gets, whether images count, the packer).
OTHERS: dict[str, tuple[int, bool, Callable[[Sizes, int, int], Packs]]] = {
    "torchtune, mmdp greedy (algorithm)": (200_000, False, lambda sizes, tokens, _: in_order(sizes, tokens)),
    "mmdp bin packing, buffers of 512 (algorithm)": (
        20_000,
        False,
        lambda sizes, tokens, _: first_fit_buffers(sizes, tokens),
    ),
    "axolotl multipack": (200_000, False, lambda sizes, tokens, _: axolotl(sizes, tokens)),
    "TRL bfd, 1000 rows (its default)": (20_000, False, lambda sizes, tokens, _: trl(sizes, tokens, 1000)),
    "TRL bfd, all rows": (20_000, False, lambda sizes, tokens, _: trl(sizes, tokens, None)),
    "nanoVLM knapsack, 8 sequences (algorithm)": (
        20_000,
        True,
        lambda sizes, tokens, images: balanced_knapsack(sizes, tokens, images, 8),
    ),
    "mmdp knapsack, 512 sequences (algorithm)": (
        20_000,
        True,
        lambda sizes, tokens, images: balanced_knapsack(sizes, tokens, images, 512),
    ),
}
