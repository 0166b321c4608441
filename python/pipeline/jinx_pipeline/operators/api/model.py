"""The models that operators load or call, as described by their parameters and a recipe's `models`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

from jinx._sizes import parse_size
from jinx._suggest import hint
from jinx_pipeline.operators.api.parameters import Converter, Range, fitted
from jinx_pipeline.operators.api.resources import Resources

ModelKind = Literal["transformers", "sentence-transformers", "onnx", "openai", "serve"]
LOCAL_KINDS: Final = frozenset({"transformers", "sentence-transformers", "onnx"})
"""The kinds of models that a worker loads from files."""

# The fields that only some kinds of model have.
_ONLY_FOR: Final[dict[str, frozenset[str]]] = {
    "revision": LOCAL_KINDS,
    "dtype": LOCAL_KINDS,
    "device": LOCAL_KINDS,
    "per_gpu": LOCAL_KINDS,
    "memory": LOCAL_KINDS,
    "autocast": frozenset({"transformers", "sentence-transformers"}),
    "compile": frozenset({"transformers", "sentence-transformers"}),
    "allow_pickle": frozenset({"transformers", "sentence-transformers"}),
    "max_items": LOCAL_KINDS,
    "max_tokens": LOCAL_KINDS,
    "max_pixels": LOCAL_KINDS,
    "url": frozenset({"openai", "serve"}),
    "model": frozenset({"openai"}),
    "key_variable": frozenset({"openai"}),
    "concurrency": frozenset({"openai", "serve"}),
    "options": frozenset({"openai"}),
}
# The fields that may affect the result.
_IDENTITY: Final = ("kind", "path", "url", "model", "revision", "dtype", "autocast", "options")
# Memory in addition to the weights: PyTorch, activations, and the samples of a batch.
_WORKER_BYTES: Final = 1 << 30
_LEAST_BYTES: Final = 2 << 30

_Count = Annotated[int, Range(1)]


@dataclass(frozen=True, kw_only=True, repr=False)
class Model:
    """A model that operators load in each worker, or call behind a URL.

        jp.Model(path="/models/clip", dtype="bfloat16", per_gpu=4)

    Operators that name equal models share one copy in each worker.

    Attributes:
        kind: The library that loads it; `openai`: a service with OpenAI's API; `serve`: an application of Ray Serve, or
            another service with answers in JSON.
        path: The directory of the model, or its name in the local cache of Hugging Face; the name of an application.
        url: The URL of a service.
        model: The name of the model at a service.
        revision: The revision in the local cache.
        dtype: The type of the weights; `auto`: as they are stored.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, ...; `auto`: the GPU of the worker if it has one.
        per_gpu: How many workers share a GPU; None: one for the device `cuda`, and otherwise no GPU is requested.
        memory: Bytes or `"8GB"` that a worker needs for it; None: estimated from its weights.
        max_items: The largest number of texts or images in a batch.
        max_tokens: The largest number of tokens in a batch, with padding.
        max_pixels: The largest number of pixels in a batch.
        autocast: The type of mixed precision; None: none.
        compile: Whether to compile it with `torch.compile`.
        allow_pickle: Also load weights that are pickles, which may run code.
        concurrency: The number of concurrent requests to a service.
        key_variable: The environment variable with the key for a service.
        options: Default fields of requests to a service, such as `temperature`.
        name: Its name in the recipe.
    """

    kind: ModelKind = "transformers"
    path: str = ""
    url: str = ""
    model: str = ""
    revision: str | None = None
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto"
    device: str = "auto"
    per_gpu: _Count | None = None
    memory: int | str | None = None
    max_items: _Count | None = None
    max_tokens: _Count | None = None
    max_pixels: _Count | None = None
    autocast: Literal["float16", "bfloat16"] | None = None
    compile: bool = False
    allow_pickle: bool = False
    concurrency: _Count | None = None
    key_variable: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(Model, include_extras=True).items():
            try:
                object.__setattr__(self, name, fitted(getattr(self, name), kind))
            except TypeError as error:
                raise TypeError(f"{name} {error}") from None
        for name, kinds in _ONLY_FOR.items():
            if self.kind not in kinds and getattr(self, name) != _DEFAULTS[name]:
                raise ValueError(f"{name} is for models of the kind {' or '.join(sorted(kinds))}, not {self.kind}")
        if self.kind == "openai" and self.path:
            raise ValueError("a model of the kind openai has a url and a model, not a path")
        if self.kind == "openai" and not self.model:
            raise ValueError("model is missing: the name of the model at the service")
        if self.kind == "serve" and bool(self.path) == bool(self.url):
            raise ValueError("a model of the kind serve has a path, the name of an application, or a url")
        if self.kind in LOCAL_KINDS and not self.path:
            raise ValueError("path is missing")
        if self.memory is not None:
            parse_size(self.memory)

    def __hash__(self) -> int:
        return hash((self.kind, self.path, self.url, self.model))

    def __repr__(self) -> str:
        return f"Model({', '.join(f'{name}={value!r}' for name, value in self.to_data().items())})"

    @classmethod
    def of(cls, values: Mapping[str, Any], *, name: str = "") -> "Model":
        """The model from the mapping of a recipe.

        Raises:
            TypeError: A value has another type.
            ValueError: A name is unknown, or a value does not fit the others.
        """
        for key in values:
            if key not in MODEL_KEYS:
                raise ValueError(f"a model has no {key!r}{hint(str(key), MODEL_KEYS) or _LISTED}")
        return cls(**values, name=name)

    def to_data(self) -> dict[str, Any]:
        """The mapping that `of` reads, without default values."""
        values = {name: getattr(self, name) for name in MODEL_KEYS}
        return {name: value for name, value in values.items() if value != _DEFAULTS[name]}

    @property
    def identity(self) -> dict[str, Any]:
        """The fields that may change the model's results."""
        return {name: getattr(self, name) for name in _IDENTITY}

    @property
    def copy_key(self) -> str:
        """A key that is equal for models that share one copy in a process."""
        return json.dumps([self.identity, self.device, self.compile], sort_keys=True)

    @property
    def directory(self) -> Path | None:
        """The directory of its files on this machine, or its only file; None if it has none, or none that is here."""
        return _directory_of(self.path, self.revision) if self.kind in LOCAL_KINDS else None

    @property
    def stored_bytes(self) -> int:
        """The size of the model's weights on this machine; 0 if they are not here."""
        directory = self.directory
        return 0 if directory is None else sum(file.stat().st_size for file in weights_in(directory))

    @property
    def resources(self) -> Resources:
        """The resources that a worker needs for the model."""
        if self.kind not in LOCAL_KINDS:
            return Resources()
        gpus = 1 / self.per_gpu if self.per_gpu else float(self.device.startswith("cuda"))
        return Resources(gpus=gpus, memory=self._estimated_bytes() if self.memory is None else parse_size(self.memory))

    def _estimated_bytes(self) -> int:
        """Memory for the weights, rounded up to a power of two, so that models of similar size share workers."""
        return max(1 << (self.stored_bytes + _WORKER_BYTES - 1).bit_length(), _LEAST_BYTES)


