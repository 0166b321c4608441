"""Gathers what people have answered, and tells them that a run waits for them."""

import json
import warnings
from pathlib import Path
from typing import Any

from jinx_pipeline.annotation.tasks import ANSWERS, FORM, TASKS, Tasks, add_answers
from jinx_pipeline.annotation.wait import WaitingError
from jinx_pipeline.exchange.chunks import all_positions
from jinx_pipeline.operators.api.annotation import Annotation, HumanAnswer, encoded_answers
from jinx_pipeline.operators.api.keyed import Decision
from jinx_pipeline.runlog.work_dir import publish_text
from jinx_pipeline.sample.http_client import HttpError, post

_PROJECT, _TOLD = "label_studio.json", "told.json"
_TASKS_AT_ONCE = 100
_WEBHOOK_SECONDS = 10.0


def decide(tasks: Tasks, *, accepts_missing: bool) -> Decision:
    """The answers for all samples; for the errors, see `People.decide`."""
    operator, folder = tasks.operator, tasks.folder
    given: list[dict[str, HumanAnswer]] = [{answer.by: answer for answer in known} for known in tasks.answers()]
    if operator.label_studio is not None:
        add_answers(given, _from_label_studio(tasks, operator.label_studio))
    answers = [list(by_person.values()) for by_person in given]
    missing = sum(max(0, operator.overlap - len(known)) for known in answers)
    if missing and not accepts_missing:
        _notify(tasks, "waiting", f"{operator.name} waits for {missing:,} answers", missing)
        raise WaitingError(operator.name, missing, folder, _how(operator, folder))
    _notify(tasks, "answered", f"{operator.name} has its answers", missing)
    unanswered = sum(not known for known in answers)
    counts = {"answered": len(tasks) - unanswered, "unanswered": unanswered}
    return Decision(all_positions(len(tasks)), keys=encoded_answers(answers), counts=counts)


def _how(operator: Annotation, folder: Path) -> str:
    if operator.label_studio is not None:
        project = json.loads((folder / _PROJECT).read_text("utf-8"))["project"]
        return f"{operator.label_studio.rstrip('/')}/projects/{project}/data"
    return f"jinx view {folder / TASKS} --form {folder / FORM} --notes {folder / ANSWERS}/NAME.notes --by NAME"


def _from_label_studio(tasks: Tasks, url: str) -> Any:
    """The answers of the project on a server. The project is made and filled first, if necessary."""
    from jinx_pipeline.annotation.label_studio import answers_of_export, label_studio_at, task_data

    server, operator, file = label_studio_at(url), tasks.operator, tasks.folder / _PROJECT
    state: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if state.get("url") != url:
        title = f"jinx {tasks.folder.name}"
        project = server.find_project(title)
        if project is None:
            project = server.create_project(title, _config(tasks), operator.overlap)
        # A process that was interrupted may have added some tasks already.
        state = {"url": url, "project": project, "tasks": server.count_tasks(project)}
    publish_text(file, json.dumps(state))
    for first in range(state["tasks"], len(tasks), _TASKS_AT_ONCE):
        numbers = range(first, min(first + _TASKS_AT_ONCE, len(tasks)))
        server.add_tasks(state["project"], [task_data(n, tasks.dataset[n], operator.form) for n in numbers])
        state["tasks"] = numbers.stop
        publish_text(file, json.dumps(state))
    return answers_of_export(server.export(state["project"]), operator.form)


def _config(tasks: Tasks) -> str:
    from jinx_pipeline.annotation.label_studio import label_config, task_data

    operator = tasks.operator
    if operator.label_config is not None:
        return operator.label_config.read_text("utf-8")
    first = task_data(0, tasks.dataset[0], operator.form) if len(tasks) else {}
    return label_config(operator.form, first)


def _notify(tasks: Tasks, event: str, text: str, missing: int) -> None:
    """Post a message to the webhook, if there is one, once for each event; `text` is what chat services show."""
    operator, file = tasks.operator, tasks.folder / _TOLD
    url = operator.webhook_url
    told: list[str] = json.loads(file.read_text("utf-8")) if file.exists() else []
    if url is None or event in told:
        return
    message = {"text": text, "event": event, "operator": operator.name, "tasks": len(tasks), "missing": missing}
    headers, body = {"Content-Type": "application/json"}, json.dumps(message).encode()
    try:
        answer = post(url, body, headers, seconds=_WEBHOOK_SECONDS, max_bytes=1 << 20)
        problem = None if answer.is_ok else f"it answers {answer.status}"
    except HttpError as error:
        problem = str(error)
    if problem is None:
        publish_text(file, json.dumps([*told, event]))
    else:
        # People can answer even if the message fails.
        warnings.warn(f"{operator.name}: the webhook got no message: {problem}", stacklevel=2)
