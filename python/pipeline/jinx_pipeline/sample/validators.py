"""Checks samples before any operator runs; an error names the sample.

validate(dataset, [RequiredColumns(columns=["text"]), MediaCounts()], Roles())
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from jinx_pipeline.sample.dialog_errors import SchemaError
from jinx_pipeline.sample.dialogs import DialogError, Layout, require_dialog
from jinx_pipeline.sample.media import MediaError, media_of
from jinx_pipeline.sample.paths import find_each
from jinx_pipeline.sample.roles import Role, Roles
from jinx_pipeline.sample.schemas import Schema, require_schema
from jinx_pipeline.sample.texts import texts_at
from jinx_pipeline.sample.tokens import MEDIA, count_tokens

_TYPES: dict[str, tuple[type[Any], ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "bytes": (bytes,),
    "list": (list, tuple),
    "dict": (dict, Mapping),
}
_SHOWN = 10


class ValidationError(ValueError):
    """Raised when samples are not valid.

    Attributes:
        problems: The position of each invalid sample and the problem, up to a limit.
    """

    def __init__(self, problems: Sequence[tuple[int, str]], *, more: bool) -> None:
        lines = [f"sample {position}: {problem}" for position, problem in problems]
        super().__init__("; ".join(lines) + ("; there may be more" if more else ""))
        self.problems = list(problems)


class Validator(ABC):
    """A check of each sample."""

    name: ClassVar[str]

    def to_data(self) -> dict[str, Any]:
        """The check in the form used in recipes: its name and its parameters."""
        return {self.name: dict(vars(self))}

    @abstractmethod
    def problems(self, sample: Mapping[str, Any], roles: Roles) -> Iterator[str]:
        """What is wrong with a sample."""


@dataclass(frozen=True, kw_only=True)
class RequiredColumns(Validator):
    """Every sample has the given columns or paths, with values of a given type; `[*]` means every element of a list.

    Attributes:
        columns: Names, or names with types: `{"text": "str", "meta.width": "int"}`; types are `str`, `int`, `float`,
            `bool`, `bytes`, `list` and `dict`.
    """

    name = "required_columns"
    columns: list[str] | dict[str, str]

    def __post_init__(self) -> None:
        for kind in self.columns.values() if isinstance(self.columns, dict) else ():
            if kind not in _TYPES:
                raise ValueError(f"required_columns: no type {kind!r}; use {', '.join(_TYPES)}")

    def problems(self, sample: Mapping[str, Any], roles: Roles) -> Iterator[str]:
        for path in self.columns:
            values = find_each(sample, roles.steps(path))
            if not values or any(value is None for value in values):
                yield f"{path!r} is missing"
            elif isinstance(self.columns, dict):
                kind = self.columns[path]
                wrong = next((value for value in values if not _is_of(value, kind)), None)
                if wrong is not None:
                    yield f"{path!r} is {type(wrong).__name__}, not {kind}"


@dataclass(frozen=True, kw_only=True)
class DialogShape(Validator):
    """Samples are dialogs of a layout; see `convert_dialog`.

    Attributes:
        layout: The layout.
    """

    name = "dialog_shape"
    layout: Layout = "messages"

    def problems(self, sample: Mapping[str, Any], roles: Roles) -> Iterator[str]:
        try:
            require_dialog(sample, self.layout)
        except DialogError as error:
            yield str(error)


@dataclass(frozen=True, kw_only=True)
class SampleSchema(Validator):
    """Samples have the schema of a dataset or trainer; see `convert_schema`.

    Attributes:
        schema: The schema.
    """

    name = "sample_schema"
    schema: Schema

    def problems(self, sample: Mapping[str, Any], roles: Roles) -> Iterator[str]:
        try:
            require_schema(sample, self.schema)
        except SchemaError as error:
            yield str(error)


@dataclass(frozen=True, kw_only=True)
class MediaExist(Validator):
    """Media exist in files and buckets; other URLs are not checked.

    Attributes:
        roles: The media to check.
    """

    name = "media_exist"
    roles: tuple[Role, ...] = MEDIA

    def problems(self, sample: Mapping[str, Any], roles: Roles) -> Iterator[str]:
        for role in self.roles:
            try:
                for medium in media_of(sample, role, roles):
                    if medium.stored_url is not None:
                        _ = medium.size  # sends a request to the store
                    file = medium.file
                    if file is not None and not file.is_file():
                        yield f"{role}: no file {str(file)!r}"
            except MediaError as error:
                yield f"{role}: {error}"


@dataclass(frozen=True, kw_only=True)
class MediaCounts(Validator):
    """A sample has as many media of each kind as its texts have tokens for them."""

    name = "media_counts"

    def problems(self, sample: Mapping[str, Any], roles: Roles) -> Iterator[str]:
        column = sample.get(roles.column("text"))
        texts = texts_at(column, roles.steps("text")[1:])
        for role in MEDIA:
            tokens = sum(count_tokens(text, role, roles) for text in texts)
            try:
                media = len(media_of(sample, role, roles))
            except MediaError as error:
                yield f"{role}: {error}"
                continue
            if tokens != media:
                yield f"{media} {role} for {tokens} tokens {roles.token(role)} in the text"


VALIDATORS: dict[str, type[Validator]] = {
    validator.name: validator for validator in (RequiredColumns, DialogShape, SampleSchema, MediaExist, MediaCounts)
}
"""The checks, by their names in recipes."""


def validate(
    samples: Iterable[Mapping[str, Any]], validators: Sequence[Validator], roles: Roles, *, start: int = 0
) -> None:
    """Check samples.

    Args:
        samples: The samples.
        validators: The checks.
        roles: The columns of texts and media.
        start: The position of the first sample.

    Raises:
        ValidationError: Samples are not valid; the error has the positions of the first ones.
    """
    problems: list[tuple[int, str]] = []
    for position, sample in enumerate(samples, start):
        for validator in validators:
            problems += [(position, problem) for problem in validator.problems(sample, roles)]
            if len(problems) > _SHOWN:
                raise ValidationError(problems[:_SHOWN], more=True)
    if problems:
        raise ValidationError(problems, more=False)


def _is_of(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "bool" or not isinstance(value, bool))
