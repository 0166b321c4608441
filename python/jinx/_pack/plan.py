"""The class `PackPlan`: the plan of an epoch, with its schedule, facts, picture and file."""

import dataclasses
import operator
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from jinx import _core
from jinx._pack.packs import Packs, require_least
from jinx.errors import InvalidError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from jinx._pack.schedule import Balance, PackSchedule
    from jinx._pack.stats import PackStats
    from jinx._results import WriteResult


class PackPlan(Packs):
    """The samples of each pack, known before the first step. `jinx.pack` returns a plan.

    `len(plan)` is the number of packs, `plan[i]` the positions of the samples of pack `i`: int64 of shape (n,). With
    several sources, positions count over all of them, one after another. A plan depends only on the samples' sizes and
    its `config`, never on ranks, workers or threads. It can be pickled.
    """

    def stats(self) -> "PackStats":
        """Facts about the plan: packs, samples, how full the packs are, and the samples left out."""
        from jinx._pack.stats import stats_of

        return stats_of(self)

    def only(self, kept: "Mapping[str, int] | npt.NDArray[np.bool_]") -> "Self":
        """The plan without some of its packs; their samples move to no other pack, and `stats` counts them.

            plan.only({"num_images": 1})    # without packs that have no image, in each epoch

        Args:
            kept: The minimum of each size in a pack, which `with_epoch` also applies to other epochs; or a mask of the
                packs of this epoch to keep: bool of shape (len(plan),).

        Raises:
            InvalidError: The mask does not fit the packs, or a name is not a size of the plan.
        """
        import numpy as np

        if isinstance(kept, Mapping):
            given = {name: operator.index(number) for name, number in kept.items()}
            require_least(self.stored_sizes, given)
            least = {**self.config.least}
            for name, number in given.items():
                least[name] = max(number, least.get(name, 0))
            config = dataclasses.replace(self.config, least=least)
            parts = (self.offsets, self.positions, self.left_out, self.mask)
            stricter = type(self)(self.stored_sizes, config, *parts)
            return stricter.kept_by(stricter.has_least(), self.mask)
        mask = np.asarray(kept)
        if mask.dtype != np.bool_ or mask.shape != (len(self),):
            raise InvalidError(
                f"only: give a bool for each of the {len(self):,} packs, or the least that a pack holds, not "
                f"{mask.dtype} of shape {mask.shape}"
            )
        return self.kept_by(mask, _core.hash_bytes((self.mask or "").encode() + mask.tobytes()))

    def with_epoch(self, epoch: int) -> "Self":
        """The plan of another epoch: the same samples in other packs.

        Raises:
            InvalidError: `only` got a mask, which says nothing about the packs of other epochs.
        """
        if epoch == self.epoch:
            return self
        if self.mask is not None:
            raise InvalidError(
                f"a mask chose the packs of epoch {self.epoch}, which says nothing about those of epoch {epoch}; "
                "give only() the least that a pack holds, as {'num_images': 1}"
            )
        return type(self).make(self.stored_sizes, dataclasses.replace(self.config, epoch=epoch))

    def schedule(
        self,
        *,
        world_size: int = 1,
        rank: int = 0,
        batch_size: int = 1,
        accumulation: int = 1,
        balance: "Balance" = "auto",
        drop_last: bool = False,
        resume: Mapping[str, Any] | None = None,
    ) -> "PackSchedule":
        """The packs that one rank trains on, step by step. Every rank computes the same schedule and takes its part.

        Args:
            world_size: The number of ranks.
            rank: The number of this rank, from 0.
            batch_size: Packs of one rank in one micro-step.
            accumulation: Micro-steps of one optimiser step.
            balance: Give the ranks of a micro-step packs of the same cost: a name in `sizes`, `"num_tokens^2"`, a dict
                of such names and their factors, or None for packs in the plan's order. `"auto"` takes patches, else
                images, else the squares of the tokens.
            drop_last: Leave out the packs that do not fill the last optimiser step; otherwise filler packs fill it:
                empty packs with the number -1.
            resume: A result of `PackSchedule.state`: continue from there, with any number of ranks.

        Raises:
            InvalidError: A number is out of range, or `balance` names no size.
        """
        from jinx._pack.schedule import PackSchedule

        return PackSchedule(
            self,
            world_size=world_size,
            rank=rank,
            batch_size=batch_size,
            accumulation=accumulation,
            balance=balance,
            drop_last=drop_last,
            resume=resume,
        )

    def plot(self, path: str | os.PathLike[str], *, packs: int = 32, tokens_per_image: int = 0) -> None:
        """Draw the first packs: samples as segments, padding grey, images at the right.

        Args:
            path: The file; its suffix selects the format: `.png`, `.svg` or `.pdf`. An existing file is replaced.
            packs: The number of packs to draw.
            tokens_per_image: The tokens of one image; they are hatched.
        """
        from jinx._outputs import output_name
        from jinx._pack.picture import draw_packs

        draw_packs(self, output_name(path), packs, tokens_per_image)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> "WriteResult":
        """Save the plan as a JINX file of one sample, in one step. `PackPlan.load` checks and opens it.

        Args:
            path: The file; its name ends in `.jinx`.
            overwrite: Replace an existing file.
        """
        from jinx._pack.plan_file import save

        return save(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Self":
        """Open a plan that `save` wrote.

        Raises:
            CorruptFileError: The file is damaged, or its packs are invalid.
            MismatchError: Another version of the packer made it.
        """
        from jinx._pack.plan_file import load

        return cls(*load(path))
