"""The datasets for training: each variant's output as a view, the controls, and random parts of a budget's size."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import jinx
from jinx_pipeline.plan.inputs import content_of
from jinx_pipeline.run import Run
from jinx_pipeline.sandbox.spec import CONTROLS, Spec, Variant, with_value
from jinx_pipeline.stored_stats import from_stats, is_measured, measure

if TYPE_CHECKING:
    from jinx_pipeline.recipe.model import Recipe


@dataclass(frozen=True)
class Contestant:
    """A dataset for training.

    Attributes:
        name: The name of the variant or control.
        path: The dataset.
        identity: A digest of the recipe and its input.
        samples: The number of its samples.
    """

    name: str
    path: Path
    identity: str
    samples: int


class Contestants:
    """Makes the datasets of a comparison, each once.

    Args:
        spec: What is compared.
        directory: The directory for them.
        say: Receives messages about progress.
    """

    def __init__(self, spec: Spec, directory: Path, say: Callable[[str], None]) -> None:
        self._spec, self._directory, self._say = spec, directory, say
        directory.mkdir(parents=True, exist_ok=True)

    def of_variant(self, variant: Variant, value: float | None = None) -> Contestant:
        """The output of a variant.

        Args:
            variant: The variant.
            value: The value of its sweep; None if it has none.
        """
        name = variant.name if variant.sweep is None else f"{variant.name} ({variant.sweep.parameter}={value:g})"
        process = variant.process if value is None else with_value(variant, value)
        return self._output(name, process, self._measured(variant))

    def everything(self) -> Contestant:
        """The control with all samples."""
        return self._output(CONTROLS[0], [], None)

    def random(self, samples: int, seed: int) -> Contestant:
        """The control with random samples: a different choice for each seed."""
        everything = self.everything()
        return self.part(everything, samples, seed, name=CONTROLS[1])

    def part(self, whole: Contestant, samples: int, seed: int, name: str | None = None) -> Contestant:
        """Random samples of a dataset; the dataset itself if it is not larger."""
        size = min(samples, whole.samples)
        label = f"{name or ''}/{whole.identity}/{size}/{seed}"
        identity = _digest(label)
        path = self._directory / f"part-{identity}.jinx"
        if not path.exists():
            chosen = np.random.default_rng([seed, samples]).permutation(whole.samples)[:size]
            jinx.open(whole.path).select(np.sort(chosen)).save(path)
        return Contestant(name or whole.name, path, identity, size)

    def _output(self, name: str, process: list[Any], stats: Path | None) -> Contestant:
        recipe = self._spec.recipe(process, self._directory / "x.jinx")
        digest = self._digest_of(recipe)
        path = self._directory / f"variant-{digest}.jinx"
        if not path.exists():
            self._say(f"{name}: running its recipe")
            recipe = self._spec.recipe(process, path)
            Run(recipe if stats is None else from_stats(recipe, str(stats)))()
        dataset = jinx.open(path)
        facts = [_digest(str(base.id)) for base in dataset.info().bases]
        return Contestant(name, path, _digest(f"{digest}{facts}{len(dataset)}"), len(dataset))

    def _measured(self, variant: Variant) -> Path | None:
        """The statistics of a variant with a sweep, measured once; None if it has no sweep."""
        if variant.sweep is None:
            return None
        recipe: Recipe = self._spec.recipe(variant.process, self._directory / "x.jinx")
        path = self._directory / f"stats-{self._digest_of(recipe)}.jinx"
        if not is_measured(str(path)):
            self._say(f"{variant.name}: measuring its statistics")
            measure(recipe, str(path))
        return path

    def _digest_of(self, recipe: "Recipe") -> str:
        """What the output of a recipe is made of, also if the dataset is replaced by another one of its name."""
        return _digest(f"{recipe.content_digest}{self._content}")

    @cached_property
    def _content(self) -> list[dict[str, Any]]:
        """The identities of the sources."""
        sources = self._spec.recipe([], self._directory / "x.jinx").sources
        return [content_of(source.path) for source in sources if source.query is None]


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:24]