MODEL_KEYS: Final = [known.name for known in fields(Model) if known.name != "name"]
"""The keys of a model in a recipe."""
_DEFAULTS: Final = {
    known.name: {} if known.name == "options" else known.default for known in fields(Model) if known.name != "name"
}
_LISTED: Final = f"; it has: {', '.join(MODEL_KEYS)}"


@dataclass(frozen=True)
class Kinds(Converter):
    """The kinds of models that a parameter accepts; a plain string is the first kind.

        hf_clip: Annotated[Model, Kinds("transformers")]

    Attributes:
        kinds: The kinds.
    """

    kinds: tuple[ModelKind, ...]

    def __init__(self, *kinds: ModelKind) -> None:
        object.__setattr__(self, "kinds", kinds)

    def converted(self, value: Any) -> Model:
        if isinstance(value, str):
            if not value:
                raise TypeError("is a model, not an empty string")
            value = Model(kind="openai", model=value) if self.kinds[0] == "openai" else self._of_path(value)
        if not isinstance(value, Model):
            raise TypeError(f"is a model: its path, or a jp.Model; not {value!r:.60}")
        if value.kind not in self.kinds:
            raise TypeError(f"is a model of the kind {' or '.join(self.kinds)}, not {value.kind}")
        return value

    def _of_path(self, path: str) -> Model:
        return Model(kind=self.kinds[0], path=path)

    def __str__(self) -> str:
        return f"model ({', '.join(self.kinds)})"


def takes_model(kind: Any) -> bool:
    """Whether the type of a parameter is a model, or contains one."""
    return any(isinstance(argument, Kinds) or takes_model(argument) for argument in get_args(kind))


def weights_in(directory: Path) -> list[Path]:
    """The files with a model's weights: in `safetensors`, otherwise in other formats; or its only file."""
    if directory.is_file():
        return [directory]
    for suffixes in ({".safetensors"}, {".bin", ".pt", ".pth", ".onnx"}):
        if found := sorted(file for file in directory.rglob("*") if file.suffix in suffixes):
            return found
    return []


def _directory_of(path: str, revision: str | None) -> Path | None:
    """The directory of a path, or of a name in the local cache of Hugging Face."""
    directory = Path(path)
    if directory.is_dir() or (directory.suffix == ".onnx" and directory.is_file()):
        return directory
    return _cached(path, revision)


@lru_cache(maxsize=64)
def _cached(name: str, revision: str | None) -> Path | None:
    try:
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(name, "config.json", revision=revision)
    except (ImportError, ValueError):  # ValueError: it is a path, not a name
        return None
    return Path(found).parent if isinstance(found, str) else None
