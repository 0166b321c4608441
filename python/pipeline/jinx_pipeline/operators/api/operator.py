"""The base class of operators: typed parameters, columns that they read and write, resources, and calls."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, dataclass_transform

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import LOCAL_KINDS, Model
from jinx_pipeline.operators.api.needed_files import NeededFile, needed
from jinx_pipeline.operators.api.parameters import checked
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.sample.file_facts import path_facts
from jinx_pipeline.sample.roles import Roles

Modality = Literal["text", "image", "audio", "video", "multimodal", "any"]

# While a model runs on one batch, the next batches of the same samples are prepared.
_BATCHES_AT_ONCE: Final = 4


@dataclass_transform(kw_only_default=True)
class Operator(ABC):
    """The base class of all operators. Annotated attributes of a subclass are its parameters, passed as keywords.

    Parameters are checked when the operator is created: `ParameterError` names the operator, the parameter and, for a
    misspelled one, the nearest name. Files that parameters name are checked later, by `resolve`. An operator knows
    neither engines nor files; it can be pickled and used in threads.

    Attributes:
        name: Its name in recipes; `register` sets it.
        modality: The kind of data that it processes; `register` sets it.
        version: Increased when the same parameters give another result.
        batch_size: A suitable number of samples at once.
        is_fed_rows: Whether a sample is about one input of its models, so that more samples at once fill their batches.
        resources: The resources of its workers, unless the recipe sets them; see `Resources`.
        pure: Whether the same sample gives the same result on every machine.
        commutes: Whether the planner may move it past other operators that commute: it processes each sample alone,
            and changes none.
        may_probe: Whether a plan may run it on a few samples, to measure it.
        settings: The parameters that do not change the result, such as limits of requests; they are in no digest.
        sends_requests: Whether it asks services, so that a plan estimates its requests.
        only_adds: Whether the samples have none of the columns that it writes, so that None in them is a value.
        trust: Why a service runs it only if the person who started the service allows it: it runs code, connects to
            servers, or reaches files that no parameter names; empty if it does none of these.
    """

    name: ClassVar[str] = ""
    modality: ClassVar[Modality] = "any"
    version: ClassVar[int] = 1
    batch_size: ClassVar[int] = 1000
    is_fed_rows: ClassVar[bool] = False
    resources: ClassVar[Resources] = Resources()
    pure: ClassVar[bool] = True
    commutes: ClassVar[bool] = False
    may_probe: ClassVar[bool] = True
    only_adds: ClassVar[bool] = False
    settings: ClassVar[frozenset[str]] = frozenset()
    sends_requests: ClassVar[bool] = False
    trust: ClassVar[str] = ""
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

    def check(self) -> None:  # noqa: B027 - most operators have nothing to check
        """Refuse parameters that do not fit together, without reading files; for subclasses.

        Raise `ParameterError`.
        """

    def resolve(self) -> None:  # noqa: B027 - most operators name no files
        """Refuse missing or invalid files that the parameters name; for subclasses. Raise `ParameterError`.

        It is called before a run and before a plan, not when a recipe is read; each call checks again.
        """

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of all parameters."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # pyright: ignore[reportArgumentType] - every subclass is a dataclass

    @property
    def described_parameters(self) -> dict[str, Any]:
        """The parameters that may change the result."""
        return {name: value for name, value in self.parameters.items() if name not in self.settings}

    @property
    def reads(self) -> tuple[str, ...]:
        """The roles (`text`, `images`, ...), columns and paths that the operator reads."""
        return _OF_MODALITY.get(self.modality, ())

    @property
    def writes(self) -> tuple[str, ...]:
        """The roles and columns that the operator may change or add."""
        return ()

    @property
    def vector_columns(self) -> tuple[str, ...]:
        """The columns among `writes` that contain float32 vectors of equal length, which a view stores as arrays."""
        return ()

    @property
    def media_dirs(self) -> tuple[str, ...]:
        """The directories in which the operator stores media that it makes, named after their content."""
        return ()

    @property
    def models(self) -> dict[str, Model]:
        """The models that the operator uses, by the parameters that name them."""
        return {name: value for name, value in self.parameters.items() if isinstance(value, Model)}

    @property
    def rows_at_once(self) -> int:
        """A suitable number of samples at once: `batch_size`, or some batches of a model whose `max_items` is large."""
        items = [model.max_items or 0 for model in self.models.values()] if self.is_fed_rows else []
        return max([self.batch_size, *(_BATCHES_AT_ONCE * count for count in items)])

    @property
    def needed_files(self) -> list[NeededFile]:
        """The models, word lists and other files that the operator reads: by default its models and `Path` parameters.

        `plan` lists them, and a run does not start if one is missing.
        """
        paths = [needed(name, value) for name, value in self.parameters.items() if isinstance(value, Path)]
        models = self.models.items()
        return paths + [
            NeededFile(name, str(model.directory or model.path), model.directory is not None)
            for name, model in models
            if model.kind in LOCAL_KINDS
        ]

    @property
    def digested_files(self) -> list[str]:
        """The files and directories whose content belongs to the digest: by default, all that the operator reads."""
        return [file.path for file in self.needed_files]

    @property
    def depends_on_batch(self) -> bool:
        """Whether the result for a sample may depend on other samples of the batch, even if only by rounding.

        If so, the probe changes neither its batch size nor its place among the filters.
        """
        return False

    @property
    def digest(self) -> str:
        """A digest of 32 hex digits of the class, the version, the parameters and the files that they name.

        Of a class that is not part of an installed package, the code counts, and all that tells two parameters apart.
        """
        from jinx._code_digest import is_installed

        kind, parameters = type(self), self.described_parameters
        if is_installed(kind.__module__):
            return self._digest_of(parameters)
        return self._digest_of({"parameters": parameters, "made": partial(kind, **parameters)})

    def request_tokens(self, batch: Batch, ctx: Context) -> list[int] | None:
        """The estimated tokens of each request for a batch, without sending any; None if unknown."""
        del batch, ctx
        return None

    @property
    def answer_tokens(self) -> int | None:
        """The maximum number of tokens of the answer to a request; None if there is no limit."""
        return None

    def request_price(self, tokens_in: int, tokens_out: int) -> float | None:
        """The price of tokens in requests and answers; None if unknown."""
        del tokens_in, tokens_out
        return None

    @abstractmethod
    def run(self, batch: Batch, ctx: Context) -> Batch:
        """The output for a batch that contains all the data."""

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
                dict of columns, as in Ray Data's `map_batches`.
            roles: The columns of texts and media.
            keep_stats: Add the statistics under `__dj__stats__`.
            drop: False keeps the samples that the operator would drop.
            ctx: The context, with seed, device and threads.

        Returns:
            The remaining samples, as the same type; for a jinx dataset a view, or a list if new samples were made or
            functions applied (`map`).
        """
        from jinx_pipeline.operators.api.standalone import run_alone

        return run_alone(self, samples, roles or Roles(), ctx or Context(), keep_stats=keep_stats, drop=drop)

    def mark(self, batch: Batch, ctx: Context) -> Batch:
        """Like `run`, but without dropping samples; see `drop` of `__call__`."""
        return self.run(batch, ctx)

    def _digest_of(self, parameters: dict[str, Any]) -> str:
        from jinx._code_digest import digested_name

        facts = [digested_name(type(self).__module__), type(self).__qualname__, self.name, self.version, parameters]
        facts += [path_facts(path) for path in self.digested_files]
        text = json.dumps(facts, sort_keys=True, default=_as_json)
        return sha256(text.encode()).hexdigest()[:32]


_OF_MODALITY: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("images",),
    "audio": ("audios",),
    "video": ("videos",),
}


# The memory address in the default repr of an object.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")


def _as_json(value: Any) -> Any:
    if isinstance(value, Operator):
        return value.digest
    if isinstance(value, Model):
        return value.identity
    if callable(value):
        return _function_digest(value)
    if isinstance(value, set | frozenset):
        members: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return sorted(json.dumps(member, sort_keys=True, default=_as_json) for member in members)
    text = repr(value)
    if _ADDRESS.search(text):
        raise TypeError(
            f"a parameter of type {type(value).__name__} has no repr that is the same in every process, so the run "
            "could not be resumed; give it a __repr__ that tells its value, or pass plain data"
        )
    return text


def _function_digest(function: Callable[..., Any]) -> str:
    from jinx._code_digest import NoStableFormError, code_digest

    try:
        return code_digest(function)
    except NoStableFormError as error:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        raise TypeError(
            f"{name} uses {error}, which has no form that is the same in every process, so the run could not be "
            "resumed; make it inside the function, or let pickle take it"
        ) from error
