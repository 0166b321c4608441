"""Operations on arrays of positions, as in MLDataForge's `index` commands: slice, invert, shuffle, subtract."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jinx._convert.inputs import find_inputs
from jinx._convert.stream import stream
from jinx._rewrite.inputs import openable
from jinx._rewrite.positions_file import Origin

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from jinx._convert.formats import FormatName


def samples_of(paths: Sequence[str], split: str | None, input_format: "FormatName | None") -> Origin:
    """The samples of inputs of any format, counted, and their id if they can be read in place."""
    datasets = [openable(path, split, input_format) for path in paths]
    opened = [dataset for dataset in datasets if dataset is not None]
    if len(opened) == len(datasets):
        from jinx._dataset.dataset import Dataset

        return Origin.of(opened[0] if len(opened) == 1 else Dataset.concat(opened))
    if split is not None:
        raise ValueError("splits are told apart in JINX and MDS; convert the input first: jinx convert IN OUT")
    counts = [
        _count(path, input_format) if dataset is None else len(dataset)
        for path, dataset in zip(paths, datasets, strict=True)
    ]
    return Origin("", sum(counts))


def _count(path: str, input_format: "FormatName | None") -> int:
    inputs = find_inputs([path], input_format)
    return sum(1 for _ in stream(inputs.files, columns=[], input_format=inputs.format))  # pyright: ignore[reportArgumentType]


def sliced(
    values: "npt.NDArray[np.int64]",
    *,
    every: int | None = None,
    offset: int | None = None,
    percentage: float | None = None,
    number: int | None = None,
) -> "npt.NDArray[np.int64]":
    """Take every n-th value, skip the first `offset` of these, and keep the first of the rest.

    Args:
        values: Positions.
        every: The step.
        offset: The number of values to skip at the beginning.
        percentage: The share of values to keep, from 0 to 1.
        number: The number of values to keep.

    Raises:
        ValueError: A number is out of range, or both a share and a number are given.
    """
    if every is not None and every < 1:
        raise ValueError(f"every={every} is not at least 1")
    for name, value in (("offset", offset), ("number", number)):
        if value is not None and value < 0:
            raise ValueError(f"{name}={value} is negative")
    if percentage is not None and number is not None:
        raise ValueError("percentage and number contradict each other; give one of them")
    if percentage is not None and not 0 <= percentage <= 1:
        raise ValueError(f"percentage={percentage} is not between 0 and 1, where 0.5 is one half")
    values = values[:: every or 1][offset or 0 :]
    if percentage is not None:
        number = int(len(values) * percentage)
    return values if number is None else values[:number]


def inverted(values: "npt.NDArray[np.int64]") -> "npt.NDArray[np.int64]":
    """The permutation that undoes another one.

    Raises:
        ValueError: The values are not the numbers from 0 to n - 1, each once.
    """
    import numpy as np

    # Check the range first: the memory for counting grows with the largest value.
    is_within = not len(values) or bool(values.min() >= 0 and values.max() < len(values))
    if not is_within or not (np.bincount(values, minlength=len(values)) == 1).all():
        raise ValueError("only an order of all samples can be reversed: every position from 0 on, each once")
    inverse = np.empty_like(values)
    inverse[values] = np.arange(len(values))
    return inverse


def without(values: "npt.NDArray[np.int64]", taken: Any) -> "npt.NDArray[np.int64]":
    """The values that were not taken, in their order."""
    import numpy as np

    return values[~np.isin(values, taken)]


def shuffled(count: int, seed: int | None) -> "npt.NDArray[np.int64]":
    """The order that MLDataForge gives for this seed."""
    import numpy as np

    return np.random.default_rng(seed).permutation(count)
