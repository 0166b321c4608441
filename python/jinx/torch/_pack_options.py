"""Options that the loaders of packs share: how samples become tokens, and how packs become batches."""

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from jinx._dataset.dataset import Dataset
from jinx._suggest import hint
from jinx.torch._encoding import Encoding, TrainingSample, positions_of
from jinx.torch._loader import pinned
from jinx.torch._oversize import Fitting, Oversize, Tally
from jinx.torch._packed_batch import Mask, PackedCollator

if TYPE_CHECKING:
    from jinx._dataset.decode_media import DecodeSpec

Collate = Callable[[Sequence[Sequence[TrainingSample]]], Any]
# For each pack, the positions of its samples, each with the sample or the error from reading it.
Read = list[list[tuple[int, Any]]]

# The limit of token ids, which are int64.
_IDS = 2**63
_ENCODER = ("tokenizer", "chat_template", "image_rule", "image_token", "text_column")


class PackOptions(TypedDict, total=False):
    """Keywords that `PackedDataLoader`, `PackedDataset` and `PackedStream` share; `PackedDataLoader` explains them."""

    tokenizer: Any
    chat_template: str | os.PathLike[str]
    image_rule: str | Callable[[int, int], Any] | None
    image_token: str | None
    text_column: str | None
    image_column: str | None
    encode: Callable[[Any], Any] | None
    image_fn: Callable[[Any], Any] | None
    position_fn: Callable[[TrainingSample], Any] | None
    decode: "DecodeSpec"
    oversize: Oversize
    on_error: Literal["raise", "skip"]
    filler_image: Any
    padding_free: bool
    attention_mask: Mask
    pad_id: int | None
    collate_fn: Collate | None


_KNOWN = {
    "oversize": ("truncate", "drop", "error"),
    "on_error": ("raise", "skip"),
    "attention_mask": ("none", "2d", "block"),
}


@dataclass
class Made:
    """A batch with its counts and errors; worker processes send it too."""

    batch: Any
    tally: Tally
    skipped: list[Exception]

    def pin_memory(self) -> "Made":
        """The batch with its tensors in page-locked memory; torch calls it for batches of worker processes."""
        return Made(pinned(self.batch), self.tally, self.skipped)


@dataclass(frozen=True)
class PackMaker:
    """Makes a batch from the samples of some packs; pickled into worker processes."""

    encoding: Encoding
    fitting: Fitting
    collate: Collate

    def __call__(self, packs: Read) -> Made:
        """Make the batch."""
        result = Made(None, Tally(), [])
        encoded = iter(self.encoding([item for pack in packs for item in pack]))
        rows = [self.fitting.pack([next(encoded) for _ in pack], result.tally, result.skipped) for pack in packs]
        result.batch = self.collate(rows)
        return result


def pack_maker(
    dataset: Dataset, max_length: int, options: PackOptions, cut: npt.NDArray[np.int64] | None = None
) -> tuple[Dataset, PackMaker]:
    """The dataset with the columns that are read, and the object that makes batches from its samples.

    Args:
        dataset: The dataset.
        max_length: The tokens of a pack.
        options: The options of the loader.
        cut: The samples that the plan cuts to their first `max_length` tokens.

    Raises:
        TypeError: An option does not exist.
        ValueError: An option has an invalid value, or two options exclude each other.
    """
    for name in options:
        if name not in PackOptions.__annotations__:
            raise TypeError(f"no option {name!r}{hint(name, PackOptions.__annotations__)}")
    for name, allowed in _KNOWN.items():
        if options.get(name, allowed[0] if name != "attention_mask" else "none") not in allowed:
            raise ValueError(f"{name}={options.get(name)!r}: give {', '.join(map(repr, allowed))}")
    given: Mapping[str, Any] = {name: value for name, value in options.items() if name in _ENCODER}
    for name in ("encode", "image_fn", "position_fn", "collate_fn"):
        if options.get(name) is not None and not callable(options.get(name)):
            raise TypeError(f"{name}: give a function, not {type(options.get(name)).__name__}")
    function = options.get("encode")
    if function is not None and given:
        raise ValueError(f"encode returns the token ids: it excludes {', '.join(given)}")
    if given and given.get("tokenizer") is None:
        raise ValueError(f"{', '.join(given)}: only together with tokenizer=")
    encoding = Encoding(
        dataset,
        function or given or None,
        image_column=options.get("image_column"),
        image_fn=options.get("image_fn"),
        position_fn=options.get("position_fn"),
    )
    chosen = dataset if encoding.columns is None else dataset.select_columns(encoding.columns)
    decode = options.get("decode")
    pad_id = options.get("pad_id")
    if pad_id is not None and not -_IDS <= operator.index(pad_id) < _IDS:
        raise ValueError(f"pad_id={pad_id} does not fit into 64 bits")
    collator = PackedCollator(
        max_length,
        encoding.pad_id if pad_id is None else pad_id,
        padding_free=options.get("padding_free", False),
        attention_mask=options.get("attention_mask", "none"),
        filler_image=options.get("filler_image"),
        axes=_axes(options.get("position_fn")),
    )
    skips_errors = options.get("on_error", "raise") == "skip"
    fitting = Fitting(max_length, options.get("oversize", "truncate"), skips_errors, cut)
    maker = PackMaker(encoding, fitting, options.get("collate_fn") or collator)
    return chosen if decode is None else chosen.decode(decode), maker


def _axes(position_fn: Callable[[TrainingSample], Any] | None) -> tuple[int, ...]:
    """The shape of a token's position, which a batch of filler packs also has."""
    if position_fn is None:
        return ()
    nothing = np.zeros(0, dtype=np.int64)
    return positions_of(position_fn, TrainingSample(-1, nothing, nothing, [])).shape[:-1]
