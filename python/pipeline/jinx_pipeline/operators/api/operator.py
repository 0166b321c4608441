"""What every operator is: typed parameters, what it reads and writes, what it needs, and how it is called."""

import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal, dataclass_transform

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.needed_files import NeededFile, needed
from jinx_pipeline.operators.api.parameters import checked
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.sample.roles import Roles

Modality = Literal["text", "image", "audio", "video", "multimodal", "any"]


@dataclass_transform(kw_only_default=True)
class Operator(ABC):
    """The base of all operators. Annotated attributes of a subclass are its parameters, given as keywords.

    A parameter is checked when the operator is made: `ParameterError` names the operator, the parameter and, for a
    misspelt one, the nearest name. Files that parameters name are looked at later, by `resolve`. An operator knows no
    engine and no files; it may be pickled and used in threads.

    Attributes:
        name: Its name in recipes; `register` sets it.
        modality: What kind of data it is about; `register` sets it.
        version: Increased when the same parameters give another result.
        batch_size: How many samples it takes well at once.
        resources: What a worker needs for it, if a recipe does not say; see `Resources`.
        pure: Whether the same sample gives the same result on every machine.
        commutes: Whether the planner may move it past other operators that commute: it looks at each sample alone,
            and changes none.
        may_probe: Whether a plan may run it on a few samples, to measure it.
    """

    name: ClassVar[str] = ""
    modality: ClassVar[Modality] = "any"
    version: ClassVar[int] = 1
    batch_size: ClassVar[int] = 1000
    resources: ClassVar[Resources] = Resources()
    pure: ClassVar[bool] = True
    commutes: ClassVar[bool] = False
    may_probe: ClassVar[bool] = True
    kind: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__
        dataclass(init=False, eq=False)(cls)

    def __init__(self, **parameters: Any) -> None:
        for name, value in checked(type(self), self.name, parameters).items():
            setattr(self, name, value)
        self.check()

    def check(self) -> None:  # noqa: B027 - most have nothing to check
        """Refuse parameters that do not go together, without a look at any file; for subclasses.

        Raise `ParameterError`.
        """

    def resolve(self) -> None:  # noqa: B027 - most name no file
        """Refuse files that the parameters name and that do not fit; for subclasses. Raise `ParameterError`.

        It is called before a run and before a plan, not when a recipe is read; called again, it looks again.
        """

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of all parameters."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # pyright: ignore[reportArgumentType] - every subclass is a dataclass

    @property
    def reads(self) -> tuple[str, ...]:
        """The roles (`text`, `images`, ...), columns and paths that it looks at."""
        return _OF_MODALITY.get(self.modality, ())

    @property
    def writes(self) -> tuple[str, ...]:
        """The roles and columns that it may change or add."""
        return ()

    @property
    def needed_files(self) -> list[NeededFile]:
        """Models, word lists and other files that it reads besides its samples: by default its `Path` parameters.

        `plan` lists them, and a run does not start while one is missing.
        """
        return [needed(name, value) for name, value in self.parameters.items() if isinstance(value, Path)]

    @property
    def depends_on_batch(self) -> bool:
        """Whether other samples in the same batch may change the result for a sample, if only in rounding.

        The size of its batches and its place among the filters are then those of the recipe, whatever the probe finds.
        """
        return False

    @property
    def digest(self) -> str:
        """32 hex digits that another class, version or parameter would change."""
        return self._digest_of(self.parameters)

    @abstractmethod
    def run(self, batch: Batch, ctx: Context) -> Batch:
        """What it makes of a batch, the batch being all the data there is."""

    def __call__(
        self,
        samples: Any,
        *,
        roles: Roles | None = None,
        keep_stats: bool = False,
        drop: bool = True,
        ctx: Context | None = None,
    ) -> Any:
        """Run the operator alone.

        Args:
            samples: A list of dicts, a jinx dataset, a Hugging Face dataset, a pyarrow table or record batch, or a
                dict of columns as Ray Data's `map_batches` gives it.
            roles: Where the texts and media are.
            keep_stats: Add the statistics under `__dj__stats__`.
            drop: False keeps the samples that the operator would leave out.
            ctx: Seed, device and threads.

        Returns:
            What is left, as the same type; a jinx dataset gives a view, or a list where samples were made
            or functions applied (`map`).
        """
        from jinx_pipeline.operators.api.standalone import run_alone

        return run_alone(self, samples, roles or Roles(), ctx or Context(), keep_stats=keep_stats, drop=drop)

    def mark(self, batch: Batch, ctx: Context) -> Batch:
        """As `run`, but with all samples kept that were only looked at; see `drop` of `__call__`."""
        return self.run(batch, ctx)

    def _digest_of(self, parameters: dict[str, Any]) -> str:
        what = [type(self).__module__, type(self).__qualname__, self.name, self.version, parameters]
        text = json.dumps(what, sort_keys=True, default=_as_json)
        return sha256(text.encode()).hexdigest()[:32]


_OF_MODALITY: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("images",),
    "audio": ("audios",),
    "video": ("videos",),
}


# How Python shows an object that does not say what it holds.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")


def _as_json(value: Any) -> Any:
    if isinstance(value, Operator):
        return value.digest
    if callable(value):
        from jinx_pipeline.operators.api.code_digest import code_digest

        return code_digest(value)
    if isinstance(value, set | frozenset):
        members: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return sorted(json.dumps(one, sort_keys=True, default=_as_json) for one in members)
    text = repr(value)
    if _ADDRESS.search(text):
        raise TypeError(
            f"a parameter of type {type(value).__name__} has no form that is the same in another process, so no run "
            "could be resumed; give it a __repr__ that tells its value, or pass plain data"
        )
    return text
