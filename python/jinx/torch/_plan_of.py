"""The plan of a loader: made from its dataset, or given and compared with it."""

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, cast

import numpy as np

from jinx._dataset.dataset import Dataset
from jinx._pack.pack import pack
from jinx._pack.plan import PackPlan
from jinx._pack.sizes import TOKENS, read_sizes
from jinx.errors import InvalidError, MismatchError


def required(dataset: Any) -> Dataset:
    """The dataset that a loader was given.

    Raises:
        TypeError: It is something else, for instance a path.
    """
    if isinstance(dataset, Dataset):
        return dataset
    what = f"dataset: give a jinx.Dataset, not {type(dataset).__name__}"
    if isinstance(dataset, str | PathLike):
        what += f"; open it first: jinx.open({os.fsdecode(cast('str', dataset))!r})"
    raise TypeError(what)


def whole_of(dataset: Dataset | Sequence[Dataset]) -> Dataset:
    """One dataset of the one or the several that a loader was given.

    Raises:
        TypeError: There is something else among them, for instance a path.
        ValueError: There is none.
    """
    if isinstance(dataset, list | tuple):
        return Dataset.concat([required(one) for one in dataset])
    return required(dataset)


def plan_of(plan: PackPlan | Mapping[str, Any], dataset: Dataset | Sequence[Dataset], whole: Dataset) -> PackPlan:
    """A plan for the samples of a dataset, in their order.

    Args:
        plan: A plan, or the keywords of `jinx.pack`.
        dataset: The dataset, or several that are mixed.
        whole: The same as one dataset.

    Raises:
        MismatchError: The plan is for another number of samples, or for the same samples in another order.
        TypeError: It is neither a plan nor keywords.
    """
    if not isinstance(plan, PackPlan):
        if not isinstance(plan, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"plan: give what jinx.pack returns, or its keywords in a dict, not {type(plan).__name__}")
        return pack(dataset, **plan)
    samples = sum(plan.num_samples)
    if samples != len(whole):
        raise MismatchError(f"the plan is for {samples:,} samples, the dataset has {len(whole):,}")
    planned = plan.stored_sizes.columns[TOKENS]
    try:
        found = read_sizes(whole, [TOKENS], TOKENS, also=()).columns[TOKENS]
    except (InvalidError, KeyError):
        return plan  # made from lengths that the dataset does not hold
    if not np.array_equal(planned, found) and np.array_equal(np.sort(planned), np.sort(found)):
        raise MismatchError("the plan is for these samples in another order; make it from the dataset as it is now")
    return plan
