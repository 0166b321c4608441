"""Saves and loads plans, as JINX files of one sample whose arrays have checksums."""

import dataclasses
import os
from typing import Any

from jinx import _core
from jinx._dataset.identity import is_identity
from jinx._pack.config import PackConfig
from jinx._pack.packs import LeftOut, Packs, require_least
from jinx._pack.sizes import TOKENS, Sizes
from jinx._results import WriteResult
from jinx.errors import CorruptFileError, InvalidError, MismatchError

_SIZES = "sizes"
# The positions of all samples are stored as one value, which may be longer than a value of a dataset may be.
_LARGEST = 1 << 40


def save(plan: Packs, path: str | os.PathLike[str], *, overwrite: bool) -> WriteResult:
    """See `PackPlan.save`."""
    from jinx._writer import Writer

    name = os.fsdecode(path)
    if not name.endswith(".jinx"):
        raise ValueError(f"{name}: a plan is one file, whose name ends in .jinx")
    sample: dict[str, Any] = {
        "plan": plan.identity,
        "fingerprint": plan.fingerprint,
        "left_out": list(dataclasses.astuple(plan.left_out)),
        "offsets": plan.offsets,
        "positions": plan.positions,
        _SIZES: dict(plan.stored_sizes.columns),
    }
    with Writer(path, overwrite=overwrite, max_value_bytes=_LARGEST) as writer:
        writer.write(sample)
    return writer.close()


def load(path: str | os.PathLike[str]) -> tuple[Sizes, PackConfig, Any, Any, LeftOut, str | None]:
    """The parts of a plan; see `PackPlan.load`."""
    from jinx._open import open

    name = os.fsdecode(path)
    with open(name, max_value_bytes=_LARGEST) as dataset:
        sample = dict(dataset[0].materialize()) if len(dataset) == 1 else {}
    if not {"plan", "offsets", "positions", "left_out", "fingerprint", _SIZES} <= sample.keys():
        raise InvalidError(f"{name} is not a plan; PackPlan.save writes one")
    try:
        parts = _parts(sample, name)
        plan = Packs(*parts)
        is_same = plan.fingerprint == sample["fingerprint"]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, MismatchError | CorruptFileError):
            raise
        raise CorruptFileError(f"{name}: this is not a plan that can be used: {error}") from error
    if not is_same:
        raise CorruptFileError(f"{name}: the plan does not have the fingerprint that it was saved with")
    return parts


def _parts(sample: dict[str, Any], name: str) -> tuple[Sizes, PackConfig, Any, Any, LeftOut, str | None]:
    import numpy as np

    identity = dict(sample["plan"])
    if identity.pop("packer") != _core.PACKER_VERSION:
        raise MismatchError(f"{name}: another version of the packer made this plan; make it again with jinx.pack")
    samples = tuple(int(count) for count in identity.pop("samples"))
    identity.pop("sizes")
    sources = tuple(identity.pop("sources"))
    lengths, mask = str(identity.pop("lengths")), identity.pop("mask")
    if not all(source is None or is_identity(source) for source in sources) or len(sources) != len(samples):
        raise CorruptFileError(f"{name}: this plan does not say which samples it is for")
    if identity["weights"] is not None:
        identity["weights"] = tuple(identity["weights"])
    identity["budgets"] = dict(identity["budgets"])
    identity["least"] = dict(identity["least"])
    config = PackConfig(**identity)
    config.check(len(samples))
    columns = {budget_name: _numbers(column) for budget_name, column in dict(sample[_SIZES]).items()}
    sizes = Sizes(columns, samples, tuple(None if source is None else dict(source) for source in sources), lengths)
    offsets, positions = _numbers(sample["offsets"]), _numbers(sample["positions"])
    total = sum(samples)
    is_possible = (
        all(len(column) == total for column in sizes.columns.values())
        and set(config.budgets) <= sizes.columns.keys()
        and next(iter(config.budgets)) == TOKENS
        and len(offsets) > 0
        and offsets[0] == 0
        and offsets[-1] == len(positions)
        and bool((np.diff(offsets.astype(np.int64)) > 0).all())
        and (not len(positions) or int(positions.max()) < total)
    )
    if not is_possible:
        raise CorruptFileError(f"{name}: the packs of this plan are not possible")
    left_out = LeftOut(*(int(count) for count in sample["left_out"]))
    plan = Packs(sizes, config, offsets, positions, left_out, mask)
    require_least(sizes, config.least)
    if not plan.has_least().all():
        raise CorruptFileError(f"{name}: a pack holds less than the plan asks for")
    for budget_name, budget in config.budgets.items():
        if (plan.totals(budget_name) > budget).any():
            raise CorruptFileError(f"{name}: a pack holds more than its budget of {budget_name}")
    return sizes, config, offsets, positions, left_out, mask


def _numbers(values: Any) -> Any:
    import numpy as np

    array: Any = np.array(values)
    if array.dtype != np.uint32 or array.ndim != 1:
        raise TypeError(f"an array of {array.dtype} where one of uint32 belongs")
    return array
