"""Makes training samples from stored ones: tokens come from the dataset, an encoder, or a user function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from jinx._annotate.conversation import images_of
from jinx._annotate.counting import at_sample
from jinx._annotate.counting_settings import require_current_values, require_same_settings, require_tokens
from jinx._annotate.encoder import Encoded, Encoder
from jinx._annotate.lengths import IDS, MASK
from jinx._suggest import unknown_column

if TYPE_CHECKING:
    from jinx._dataset.dataset import Dataset

_IMAGES = ("images", "image")
IGNORED = -100
# One number per token, or one per axis and token.
_POSITION_SHAPES = (1, 2)


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """A sample in the form that the model receives.

    Attributes:
        position: The position of the sample in the dataset.
        input_ids: int64 of shape (tokens,).
        labels: int64 of shape (tokens,): the id itself if it counts in the loss, otherwise -100. The model shifts them.
        images: Its images.
        positions: int64 of shape (tokens,) or (axes, tokens): the result of `position_fn`; None: 0, 1, 2, ...
    """

    position: int
    input_ids: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    images: list[Any]
    positions: npt.NDArray[np.int64] | None = None

    @property
    def position_ids(self) -> npt.NDArray[np.int64]:
        """`positions`, or by default numbers from 0."""
        return np.arange(len(self.input_ids)) if self.positions is None else self.positions

    def with_images(self, images: list[Any]) -> "TrainingSample":
        """The same sample with other images."""
        return replace(self, images=images)

    def cut(self, tokens: int) -> "TrainingSample":
        """The first `tokens` tokens, and all images."""
        positions = None if self.positions is None else self.positions[..., :tokens]
        return replace(self, input_ids=self.input_ids[:tokens], labels=self.labels[:tokens], positions=positions)


class Encoding:
    """Makes training samples from stored samples; pickled into worker processes.

    Args:
        dataset: The dataset, for the names of its columns.
        encode: A function of a sample that returns a dict with `input_ids`, perhaps `labels`, and perhaps `images`; or
            the keywords of `Encoder`; or None for the token ids that `jinx annotate --tokens` stored.
        image_column: The column with the images of a sample; by default `images` or `image`. None if `encode` is a
            function, which then returns the images.
        image_fn: Applied to each image, for instance a processor that makes a tensor of it.
        position_fn: Makes the positions of a sample, whose images are those before `image_fn`.

    Raises:
        KeyError: There is no such column, or there are no stored token ids.
        MismatchError: The lengths of the dataset were counted with other settings, or from other values of a column.
    """

    def __init__(
        self,
        dataset: "Dataset",
        encode: Callable[[Any], Any] | Mapping[str, Any] | None,
        *,
        image_column: str | None,
        image_fn: Callable[[Any], Any] | None,
        position_fn: Callable[[TrainingSample], Any] | None,
    ) -> None:
        names = dataset.column_names
        self.image_fn = image_fn
        self.position_fn = position_fn
        self._function: Callable[[Any], Any] | None = None
        self._encoder: Encoder | None = None
        self.columns: list[str] | None = None
        if callable(encode):
            require_current_values(dataset)
            self._function = encode
            self._images = None
            return
        if image_column is not None and image_column not in names:
            raise KeyError(unknown_column(image_column, names))
        self._images = image_column or next((name for name in _IMAGES if name in names), None)
        if encode is not None:
            self._encoder = Encoder(names, image_column=image_column, **encode)
            require_same_settings(dataset, self._encoder.settings())
            self._images = self._encoder.image_column
            self.columns = self._encoder.columns
            return
        if IDS not in names or MASK not in names:
            raise KeyError(
                "this dataset has no token ids: give tokenizer= or encode=, or store them with jinx annotate --tokens"
            )
        require_tokens(dataset)
        self.columns = [IDS, MASK, *([self._images] if self._images else [])]

    @property
    def pad_id(self) -> int:
        """The padding id of the tokenizer; 0 if there is no tokenizer."""
        return 0 if self._encoder is None else self._encoder.pad_id

    def __call__(self, samples: Sequence[tuple[int, Any]]) -> list[TrainingSample | Exception]:
        """The training samples; a failed sample is replaced by an error that names its position.

        Args:
            samples: For each sample (position, sample or the error of reading it).
        """
        outcomes: list[TrainingSample | Exception] = [sample for _, sample in samples]
        good = [i for i, (_, sample) in enumerate(samples) if not isinstance(sample, Exception)]
        encoded = iter(self._encoder.encode([samples[i][1] for i in good])) if self._encoder else None
        for i in good:
            position, sample = samples[i]
            try:
                outcomes[i] = self._finished(self._made(position, sample, None if encoded is None else next(encoded)))
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 - the loop handles it according to on_error
                outcomes[i] = at_sample(error, position)
        return outcomes

    def _made(self, position: int, sample: Any, encoded: "Encoded | Exception | None") -> TrainingSample:
        if isinstance(encoded, Exception):
            raise encoded
        if self._function is not None:
            return self._returned(position, self._function(sample))
        if encoded is None:
            ids, is_label = sample[IDS].astype(np.int64), sample[MASK].astype(np.bool_)
        else:
            ids, is_label = encoded.input_ids, encoded.is_label
        images = [] if self._images is None else _flat(sample.get(self._images))
        return TrainingSample(position, ids, np.where(is_label, ids, IGNORED), images)

    def _returned(self, position: int, returned: Any) -> TrainingSample:
        """Converts the result of a user function."""
        members: dict[str, Any] = {**returned} if isinstance(returned, Mapping) else {}
        if IDS not in members:
            raise ValueError("encode returned no input_ids; it returns a dict with them")
        ids = _numbers(members[IDS], IDS)
        given = members.get("labels")
        labels = ids.copy() if given is None else _numbers(given, "labels")
        if ids.shape != labels.shape:
            raise ValueError(f"encode returned {len(ids)} input_ids and {len(labels)} labels")
        labels[:1] = IGNORED
        images = members.get("images")
        if isinstance(images, str | bytes | Mapping) or not (images is None or hasattr(images, "__iter__")):
            raise ValueError(f"encode returned {type(cast('object', images)).__name__} as images; give a list of them")
        return TrainingSample(position, ids, labels, [] if images is None else list(images))

    def _finished(self, sample: TrainingSample) -> TrainingSample:
        """Add the positions, and apply `image_fn` to the images."""
        if self.position_fn is not None:
            sample = replace(sample, positions=positions_of(self.position_fn, sample))
        if self.image_fn is None:
            return sample
        return sample.with_images([self.image_fn(image) for image in sample.images])


def positions_of(position_fn: Callable[[TrainingSample], Any], sample: TrainingSample) -> npt.NDArray[np.int64]:
    """The positions that a user function returns for a sample.

    Raises:
        ValueError: The function returned anything except integers of shape (tokens,) or (axes, tokens).
    """
    positions = np.asarray(position_fn(sample))
    tokens = len(sample.input_ids)
    if (
        positions.ndim not in _POSITION_SHAPES
        or positions.shape[-1] != tokens
        or (tokens and positions.dtype.kind not in "iu")
    ):
        raise ValueError(
            f"position_fn returned {positions.dtype} of shape {positions.shape}; give integers of shape ({tokens},) or "
            f"(axes, {tokens})"
        )
    return positions.astype(np.int64)


def _numbers(values: Any, name: str) -> npt.NDArray[np.int64]:
    """A copy of what `encode` returned, as int64 of shape (tokens,)."""
    array = np.asarray(values)
    is_empty = array.shape == (0,)
    if array.ndim != 1 or not (is_empty or array.dtype.kind in "iu"):
        raise ValueError(
            f"encode returned {name} that are {array.dtype} of shape {array.shape}; give integers of shape (tokens,)"
        )
    if array.dtype == np.uint64 and (array > np.iinfo(np.int64).max).any():
        raise ValueError(f"encode returned {name} that do not fit into 64 bits: {array.max()}")
    return array.astype(np.int64)


def _flat(value: Any) -> list[Any]:
    """The images of a sample, stored or decoded."""
    if isinstance(value, list):
        values: list[Any] = [*value]
        return [image for element in values for image in _flat(element)]
    return images_of(value) if value is None or isinstance(value, bytes | Mapping) else [value]
