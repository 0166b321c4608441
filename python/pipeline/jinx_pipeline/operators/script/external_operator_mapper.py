"""Runs code in an environment of its own, or behind Ray Serve: the operator `external_operator_mapper`."""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Final

import pyarrow as pa

from jinx_pipeline.external.adapter import exact
from jinx_pipeline.external.arrow_types import arrow_type
from jinx_pipeline.external.environment import python_of, refuse_to_install
from jinx_pipeline.external.errors import AdapterError, ExternalError
from jinx_pipeline.external.process import Adapter
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import NotEmpty, ParameterError, Words
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.sample.media import PARTS
from jinx_pipeline.serving import served

# The number of concurrent requests to a URL, unless the model sets another.
_AT_ONCE: Final = 16
# The beginning of the name of a column of the output that is added to `__dj__meta__`.
_IN_META: Final = f"{META}."


@register("external_operator_mapper")
class ExternalOperatorMapper(Mapper):
    """Adds columns that other code computes: an adapter in a Python environment of its own, or a service.

    The adapter is a Python file with a function `load(options, device)`; it returns a function that takes a dict of
    columns and returns one. It runs in a child process of each worker with the interpreter of `env`, which needs
    pyarrow and not jinx; columns travel as Arrow IPC. If a batch makes the process fail or die, the batch is divided
    until the row is found, and the process starts again.

        create("external_operator_mapper", file="pose.py", env="/envs/mmpose", columns=["images"],
               output={"keypoints": "list<list<float32>>"}, options={"model": "/models/pose"})

    With `requirements` in place of `env`, uv makes an environment once on each node, if the environment variable
    `JINX_ALLOW_INSTALL=uv` allows it. With `model`, a model of the kind `serve`, each sample is a request: a dict of
    the columns, answered by one, to an application of Ray Serve, or as JSON to a URL, with media in base64.

    Attributes:
        file: The Python file of the adapter.
        function: The function in it.
        env: The directory of a virtual environment, or an interpreter.
        requirements: The packages of the environment, as pip takes them.
        model: A model of the kind `serve`, in place of a file.
        columns: The columns and roles that it is given: `text` as strings, `images`, `audios` and `videos` as lists of
            bytes.
        output: The columns that it adds, with their types: `bool`, `int64`, `float32`, `float64`, `string`, `binary`,
            or of others: `list<float32>`, `struct<name: string, box: list<float32>>`. A name such as
            `__dj__meta__.pose` adds to the facts about samples.
        options: What the function `load` is given: plain data, such as the path of a model.
    """

    file: Path | None = None
    function: str = "load"
    env: str | None = None
    requirements: Words | None = None
    model: Annotated[Model, Kinds("serve")] | None = None
    columns: Words
    output: Annotated[dict[str, str], NotEmpty()]
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    batch_size = 64
    pure = False  # the result depends on other code
    trust = "runs code"
    settings = frozenset({"env"})

    def check(self) -> None:
        if (self.file is None) == (self.model is None):
            raise ParameterError(self.name, "file", "give the file of an adapter, or a model of the kind serve")
        if self.file is not None and (self.env is None) == (self.requirements is None):
            raise ParameterError(self.name, "env", "an adapter has either env or requirements")
        if self.model is not None and not (self.env is None and self.requirements is None):
            raise ParameterError(self.name, "env", "env and requirements are for the file of an adapter")
        if common := set(self.columns) & set(self.output):
            raise ParameterError(self.name, "output", f"{min(common)} is in columns too; give it another name")
        if _IN_META in self.output:
            raise ParameterError(self.name, "output", f"{_IN_META} is followed by the name of a fact")
        try:
            json.dumps(self.options)
        except (TypeError, ValueError) as error:
            raise ParameterError(self.name, "options", f"options must be plain data: {error}") from None
        self._schema()

    def resolve(self) -> None:
        if self.file is not None and not self.file.is_file():
            raise ParameterError(self.name, "file", f"file: {self.file} is not a file")
        try:
            if self.env is not None:
                python_of(self.env)
            elif self.requirements is not None:
                refuse_to_install(self.requirements)
        except ExternalError as error:
            raise ParameterError(self.name, "env" if self.env else "requirements", str(error)) from None

    @property
    def reads(self) -> tuple[str, ...]:
        return (*self.columns, *([META] if self._facts else []))

    @property
    def writes(self) -> tuple[str, ...]:
        return (*(name for name in self.output if name not in self._facts), *([META] if self._facts else []))

    @property
    def _facts(self) -> dict[str, str]:
        """The columns of the output that are facts about samples, with their names in `__dj__meta__`."""
        return {name: name.removeprefix(_IN_META) for name in self.output if name.startswith(_IN_META)}

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        columns = {name: _values(batch, name) for name in self.columns}
        found = self._served(columns, len(batch), ctx) if self.model is not None else self._adapted(columns, ctx)
        for name, values in found.items():
            if len(values) != len(batch):
                raise AdapterError(f"the column {name} has {len(values)} values for {len(batch)} samples")
        if not (facts := self._facts):
            return found
        added = [{fact: found[name][row] for name, fact in facts.items()} for row in range(len(batch))]
        columns = {name: values for name, values in found.items() if name not in facts}
        return {**columns, **with_metadata(batch.samples(), added)}

    def _adapted(self, columns: Mapping[str, list[Any]], ctx: Context) -> dict[str, list[Any]]:
        """The columns of the adapter."""
        try:
            table = pa.table({name: pa.array(values) for name, values in columns.items()})
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise AdapterError(f"an adapter cannot be given values of several types: {error}") from None
        facts = {"file": str(self.file), "function": self.function, "env": self.env, "output": self.output}
        facts |= {"requirements": self.requirements, "options": self.options}
        adapter = ctx.model(json.dumps(facts, sort_keys=True), load_adapter)
        adapter.start()
        ctx.begins(len(table))  # the rows' time limit applies to the adapter, but not to loading it
        found = adapter(table)
        return {name: found.column(name).to_pylist() for name in self.output}

    def _served(self, columns: Mapping[str, list[Any]], count: int, ctx: Context) -> dict[str, list[Any]]:
        """The columns from a service, which gets a request for each sample."""
        model = self.model
        if model is None:
            raise ValueError("there is no model")
        requests = [{name: values[row] for name, values in columns.items()} for row in range(count)]
        if model.url:
            plain = [_plain(request) for request in requests]
            answers = ctx.ask_all(model.url, plain, at_once=model.concurrency or _AT_ONCE)
        else:
            ctx.begins(0)  # requests have their own time limits
            answers = list(ctx.model(model.path, served).map(requests))
        for answer in answers:
            if not isinstance(answer, Mapping) or not set(self.output) <= set(answer):  # pyright: ignore[reportUnknownArgumentType]
                raise AdapterError(
                    f"{model.url or model.path} answers {answer!r:.100}, not a dict of {', '.join(self.output)}"
                )
        schema = self._schema()
        try:
            return {
                name: exact(name, [answer[name] for answer in answers], schema.field(name).type).to_pylist()
                for name in self.output
            }
        except (ValueError, TypeError) as error:
            raise AdapterError(f"{model.url or model.path}: {error}") from None

    def _schema(self) -> pa.Schema:
        return schema_of(self.name, self.output)


