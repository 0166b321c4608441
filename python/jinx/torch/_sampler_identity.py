"""What the state of a `Loader` says about the sampler of its user."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from jinx import _core

# Members of torch's samplers that decide which samples come, and in which order. The rank is not among them: all ranks
# may go on from the state of one.
_SETTINGS = ("num_replicas", "seed", "shuffle", "replacement", "batch_size", "drop_last")


def described_sampler(sampler: Any) -> str | None:
    """A sampler in words: its class, its length and the settings of torch's samplers; a digest of indices in a list.

    Samplers with equal words may still give other samples: what else a class of the user holds is not known.
    """
    if sampler is None:
        return None
    facts: list[str] = []
    try:
        facts.append(f"{len(sampler):,} indices or batches")
    except (TypeError, NotImplementedError):
        facts.append("length unknown")
    if isinstance(cast("object", sampler), Sequence | np.ndarray):
        facts.append(f"digest {_digest(sampler)}")
    settings = ((name, getattr(sampler, name, None)) for name in _SETTINGS)
    facts += [f"{name} {value}" for name, value in settings if isinstance(value, int)]
    inner = described_sampler(getattr(sampler, "sampler", None))
    return f"{type(sampler).__name__} ({', '.join(facts)}{'' if inner is None else f' of {inner}'})"


def _digest(indices: Any) -> str:
    try:
        numbers: Any = np.asarray(indices)
    except ValueError:  # batches of different lengths
        return _core.hash_bytes(repr(indices).encode())
    return _core.hash_bytes(numbers.tobytes() if numbers.dtype.kind in "iu" else repr(indices).encode())
