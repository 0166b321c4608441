"""A plan as a JINX file of one sample, whose arrays carry checksums."""

import os
from typing import Any

from jinx import _core
from jinx._pack.config import PackConfig
from jinx._pack.packs import LeftOut, Packs
from jinx._pack.sizes import TOKENS, Sizes
from jinx._results import WriteResult
from jinx.errors import CorruptFileError, InvalidError, MismatchError

_SIZES = "sizes"


def save(plan: Packs, path: str | os.PathLike[str], *, overwrite: bool) -> WriteResult:
    """See `PackPlan.save`."""
    from jinx._writer import Writer

    sample: dict[str, Any] = {
        "plan": plan.identity,
        "fingerprint": plan.fingerprint,
        "left_out": [plan.left_out.empty, plan.left_out.oversize, plan.left_out.truncated],
        "offsets": plan.offsets,
        "positions": plan.positions,
        _SIZES: dict(plan.stored_sizes.columns),
    }
    with Writer(path, overwrite=overwrite) as writer:
        writer.write(sample)
    return writer.close()


def load(path: str | os.PathLike[str]) -> tuple[Sizes, PackConfig, Any, Any, LeftOut]:
    """The parts of a plan; see `PackPlan.load`."""
    from jinx._open import open

    name = os.fsdecode(path)
    with open(name) as dataset:
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


def _parts(sample: dict[str, Any], name: str) -> tuple[Sizes, PackConfig, Any, Any, LeftOut]:
    import numpy as np

    identity = dict(sample["plan"])
    if identity.pop("packer") != _core.PACKER_VERSION:
        raise MismatchError(f"{name}: another version of the packer made this plan; make it again with jinx.pack")
    samples = tuple(int(count) for count in identity.pop("samples"))
    identity.pop("sizes")
    if identity["weights"] is not None:
        identity["weights"] = tuple(identity["weights"])
    identity["budgets"] = dict(identity["budgets"])
    config = PackConfig(**identity)
    config.check(len(samples))
    sizes = Sizes({one: _numbers(column) for one, column in dict(sample[_SIZES]).items()}, samples)
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
    plan = Packs(sizes, config, offsets, positions, LeftOut(*(int(count) for count in sample["left_out"])))
    for one, budget in config.budgets.items():
        if (plan.totals(one) > budget).any():
            raise CorruptFileError(f"{name}: a pack holds more than its budget of {one}")
    return sizes, config, offsets, positions, plan.left_out


def _numbers(values: Any) -> Any:
    import numpy as np

    array: Any = np.array(values)
    if array.dtype != np.uint32 or array.ndim != 1:
        raise TypeError(f"an array of {array.dtype} where one of uint32 belongs")
    return array