def load_adapter(facts: str, device: str) -> Adapter:
    """An adapter, for `Context.model`.

    Args:
        facts: The parameters of the operator as JSON.
        device: The device.
    """
    given = json.loads(facts)
    return Adapter(
        Path(given["file"]).resolve(),
        given["function"],
        facts={"options": given["options"], "device": device},
        schema=schema_of("external_operator_mapper", given["output"]),
        env=given["env"],
        requirements=given["requirements"] or [],
    )


def schema_of(operator: str, output: Mapping[str, str]) -> pa.Schema:
    """The columns that an adapter adds.

    Raises:
        ParameterError: A type is unknown.
    """
    fields: list[Any] = []
    for name, text in output.items():
        try:
            fields.append(pa.field(name, arrow_type(text)))
        except ValueError as error:
            raise ParameterError(operator, "output", f"output: {name} has {error}") from None
    return pa.schema(fields)


def _values(batch: Batch, name: str) -> list[Any]:
    """The values of a column; media become lists of bytes."""
    if name == "text":
        return batch.text.to_pylist()
    if name in PARTS:
        role: Any = name
        return [[medium.bytes for medium in media] for media in batch.media(role)]
    return batch.column(name)


def _plain(value: Any) -> Any:
    """A value in a form that JSON can represent: bytes become base64."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value  # pyright: ignore[reportUnknownVariableType]
