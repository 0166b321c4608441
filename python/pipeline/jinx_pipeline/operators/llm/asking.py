"""The base of operators that ask a language model behind a URL."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec

from jinx_pipeline.llm.client import Request, client_for
from jinx_pipeline.llm.prompt import Prompt, read_prompt, shipped_prompt
from jinx_pipeline.llm.service import Service, Settings, chat_url
from jinx_pipeline.llm.structured import MAX_CHARACTERS, Form, Parsed, response_format
from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.model import Kinds, Model
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import ParameterError, Range, checked
from jinx_pipeline.operators.api.response_cache import AnswerError
from jinx_pipeline.optional import require

Messages = list[dict[str, Any]]
ApiModel = Annotated[Model, Kinds("openai")]

_GPT: Final = Model(kind="openai", model="gpt-4o")
_QWEN: Final = Model(kind="openai", model="Qwen/Qwen2.5-7B-Instruct")

# Request fields that the operator sets itself, or that would write a key into files.
_OWN_FIELDS: Final = frozenset({"model", "messages", "response_format", "stream", "n"})
_SECRET: Final = re.compile(r"(^|_)(api_?)?(key|secret|authorization|password)$|headers", re.IGNORECASE)
_SHOWN: Final = 2_000


@dataclass(frozen=True)
class Answer:
    """An answer, and how it was parsed.

    Attributes:
        text: The answer as it came.
        parsed: Its value; of a prompt without a schema, the text.
    """

    text: str
    parsed: Parsed

    @property
    def value(self) -> Any:
        """The value; None if the answer was not understood."""
        return self.parsed.value

    @property
    def record(self) -> dict[str, Any]:
        """The raw answer and how it was parsed, for a column."""
        record = {"answer": self.text[:_SHOWN], "parsed": self.parsed.how}
        return record if self.parsed.is_good else {**record, "problem": self.parsed.problem}


class Asking(Operator):
    """Asks a language model behind an OpenAI-compatible URL. Each request is answered once: answers are kept.

    The text of a sample is data for the model, between marks, and never part of the instructions. An answer that does
    not fit the schema is asked for again; if it still does not fit, it is counted, and nothing is made of it.

    Attributes:
        api_endpoint: The URL: `http://localhost:8000/v1`, or with a path such as `/chat/completions`; None: the
            environment variable `OPENAI_BASE_URL`, or OpenAI's.
        prompt: A YAML file with another prompt; see `jinx_pipeline/llm/prompts`.
        system_prompt: Another task in place of the prompt's.
        input_template: Another message in place of the prompt's; data stand at `{name}`.
        try_num: How often an answer that does not fit is asked for, with the first time.
        structured: How the service is told the schema: `json_schema`, `json_object`, or only in the prompt (`none`).
        model_params: How the service is asked: `concurrency`, `seconds` (time-out), `tries`, `patience`,
            `key_variable`, `max_requests`, `max_tokens_spent`, `max_money`, `prices`, `answers`; see `Settings`.
        sampling_params: Fields of the request, such as `temperature` and `max_tokens`.
    """

    api_endpoint: str | None = None
    prompt: Path | None = None
    system_prompt: str | None = None
    input_template: str | None = None
    try_num: Annotated[int, Range(1, 10)] = 2
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    model_params: dict[str, Any] = field(default_factory=dict[str, Any])
    sampling_params: dict[str, Any] = field(default_factory=dict[str, Any])

    batch_size = 1000
    pure = False  # a model may answer differently next time
    commutes = False
    may_probe = False  # requests cost money
    settings = frozenset({"api_endpoint", "model_params"})
    sends_requests = True
    model_parameter: ClassVar[str] = "api_model"
    prompts: ClassVar[tuple[str, ...]] = ()

    def check(self) -> None:
        super().check()
        try:
            self._settings()
        except ValueError as error:
            raise ParameterError(self.name, "model_params", str(error)) from None
        for parameter, fields in (
            ("sampling_params", self.sampling_params),
            (self.model_parameter, self.model.options),
        ):
            for name in fields:
                if name in _OWN_FIELDS or _SECRET.search(name):
                    problem = f"{parameter} has {name!r}, which the operator sets itself; keys are in the environment"
                    raise ParameterError(self.name, parameter, problem)
        for parameter, url in (("api_endpoint", self.api_endpoint), (self.model_parameter, self.model.url or None)):
            try:
                chat_url(url)
            except ValueError as error:
                raise ParameterError(self.name, parameter, f"the URL of {parameter!r} {error}") from None

    def resolve(self) -> None:
        super().resolve()
        require("aiohttp", extra="llm", what=self.name)
        try:
            template = self.template()
            if template.schema is not None:
                Form(template.schema)
        except (ValueError, OSError) as error:
            raise ParameterError(self.name, "prompt", str(error)) from None
        places = shipped_prompt((self.prompts or (self.name,))[0]).places
        if unknown := set(template.places) - set(places):
            problem = f"there is nothing to put at {{{min(unknown)}}} of the prompt; it may have {', '.join(places)}"
            raise ParameterError(self.name, "prompt" if self.prompt else "input_template", problem)

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Request fields that come from parameters of the operator; `sampling_params` may replace them."""
        return {}

    def messages_of(self, batch: Batch, ctx: Context) -> list[Messages] | None:
        """The messages of the first request for each sample; None if they depend on more than the samples."""
        del batch, ctx
        return None

    def request_tokens(self, batch: Batch, ctx: Context) -> list[int] | None:
        messages = self.messages_of(batch, ctx)
        return None if messages is None else [Request({"messages": conversation}).tokens for conversation in messages]

    @property
    def answer_tokens(self) -> int | None:
        fields = {**self.model.options, **self.sampling, **self.sampling_params}
        return next((fields[name] for name in ("max_tokens", "max_completion_tokens") if name in fields), None)

    def request_price(self, tokens_in: int, tokens_out: int) -> float | None:
        settings = self._settings()
        return None if settings.prices is None else settings.cost((tokens_in, tokens_out))

    @property
    def model(self) -> Model:
        """The model."""
        return getattr(self, self.model_parameter)

    def template(self, name: str | None = None) -> Prompt:
        """The prompt, with any parameters that replace parts of it.

        Args:
            name: The name of a shipped prompt; None: the first of this operator.
        """
        first = (self.prompts or (self.name,))[0]
        if self.prompt is not None and name in {None, first}:
            template = read_prompt(self.prompt)
        else:
            template = shipped_prompt(name or first)
        if name in {None, first}:
            template = template.changed(self.system_prompt, self.input_template)
        return template if self.structured == "json_schema" else template.with_schema_in_text()

    def ask(
        self,
        ctx: Context,
        prompt: Prompt,
        messages: Iterable[Messages],
        fault: Callable[[int, Any], str] = lambda *_: "",
    ) -> list[Answer]:
        """The answers to messages, in their order.

        Args:
            ctx: The context.
            prompt: The prompt that the messages were made from; its schema tells the form of answers.
            messages: The messages of each request. An iterator may make them while others are under way.
            fault: What is wrong with the value for a request, beyond the schema; empty if nothing is.

        Raises:
            AnswerError: The service refuses a request, or does not answer it.
        """
        form = None if prompt.schema is None else Form(prompt.schema)
        service = Service(self.model.model, chat_url(self.api_endpoint or self.model.url or None), self._settings())
        answers: dict[int, Answer] = {}
        first: list[Messages] = []
        pending: Sequence[int] = ()
        for try_number in range(self.try_num):
            if try_number and not pending:
                break
            again = ([*first[number], *_again(answers[number])] for number in pending)
            asked = self._ask_once(ctx, service, prompt, again if try_number else _noted(messages, first))
            for number, (text, finish) in zip(pending if try_number else range(len(first)), asked, strict=True):
                answer = _understood(text, finish, form)
                if answer.parsed.is_good and (problem := fault(number, answer.value)):
                    answer = Answer(text, Parsed(None, "unparsed", problem))
                answers[number] = answer
            pending = [number for number, answer in answers.items() if not answer.parsed.is_good]
        if pending:
            ctx.counts["unparsed answers"] += len(pending)
        return [answers[number] for number in range(len(first))]

    def _ask_once(
        self, ctx: Context, service: Service, prompt: Prompt, messages: Iterable[Messages]
    ) -> list[tuple[str, str]]:
        """The text of each answer, and the reason why it ended."""
        failures: list[Exception] = []
        client = client_for(ctx, service.settings.directory)
        facts = {"operator": self.name, "prompt": prompt.id, "version": prompt.version}
        ctx.begins(0)  # requests have their own time limits

        def requests() -> Iterator[Request]:
            try:
                for conversation in messages:
                    if service.settings.batch is None:
                        ctx.refuse_offline(service.url)
                    yield Request(self._body(service, prompt, conversation), facts)
            except Exception as error:  # noqa: BLE001 - raised again when all requests are answered and counted
                failures.append(error)

        replies = client.ask_all(service, requests())
        for reply in {id(reply): reply for reply in replies}.values():  # equal requests share a reply
            if not isinstance(reply, AnswerError) and not reply.was_kept:
                ctx.counts["requests"] += 1
                ctx.counts["tokens in"] += reply.tokens[0]
                ctx.counts["tokens out"] += reply.tokens[1]
        if failures:
            raise failures[0]
        texts: list[tuple[str, str]] = []
        for reply in replies:
            if isinstance(reply, AnswerError):
                raise reply
            texts.append((reply.text, reply.finish))
        return texts

    def _body(self, service: Service, prompt: Prompt, messages: Messages) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": service.model,
            "messages": messages,
            **dict(sorted({**self.model.options, **self.sampling, **self.sampling_params}.items())),
        }
        if prompt.schema is not None and self.structured == "json_schema":
            body["response_format"] = response_format(prompt.schema)
        elif prompt.schema is not None and self.structured == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _settings(self) -> Settings:
        of_model = {"concurrency": self.model.concurrency, "key_variable": self.model.key_variable}
        given = {name: value for name, value in of_model.items() if value is not None}
        return Settings(**checked(Settings, "model_params", {**given, **self.model_params}))

    def _digest_of(self, parameters: dict[str, Any]) -> str:
        shipped = [shipped_prompt(name) for name in self.prompts or (self.name,)]
        used = [(prompt.id, prompt.version, prompt.system, prompt.user, prompt.schema) for prompt in shipped]
        model = {**self.model.identity, "url": ""}  # the same model gives the same answers at any URL
        return super()._digest_of({**parameters, self.model_parameter: model, "shipped prompts": used})


