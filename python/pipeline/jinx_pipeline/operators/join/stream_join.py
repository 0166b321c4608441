"""A join with another stream of a graph."""

from typing import Any, ClassVar

from jinx_pipeline.operators.api.keyed import Partitioned
from jinx_pipeline.operators.join.join import Join


class StreamJoin(Join):
    """Adds columns of the rows of another stream, which the run writes as a dataset first.

    The reader of a graph makes it from a node with `join`; it has no name of its own in recipes.

    Attributes:
        path: The dataset; empty until the run has written it.
    """

    name: ClassVar[str] = "join"
    other_is_input = True
    path: str = ""

    def resolve(self) -> None:
        """There is nothing to check before the run writes the dataset."""

    def bind(self, path: str) -> None:
        for name in ("_other", "_identity"):
            self.__dict__.pop(name, None)
        self.path = path

    @property
    def writes(self) -> tuple[str, ...]:
        return () if self.columns is None and not self.path else super().writes

    def partitions(self, samples: int, max_keys: int) -> int:
        return Partitioned.partitions(self, samples, max_keys)

    @property
    def parameters(self) -> dict[str, Any]:
        # Instead of a path, the node of the stream identifies its rows.
        return {name: value for name, value in super().parameters.items() if name != "path"}

    def _digest_of(self, parameters: dict[str, Any]) -> str:
        return super(Join, self)._digest_of(parameters)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() if self.path else dict(self.__dict__)
