"""What the state of a `Loader` says about the sampler of its user."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from jinx import _core

# Members of torch's samplers that decide which samples come, and in which order. The rank is not among them: all ranks
# may resume from the state of one.
_SETTINGS = ("num_replicas", "seed", "shuffle", "replacement", "batch_size", "drop_last")


def described_sampler(sampler: Any) -> str | None:
    """A sampler in words: its class and the settings of torch's samplers; the digest of indices in a list or array.

    Samplers with equal words may still give other samples: what else a class of the user holds is not known.
    """
    if sampler is None:
        return None
    if isinstance(sampler, range):
        return repr(sampler)
    settings = ((name, getattr(sampler, name, None)) for name in _SETTINGS)
    facts = [f"{name} {value}" for name, value in settings if isinstance(value, int)]
    if isinstance(cast("object", sampler), Sequence | np.ndarray):
        facts.append(f"digest {_digest(sampler)}")
    inner = described_sampler(getattr(sampler, "sampler", None))
    if inner is not None:
        facts.append(f"of {inner}")
    return f"{type(sampler).__name__} ({', '.join(facts)})" if facts else type(sampler).__name__


def _digest(indices: Any) -> str:
    """The digest of indices, or of batches of them."""
    try:
        numbers: Any = np.asarray(indices)
    except ValueError:  # batches of different lengths
        numbers = None
    if numbers is None or numbers.dtype.kind not in "iu":
        return _core.hash_bytes(repr([np.asarray(batch).tolist() for batch in indices]).encode())
    return _core.hash_bytes(np.ascontiguousarray(numbers, dtype=np.int64).tobytes())