class AskingModel(Asking):
    """Asks the model in `api_model`.

    Attributes:
        api_model: The model: its name at the service, or a model of the kind `openai` in the recipe.
    """

    api_model: ApiModel = _GPT


class AskingAnyModel(Asking):
    """Asks the model in `api_or_hf_model`.

    Attributes:
        api_or_hf_model: The model: its name at the service, or a model of the kind `openai` in the recipe.
    """

    api_or_hf_model: ApiModel = _GPT
    model_parameter = "api_or_hf_model"


class AskingHfModel(Asking):
    """Asks the model in `hf_model`, which a service such as vLLM serves.

    Attributes:
        hf_model: The model: its name at the service, or a model of the kind `openai` in the recipe.
    """

    hf_model: ApiModel = _QWEN
    model_parameter = "hf_model"


def _understood(text: str, finish: str, form: Form | None) -> Answer:
    if form is not None:
        return Answer(text, form.parsed(text, finish))
    stripped = text.strip()
    problem = "the answer was cut off" if finish == "length" else ""
    if not stripped:
        problem = "the answer is empty"
    elif len(stripped) > MAX_CHARACTERS:
        problem = f"the answer has {len(stripped):,} characters"
    return Answer(text, Parsed(None if problem else stripped, "unparsed" if problem else "text", problem))


def _noted(messages: Iterable[Messages], noted: list[Messages]) -> Iterator[Messages]:
    """The messages, each added to a list as it is made."""
    for conversation in messages:
        noted.append(conversation)
        yield conversation


def _again(answer: Answer) -> Messages:
    """The messages for asking again after an answer that does not fit."""
    shown = [{"role": "assistant", "content": answer.text[:_SHOWN]}] if answer.text.strip() else []
    problem = f"That is not usable: {answer.parsed.problem}. Answer again, with nothing but what the task asks for."
    return [*shown, {"role": "user", "content": problem}]


def as_text(value: Any) -> str:
    """A value as a string for a prompt: the empty string for a missing value, JSON for a list or dict."""
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value, enc_hook=str).decode()
