"""The resources that a worker must have for an operator, and the resulting pool."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from jinx._sizes import natural_size, parse_size
from jinx._suggest import hint

_UNITS = ((10**9, "GB"), (1 << 30, "GiB"), (10**6, "MB"), (1 << 20, "MiB"))


@dataclass(frozen=True)
class Resources:
    """The resources that a worker must have to run an operator.

    Operators with equal resources share workers; other operators run in other workers.

    Attributes:
        cpus: Cores.
        gpus: GPUs; a fraction shares one GPU, and several are assigned as a whole.
        memory: Bytes of memory, in addition to the batch.
    """

    cpus: float = 1.0
    gpus: float = 0.0
    memory: int = 0

    @property
    def pool(self) -> str:
        """The name of the pool of workers with these resources, such as `cpu`, `gpu` or `4cpu-0.5gpu-8GB`."""
        kinds = [_counted(self.cpus, "cpu")] if not self.gpus or self.cpus != 1 else []
        if self.gpus:
            kinds.append(_counted(self.gpus, "gpu"))
        if self.memory:
            unit, name = next(((unit, name) for unit, name in _UNITS if self.memory % unit == 0), (1, "B"))
            kinds.append(f"{self.memory // unit}{name}")
        return "-".join(kinds)

    def __str__(self) -> str:
        kinds = [(self.cpus, "CPU"), (self.gpus, "GPU")]
        named = [f"{amount:g} {name}{'' if amount == 1 else 's'}" for amount, name in kinds if amount]
        return ", ".join([*named, *([f"{natural_size(self.memory)} of memory"] if self.memory else [])])

    def at_least(self, other: "Resources") -> "Resources":
        """The larger amount of each resource."""
        return Resources(max(self.cpus, other.cpus), max(self.gpus, other.gpus), max(self.memory, other.memory))

    def updated(self, amounts: Mapping[str, Any]) -> "Resources":
        """These resources with some amounts replaced, such as `{"gpus": 0.5, "memory": "8GB"}`.

        Raises:
            ValueError: A name is unknown, or a value is invalid.
        """
        values: dict[str, Any] = {}
        for name, value in amounts.items():
            if name not in _NAMES:
                raise ValueError(f"resources has no {name!r}{hint(str(name), _NAMES) or f'; it has: {_LISTED}'}")
            if name == "memory" and isinstance(value, str):
                values[name] = parse_size(value)
            elif isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
                raise ValueError(f"resources.{name} is a number of at least 0, not {value!r}")
            elif name == "cpus" and not value:
                raise ValueError("resources.cpus is a number above 0")
            else:
                values[name] = int(value) if name == "memory" else float(value)
        return replace(self, **values)


_NAMES = ("cpus", "gpus", "memory")
_LISTED = ", ".join(_NAMES)


def _counted(amount: float, name: str) -> str:
    return name if amount == 1 else f"{int(amount) if amount == int(amount) else amount}{name}"
