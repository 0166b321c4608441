"""Selects the samples with the largest losses: the operator `image_ohem_selector`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.keyed import Decision, Keys
from jinx_pipeline.operators.api.parameters import NotEmpty, ParameterError
from jinx_pipeline.operators.api.registry import module_of_file, register
from jinx_pipeline.operators.order.ranked import Ranked
from jinx_pipeline.operators.order.sort_keys import key_columns
from jinx_pipeline.operators.select.sizes import check_size, size_of


@register("image_ohem_selector", modality="image")
class ImageOhemSelector(Ranked):
    """Keeps the samples with the largest losses, in the order of the dataset; a user function returns the loss.

    The function is `score_fn(model, samples, images, device, **score_kwargs)` and returns a number for each sample of a
    batch; `images` are the decoded images of each sample. Losses are computed batch by batch on any worker. Of equal
    losses, the first are kept. (Online hard example mining.)

        create("image_ohem_selector", score_file="path/to/loss.py", top_ratio=0.1)

    Attributes:
        score_fn: The function; in a recipe, it is in `score_file`.
        model_factory: A function that makes the model, called once in each worker; without it, the model is None.
        score_file: A Python file with the functions.
        score_function: The name of `score_fn` in the file.
        model_function: The name of `model_factory` in the file, which may be missing.
        top_ratio: The share of samples to keep, from 0 to 1, rounded down.
        topk: How many samples to keep; if both are given, the smaller number counts.
        loss_field: The name of the loss in messages.
        device: The device for the model; `"auto"` is that of the worker.
        model_kwargs: Keywords for `model_factory`.
        score_kwargs: Keywords for `score_fn`.
    """

    kind = "selector"
    score_fn: Callable[..., Any] | None = None
    model_factory: Callable[..., Any] | None = None
    score_file: Path | None = None
    score_function: Annotated[str, NotEmpty()] = "score_fn"
    model_function: Annotated[str, NotEmpty()] = "model_factory"
    top_ratio: float | None = None
    topk: int | None = None
    loss_field: Annotated[str, NotEmpty()] = "image_ohem_loss"
    device: str = "auto"
    model_kwargs: dict[str, Any] | None = None
    score_kwargs: dict[str, Any] | None = None

    batch_size = 8
    pure = False  # rounding differs between devices
    may_probe = False
    trust = "runs code"

    def check(self) -> None:
        check_size(self.name, self.top_ratio, self.topk, ("top_ratio", "topk"))
        if (self.score_fn is None) == (self.score_file is None):
            raise ParameterError(self.name, "score_fn", "give score_fn, or score_file with the function")

    def resolve(self) -> None:
        if self.score_file is not None and not self.score_file.is_file():
            raise ParameterError(self.name, "score_file", f"score_file: {self.score_file} is not a file")

    @property
    def reads(self) -> tuple[str, ...]:
        return ("images",)

    @property
    def depends_on_batch(self) -> bool:
        return True

    @property
    def sort_keys(self) -> list[tuple[str, bool, bool]]:
        return [(self.loss_field, False, True)]

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        score = self._function(self.score_fn, self.score_function)
        if score is None:
            raise ImportError(f"{self.score_file} has no function {self.score_function!r}")
        device = ctx.device if self.device == "auto" else self.device
        images = [[medium.image() for medium in media] for media in ctx.each(batch.media("images"))]
        model = ctx.model(self.digest, self._load)
        losses: Any = score(model, batch.samples(), images, device, **(self.score_kwargs or {}))
        if hasattr(losses, "detach"):
            losses = losses.detach().cpu()
        values = np.asarray(losses, dtype=np.float64).reshape(-1)
        if len(values) != len(batch):
            raise ValueError(f"{self.score_function} returned {len(values)} losses for {len(batch)} samples")
        if not np.isfinite(values).all():
            raise ValueError(f"{self.score_function} returned a loss that is not a finite number")
        return pa.table(key_columns(0, batch.with_columns({self.loss_field: values}), self.loss_field, is_length=False))

    def decide(self, keys: Keys, looks: Sequence[pa.Table]) -> Decision:
        return self.of_ranks(keys, looks, 0, size_of(len(keys), self.top_ratio, self.topk))

    def _load(self, name: str, device: str) -> Any:
        del name
        make = self._function(self.model_factory, self.model_function)
        if make is None:
            return None
        model = make(**(self.model_kwargs or {}))
        place: Mapping[str, Any] = {"auto": device}
        if hasattr(model, "to"):
            model.to(place.get(self.device, self.device))
        return model.eval() if hasattr(model, "eval") else model

    def _function(self, given: Callable[..., Any] | None, name: str) -> Callable[..., Any] | None:
        if given is not None or self.score_file is None:
            return given
        return getattr(module_of_file(self.score_file.resolve()), name, None)
