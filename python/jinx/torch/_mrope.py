"""Positions in three dimensions, for the Qwen-VL family of models."""

from typing import Any

import numpy as np
import numpy.typing as npt

from jinx._annotate.image_rules import PatchesRule, parse_image_rule
from jinx._annotate.image_size import size_of
from jinx.torch._encoding import TrainingSample

_AXES = 3


class MRope:
    """Positions of a sample in time, height and width, for `position_fn`; they begin at 0 in each sample.

        positions = jinx.torch.MRope(image_token=151655, image_rule="qwen-vl")
        loader = PackedDataLoader(ds, plan, tokenizer="model/", image_rule="qwen-vl", position_fn=positions)
        next(iter(loader))["position_ids"].shape        # (3, batch_size, max_length)

    A token of text has one number in all three dimensions. The tokens of an image have the number after the text as
    their time, and count rows and columns from there; the text continues after the largest of these numbers.

    Args:
        image_token: The id of the image tokens.
        image_rule: The rule that the images were counted with: `"qwen-vl"`, with its numbers.

    Raises:
        ValueError: The rule is of another family.
    """

    def __init__(self, image_token: int, image_rule: str = "qwen-vl") -> None:
        rule = parse_image_rule(image_rule)
        if not isinstance(rule, PatchesRule):
            raise ValueError(  # noqa: TRY004 - the rule is a string
                f"MRope needs the grid of patches of a rule qwen-vl:..., not {image_rule!r}"
            )
        self.image_token = image_token
        self._rule = rule

    def __call__(self, sample: TrainingSample) -> npt.NDArray[np.int64]:
        """The positions of a sample: int64 of shape (3, tokens).

        Raises:
            ValueError: The image tokens do not match the images.
        """
        is_image = sample.input_ids == self.image_token
        positions = np.zeros((_AXES, len(is_image)), dtype=np.int64)
        at, start = 0, 0
        for number, image in enumerate(sample.images):
            rows, columns = self._grid(image)
            tokens = rows * columns
            first = at + int(is_image[at:].argmax()) if is_image[at:].any() else len(is_image)
            last = first + tokens
            if last > len(is_image) or not is_image[first:last].all():
                raise ValueError(f"image {number} has {rows} x {columns} tokens, and they are not in the sample")
            positions[:, at:first] = start + np.arange(first - at)
            start += first - at
            row, column = np.divmod(np.arange(tokens), columns)
            positions[:, first:last] = start + np.stack([np.zeros_like(row), row, column])
            at, start = last, start + max(rows, columns)
        if is_image[at:].any():
            raise ValueError(f"there are more image tokens than those of the {len(sample.images)} images")
        positions[:, at:] = start + np.arange(len(is_image) - at)
        return positions

    def _grid(self, image: Any) -> tuple[int, int]:
        """The number of rows and columns of tokens."""
        wide, high = self._rule.resized(*size_of(image))
        unit = self._rule.patch * self._rule.merge
        return high // unit, wide // unit
