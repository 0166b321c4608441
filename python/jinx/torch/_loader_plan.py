"""The plan of a loader: makes it from the dataset, or compares a given one with the dataset."""

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, cast

import numpy as np

from jinx._dataset.dataset import Dataset
from jinx._dataset.identity import identity_of, require_identity
from jinx._pack.pack import pack
from jinx._pack.plan import PackPlan
from jinx._pack.sizes import IMAGES, PATCHES, TOKENS, shown_sizes
from jinx.errors import InvalidError, MismatchError

_KEYWORDS = {TOKENS: "max_length", IMAGES: "max_images", PATCHES: "max_patches"}


def required(dataset: Any) -> Dataset:
    """Check that the argument of a loader is a dataset.

    Raises:
        TypeError: The argument is not a dataset, for instance a path.
    """
    if isinstance(dataset, Dataset):
        return dataset
    message = f"dataset: give a jinx.Dataset, not {type(dataset).__name__}"
    if isinstance(dataset, str | PathLike):
        message += f"; open it first: jinx.open({os.fsdecode(cast('str', dataset))!r})"
    raise TypeError(message)


def whole_of(dataset: Dataset | Sequence[Dataset]) -> Dataset:
    """The datasets of a loader, one or several, as one dataset.

    Raises:
        TypeError: One of them is not a dataset, for instance a path.
        ValueError: The list is empty.
    """
    if isinstance(dataset, list | tuple):
        return Dataset.concat([required(part) for part in dataset])
    return required(dataset)


def plan_of(
    plan: PackPlan | Mapping[str, Any],
    dataset: Dataset | Sequence[Dataset],
    whole: Dataset,
    *,
    encodes: bool,
) -> PackPlan:
    """A plan for the samples of a dataset, in their order.

    Args:
        plan: A plan, or the keywords of `jinx.pack`.
        dataset: The dataset, or several that are mixed.
        whole: The datasets as one dataset.
        encodes: Whether a function of the user makes the tokens. Then arrays of lengths belong to this function, and
            may differ from the lengths in the dataset.

    Raises:
        MismatchError: The plan is for other samples or another order, or was made from other lengths.
        TypeError: `plan` is neither a plan nor keywords.
    """
    if not isinstance(plan, PackPlan):
        if not isinstance(plan, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"plan: give what jinx.pack returns, or its keywords in a dict, not {type(plan).__name__}")
        return pack(dataset, **plan)
    samples = sum(plan.num_samples)
    if samples != len(whole):
        raise MismatchError(f"the plan is for {samples:,} samples, the dataset has {len(whole):,}")
    planned = plan.stored_sizes
    start = 0
    for number, (count, source) in enumerate(zip(planned.samples, planned.sources, strict=True)):
        stop = start + count
        part = whole if count == samples else whole[start:stop]
        where = "" if len(planned.samples) == 1 else f" (source {number})"
        columns = {name: column[start:stop] for name, column in planned.columns.items()}
        if source is not None:
            require_identity(source, identity_of(part), f"the plan{where}")
            _require_sizes(columns, _shown(part, list(columns), planned.lengths, where), where)
        else:
            _require_lengths(columns[TOKENS], _shown(part, [TOKENS], TOKENS, where).get(TOKENS), where, encodes=encodes)
        start = stop
    return plan


def _shown(part: Dataset, names: Sequence[str], lengths: str, where: str) -> Mapping[str, Any]:
    try:
        return shown_sizes(part, names, lengths)
    except InvalidError as error:
        raise MismatchError(f"the plan was made of other lengths{where} than this dataset has: {error}") from error


def left_out_by(plan: PackPlan) -> str | None:
    """The warning about samples that a plan left out because they are over a budget; None if there are none."""
    count = plan.left_out.oversize
    if not count:
        return None
    budgets = ", ".join(f"{_KEYWORDS.get(name, name)}={limit}" for name, limit in plan.budgets.items())
    drawn = count + plan.left_out.empty + plan.left_out.filtered + len(plan.positions)
    return (
        f"epoch {plan.epoch}: the plan leaves out {count:,} of {drawn:,} samples, because they are over a budget "
        f"({budgets}); among the keywords of the plan, 'oversize': 'truncate' keeps their first tokens, and 'drop' "
        "accepts it"
    )


def _require_sizes(planned: Mapping[str, Any], current: Mapping[str, Any], where: str) -> None:
    """Refuse a plan that was made from sizes other than those that its dataset has now."""
    for name, column in current.items():
        differs = planned[name] != column
        if differs.any():
            first = int(differs.argmax())
            raise MismatchError(
                f"the plan was made of other lengths{where}: {name} of {int(differs.sum()):,} of {len(differs):,} "
                f"samples differs, of sample {first} it was {planned[name][first]} and is {column[first]}; make the "
                "plan from the dataset as it is now"
            )


def _require_lengths(planned: Any, current: Any, where: str, *, encodes: bool) -> None:
    """Refuse arrays of lengths that differ from the lengths in the dataset, if it has any."""
    if current is None or np.array_equal(planned, current):
        return
    if np.array_equal(np.sort(planned), np.sort(current)):
        raise MismatchError(f"the plan is for these samples in another order{where}; make it from the dataset as it is")
    if not encodes:
        raise MismatchError(
            f"the plan was made of other lengths{where} than the num_tokens of this dataset, which say how its samples "
            "are encoded; make it from the dataset, or give encode= if the samples are encoded otherwise"
        )
