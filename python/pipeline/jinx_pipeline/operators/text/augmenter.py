"""The base class of augmenters, which make samples with slightly changed texts."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Splitter
from jinx_pipeline.operators.api.parameters import Range

if TYPE_CHECKING:
    import numpy.typing as npt

Method: TypeAlias = Callable[[str, np.random.Generator], str]


class Augmenter(Splitter):
    """Makes samples with changed texts; the changes depend on the seed and the sample's id.

    A changed text that is equal to the original makes no sample.

    Attributes:
        sequential: Apply all chosen methods to a text, one after another; otherwise each makes samples of its own.
        aug_num: How many samples are made, by each method or by all in sequence.
        keep_original_sample: Whether the original sample stays too, before those made from it.
    """

    sequential: bool = False
    aug_num: Annotated[int, Range(1, 1000)] = 1
    keep_original_sample: bool = True

    @property
    @abstractmethod
    def methods(self) -> Mapping[str, Method]:
        """The methods, by the names of the parameters that select them."""

    @property
    def reads(self) -> tuple[str, ...]:
        return ("text",)

    @property
    def writes(self) -> tuple[str, ...]:
        return ("text",)

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], Mapping[str, Any]]":
        chosen = [(name, method) for name, method in self.methods.items() if getattr(self, name)]
        chains = [chosen] if self.sequential and chosen else [[method] for method in chosen]
        parents: list[int] = []
        texts: list[str] = []
        for row, (sample_id, originals) in enumerate(zip(batch.ids, batch.texts, strict=True)):
            made = [originals] if self.keep_original_sample else []
            for chain in chains:
                for number in range(self.aug_num):
                    purpose = f"{self.name} {'+'.join(name for name, _ in chain)} {number}"
                    rng = ctx.rng(sample_id, purpose)
                    changed = [_changed(text, chain, rng) for text in originals]
                    made += [changed] if changed != originals else []
            parents += [row] * len(made)
            texts += [text for sample_texts in made for text in sample_texts]
        rows = np.array(parents, dtype=np.int64)
        return rows, batch.take(rows).with_texts_as(texts)


def _changed(text: str, chain: Sequence[tuple[str, Method]], rng: np.random.Generator) -> str:
    for _, method in chain:
        text = method(text, rng)
    return text


def some_of(places: Sequence[int], share: float, rng: np.random.Generator, most: int | None = None) -> list[int]:
    """A random choice of a share of positions, at least one and at most `most`, ascending."""
    if not places:
        return []
    count = max(round(len(places) * share), 1)
    chosen = rng.choice(len(places), size=count if most is None else min(count, most), replace=False)
    return sorted(places[at] for at in chosen.tolist())
