"""Tasks in Label Studio, over its HTTP API: a project, its labeling interface, its tasks and their annotations."""

import base64
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, cast

from jinx._media_types import media_bytes
from jinx._viewer.media_type import mime_of
from jinx_pipeline.operators.api.annotation import Form, HumanAnswer
from jinx_pipeline.sample.http_client import Answer, HttpError, get_from_service, post

TOKEN = "LABEL_STUDIO_TOKEN"  # noqa: S105 - this is the name of a variable
# The name of the form element with the answer, and of the task's entry that identifies the task.
_ANSWER, _TASK = "answer", "jinx_task"
_SECONDS = 120.0
_MAX_BYTES = 1 << 30
# Media are sent inside the task; larger ones are left out, and the task says so.
_MAX_MEDIA_BYTES = 2 << 20
_SHOWN_CHARACTERS = 20_000
_ELEMENTS = {"image": "Image", "audio": "Audio", "video": "Video"}
_REFUSED, _FORBIDDEN = 401, 403


class LabelStudioError(ValueError):
    """Raised if Label Studio refuses a request, or returns an unexpected answer."""


@dataclass
class LabelStudio:
    """A Label Studio server.

    Attributes:
        url: Its URL.
        token: A token of a user: a personal access token, or a legacy token.
    """

    url: str
    token: str = field(repr=False)
    _header: str = field(default="", init=False, repr=False)

    def create_project(self, title: str, config: str, overlap: int) -> int:
        """A new project; returns its number."""
        project = {"title": title[:50], "label_config": config, "maximum_annotations": overlap}
        return int(self._post("/api/projects/", project)["id"])

    def find_project(self, title: str) -> int | None:
        """The number of the project with a title; None if there is none."""
        found = self._get("/api/projects/?page_size=1000&ordering=-id")
        projects: list[dict[str, Any]] = found["results"] if isinstance(found, dict) else found
        return next((int(project["id"]) for project in projects if project["title"] == title[:50]), None)

    def count_tasks(self, project: int) -> int:
        """How many tasks a project has."""
        return int(self._get(f"/api/projects/{project}/")["task_number"])

    def add_tasks(self, project: int, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Add tasks to a project; each is the data that its labeling interface shows."""
        self._post(f"/api/projects/{project}/import", [{"data": dict(task)} for task in tasks])

    def export(self, project: int) -> Any:
        """The annotated tasks of a project."""
        return self._get(f"/api/projects/{project}/export?exportType=JSON")

    def _get(self, path: str) -> Any:
        return self._asked(lambda headers: get_from_service(self._address(path), headers, **_LIMITS), path)

    def _post(self, path: str, value: Any) -> Any:
        body = json.dumps(value).encode()
        return self._asked(lambda headers: post(self._address(path), body, headers, **_LIMITS), path)

    def _address(self, path: str) -> str:
        return f"{self.url.rstrip('/')}{path}"

    def _asked(self, ask: Any, path: str) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": self._authorization()}
        answer = self._answer(ask, headers)
        if answer.status == _REFUSED and headers["Authorization"].startswith("Bearer"):
            # The access token is valid for some minutes.
            self._header = ""
            answer = self._answer(ask, {**headers, "Authorization": self._authorization()})
        if answer.status in {_REFUSED, _FORBIDDEN}:
            raise LabelStudioError(f"{self.url} refuses the token in {TOKEN}: {answer.beginning}")
        return self._parsed(answer, path)

    def _answer(self, ask: Any, headers: Mapping[str, str]) -> Answer:
        try:
            return ask(headers)
        except HttpError as error:
            raise LabelStudioError(f"{self.url} does not answer: {error}") from None

    def _parsed(self, answer: Answer, path: str) -> Any:
        if not answer.is_ok:
            raise LabelStudioError(f"{self.url}{path} answers {answer.status}: {answer.beginning}")
        try:
            return json.loads(answer.body)
        except ValueError:
            raise LabelStudioError(f"{self.url}{path} does not answer with JSON; is this Label Studio?") from None

    def _authorization(self) -> str:
        """The header; a personal access token is exchanged for one that lasts some minutes."""
        if not self._header:
            self._header = f"Bearer {self._access_token()}" if self.token.count(".") == 2 else f"Token {self.token}"  # noqa: PLR2004 - a JSON web token has three parts
        return self._header

    def _access_token(self) -> str:
        body = json.dumps({"refresh": self.token}).encode()
        headers = {"Content-Type": "application/json"}
        answer = self._answer(lambda given: post(self._address("/api/token/refresh"), body, given, **_LIMITS), headers)
        if answer.status in {_REFUSED, _FORBIDDEN}:
            raise LabelStudioError(f"{self.url} refuses the token in {TOKEN}: {answer.beginning}")
        return str(self._parsed(answer, "/api/token/refresh")["access"])


_LIMITS: Any = {"seconds": _SECONDS, "max_bytes": _MAX_BYTES}


def label_studio_at(url: str) -> LabelStudio:
    """The server at a URL, with the token from the environment.

    Raises:
        LabelStudioError: The environment has no token.
    """
    token = os.environ.get(TOKEN)
    if not token:
        raise LabelStudioError(f"set {TOKEN} to a token of {url}, from Account & Settings")
    return LabelStudio(url, token)


def task_data(number: int, sample: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """What Label Studio shows of a sample: strings, and small media as data URLs."""
    names = form.columns or tuple(sample)
    return {_TASK: number, **{_member(name): _shown(sample.get(name)) for name in names}}


def _shown(value: Any) -> str:
    data = value if isinstance(value, bytes) else media_bytes(dict(value)) if isinstance(value, Mapping) else None
    if data is None:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        return text[:_SHOWN_CHARACTERS]
    mime = mime_of(data)
    if mime is None or len(data) > _MAX_MEDIA_BYTES:
        return f"({len(data):,} bytes)"
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def _member(column: str) -> str:
    """A column's name as a variable in a labeling interface."""
    return "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in column)


def label_config(form: Form, sample: Mapping[str, Any]) -> str:
    """The labeling interface for a form.

    Args:
        form: The form.
        sample: A task, as `task_data` makes it, whose values say what each column is.
    """
    names = [_member(name) for name in form.columns] or [name for name in sample if name != _TASK]
    shown = [_element(name, sample.get(name, "")) for name in names]
    question = [f"<Header value={_quoted(form.question)}/>"] if form.question else []
    return f"<View>{''.join([*question, *shown, _control(form, names)])}</View>"


def _element(name: str, value: str) -> str:
    kind = value.removeprefix("data:").partition("/")[0] if value.startswith("data:") else "text"
    element = _ELEMENTS.get(kind, "Text")
    head = f'<Header size="5" value={_quoted(name)}/>'
    return f"{head}<{element} name={_quoted(name)} value={_quoted('$' + name)}/>"


def _control(form: Form, names: Sequence[str]) -> str:
    if form.kind == "pair":
        return f'<Pairwise name="{_ANSWER}" toName={_quoted(",".join(names[-2:]))}/>'
    target = f'name="{_ANSWER}" toName={_quoted(names[0])}'
    if form.kind == "text":
        return f'<TextArea {target} required="true"/>'
    if form.kind == "rating":
        return f'<Rating {target} maxRating="{len(form.choices)}" required="true"/>'
    choices = "".join(f"<Choice value={_quoted(choice)}/>" for choice in form.choices)
    kind = "multiple" if form.kind == "tags" else "single-radio"
    return f'<Choices {target} choice="{kind}">{choices}</Choices>'


def answers_of_export(exported: Any, form: Form) -> Iterator[tuple[int, HumanAnswer]]:
    """The answers in an export, with the numbers of their tasks; skipped tasks and other elements are ignored.

    Args:
        exported: An export as JSON or JSON_MIN.
        form: The form of the tasks.

    Raises:
        LabelStudioError: It is something else.
    """
    if not isinstance(exported, list):
        raise LabelStudioError("an export of Label Studio is a list of tasks")
    for task in cast("list[Any]", exported):
        if not isinstance(task, Mapping):
            raise LabelStudioError("an export of Label Studio is a list of tasks")
        yield from _answers_of_task(cast("Mapping[str, Any]", task), form)


def _answers_of_task(task: Mapping[str, Any], form: Form) -> Iterator[tuple[int, HumanAnswer]]:
    data = task.get("data", task)
    number = data.get(_TASK) if isinstance(data, Mapping) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not isinstance(number, int):
        raise LabelStudioError(f"a task of the export has no {_TASK}; it is of another project")
    if "annotations" not in task:  # the format JSON_MIN
        value = _value(task.get(_ANSWER), form)
        if value is not None:
            yield number, HumanAnswer(_person(task.get("annotator")), value)
        return
    for annotation in task["annotations"]:
        results = [] if annotation.get("was_cancelled") else annotation.get("result") or []
        for result in results:
            value = _value(_given(result), form) if result.get("from_name") == _ANSWER or form.kind == "pair" else None
            if value is not None:
                yield number, HumanAnswer(_person(annotation.get("completed_by")), value)


def _person(who: Any) -> str:
    """A user: an e-mail address, or a number."""
    if isinstance(who, Mapping):
        who = who.get("email") or who.get("id")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return f"user {who}" if isinstance(who, int) else str(who)  # pyright: ignore[reportUnknownArgumentType]


def _given(result: Mapping[str, Any]) -> Any:
    value = result.get("value") or {}
    return next((value[name] for name in ("choices", "rating", "text", "selected") if name in value), None)


def _value(given: Any, form: Form) -> str | int | list[str] | None:
    """The value of an answer; JSON_MIN has one choice as a string, and several as a dict."""
    if isinstance(given, Mapping):
        given = given.get("choices")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if form.kind == "rating":
        return int(given) if isinstance(given, int) and str(given) in form.choices else None
    listed: list[Any] = [*given] if isinstance(given, list) else [] if given is None else [given]  # pyright: ignore[reportUnknownVariableType]
    if form.kind == "text":
        return "\n".join(map(str, listed)) or None
    known = [str(choice) for choice in listed if choice in form.choices]
    if form.kind == "tags":
        return known or None
    return known[0] if len(known) == 1 else None


def _quoted(text: str) -> str:
    """A text as the value of an XML attribute; `xml.sax.saxutils` would import HTTP and FTP clients."""
    kept = escape(text)
    for space in "\t\n\r":
        kept = kept.replace(space, f"&#{ord(space)};")
    return f'"{kept}"'
