"""The routes of the viewer."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from jinx import __version__
from jinx._notes.form import Form
from jinx._notes.journal import Journal, Note
from jinx._viewer.media import picture, problem, whole
from jinx._viewer.query import Query
from jinx._viewer.shown import ShownDataset, path_of
from jinx._viewer.thumbnails import Thumbnails
from jinx.errors import InvalidError, JinxError

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'; "
    "frame-ancestors {ancestors}"
)
# A report contains no scripts, and only images that are part of it.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors {ancestors}"
)
_MAX_COLUMNS = 64


class PlanPages(Protocol):
    """A packing plan, in pages."""

    def about(self) -> dict[str, Any]:
        """Facts about the whole packing plan."""
        ...

    def page(self, start: int, count: int) -> dict[str, Any]:
        """The packs from `start` on."""
        ...


class Viewer:
    """The application: it addresses datasets by number.

    Args:
        datasets: What to show.
        start: The query and columns with which the page opens.
        notes: Where the tags and notes about the first dataset go; None if none are taken.
        tags: The tags of the keys 1 to 9.
        form: What people are asked about each sample; its choices take the place of tags.
        plan: A packing plan of the first dataset.
        tokens: The tokens of a sample, for the page.
        report: A report of `jinx-pipeline`, an HTML file, whose links lead to samples of the first dataset.
        is_framed: Whether the page may be shown in a frame of another page, as notebooks do.
    """

    def __init__(
        self,
        datasets: Sequence[ShownDataset],
        start: Mapping[str, str],
        *,
        is_framed: bool = False,
        notes: Journal | None = None,
        tags: Sequence[str] = (),
        form: Form | None = None,
        plan: PlanPages | None = None,
        tokens: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None,
        report: bytes | None = None,
    ) -> None:
        self.datasets = datasets
        self.start = dict(start)
        self.thumbnails = Thumbnails()
        self._notes = notes
        self._tags = list(tags if form is None else form.choices)
        self._form = None if form is None else asdict(form)
        self._plan = plan
        self._tokens = tokens
        self._report = report
        self._policy, self._report_policy = (
            policy.format(ancestors="*" if is_framed else "'none'") for policy in (POLICY, _REPORT_POLICY)
        )
        self._page = _page_files()

    def application(self) -> Starlette:
        """The ASGI application."""
        routes = [
            Route("/", self.page),
            Route("/page/{name}", self.page),
            Route("/about", self.about),
            Route("/notes", _answering(self.notes)),
            Route("/notes", self.take_note, methods=["POST"]),
            Route("/report", self.report),
            Route("/packs", _answering(self.packs)),
            Route("/{dataset:int}/tokens/{sample:int}", _answering(self.tokens)),
            Route("/{dataset:int}/rows", _answering(self.rows)),
            Route("/{dataset:int}/charts", _answering(self.charts)),
            Route("/{dataset:int}/columns/{name:path}", _answering(self.column)),
            Route("/{dataset:int}/place", _answering(self.place)),
            Route("/{dataset:int}/python", _answering(self.python)),
            Route("/{dataset:int}/sample/{sample:int}", _answering(self.sample)),
            Route("/{dataset:int}/text/{sample:int}", _answering(self.text)),
            Route("/{dataset:int}/media/{sample:int}", _answering(self.media)),
        ]
        return Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_found, 500: _failed})

    def page(self, request: Request) -> Response:
        """A file that belongs to the viewer's page."""
        name = request.path_params.get("name", "index.html")
        if name not in self._page:
            return problem("no such file", 404)
        headers = {"content-security-policy": self._policy}
        return Response(self._page[name], headers=headers, media_type=TYPES[name.rpartition(".")[2]])

    def about(self, request: Request) -> Response:
        """The datasets, and how the page starts."""
        del request
        datasets = [dataset.about() for dataset in self.datasets]
        names = [info["name"] for info in datasets]
        for info in datasets:
            # Users choose a dataset by name, and train.jinx in two directories would look alike.
            if names.count(info["name"]) > 1:
                info["name"] = info["path"]
        return JSONResponse(
            {
                "datasets": datasets,
                "start": self.start,
                "version": __version__,
                "plan": None if self._plan is None else self._plan.about(),
                "tokens": self._tokens is not None,
                "report": self._report is not None,
            }
        )

    def report(self, request: Request) -> Response:
        """The report; with a query, of the samples that it selects."""
        if self._report is None:
            return problem("no report is shown; begin the viewer with --report FILE", 404)
        if request.url.query:
            return Response(status_code=303, headers={"location": f"./?{request.url.query}"})
        return Response(self._report, headers={"content-security-policy": self._report_policy}, media_type="text/html")

    def packs(self, request: Request) -> Response:
        """A page of packs."""
        if self._plan is None:
            raise KeyError("no plan is shown; begin the viewer with --pack PLAN")
        asked = request.query_params
        return JSONResponse(self._plan.page(_number(asked, "start", 0), _number(asked, "count", 60)))

    def tokens(self, request: Request) -> Response:
        """The tokens of a sample."""
        if self._tokens is None:
            raise KeyError("begin the viewer with --tokenizer PATH to see tokens")
        sample = self._dataset(request).texts(request.path_params["sample"])
        return JSONResponse(self._tokens(sample))

    def notes(self, request: Request) -> Response:
        """All tags and notes; null if notes are turned off."""
        del request
        if self._notes is None:
            return JSONResponse(None)
        content = self._notes.content
        given = {str(sample): note.to_dict() for sample, note in content.given.items()}
        about = {"by": content.by, "path": content.path, "tags": self._tags, "form": self._form}
        return JSONResponse({**about, "notes": given})

    async def take_note(self, request: Request) -> Response:
        """Store the tags and note of a sample; the response comes once they are on disk."""
        return await run_in_threadpool(self._take_note, await request.body(), request.headers.get("content-type"))

    def _take_note(self, body: bytes, kind: str | None) -> Response:
        if self._notes is None:
            return problem("this viewer takes no notes; begin it with --notes FILE", 404)
        # A form on another site cannot send this content type.
        if kind != "application/json":
            return problem("a note is application/json", 415)
        try:
            entry = json.loads(body)
            sample = entry["sample"]
            if type(sample) is not int or not 0 <= sample < len(self.datasets[0]):
                raise InvalidError("there is no such sample")
            self._notes.set(sample, Note.parse(entry))
        except (ValueError, TypeError, KeyError) as error:
            return problem(str(error), 422)
        except OSError as error:
            return problem(f"the note could not be written: {error.strerror}", 507)
        return JSONResponse({"kept": True})

    def _dataset(self, request: Request) -> ShownDataset:
        number: int = request.path_params["dataset"]
        if number >= len(self.datasets):
            raise KeyError(f"there are {len(self.datasets)} datasets")
        return self.datasets[number]

    def rows(self, request: Request) -> Response:
        """A page of rows."""
        asked = request.query_params
        start, count = _number(asked, "start", 0), _number(asked, "count", 60)
        return JSONResponse(self._dataset(request).page(Query.parse(asked), start, count))

    def charts(self, request: Request) -> Response:
        """The charts of some columns."""
        asked = request.query_params
        names = [name for name in _list(asked.get("columns", "[]")) if isinstance(name, str)][:_MAX_COLUMNS]
        return JSONResponse(self._dataset(request).chart_counts(Query.parse(asked), names))

    def column(self, request: Request) -> Response:
        """A column of the samples that the query keeps, as an Arrow stream, for programs."""
        from jinx._viewer.arrow_column import ARROW_STREAM

        parts = self._dataset(request).arrow_column(Query.parse(request.query_params), request.path_params["name"])
        return StreamingResponse(parts, media_type=ARROW_STREAM)

    def place(self, request: Request) -> Response:
        """The position of a sample in the order of the page."""
        asked = request.query_params
        place = self._dataset(request).selections.place_of(Query.parse(asked), _number(asked, "sample", 0))
        return JSONResponse({"place": place})

    def python(self, request: Request) -> Response:
        """Python code that selects the samples shown on the page."""
        dataset = self._dataset(request)
        query = Query.parse(request.query_params)
        return JSONResponse({"python": query.python(dataset.path if dataset.is_saved else None)})

    def sample(self, request: Request) -> Response:
        """A whole sample."""
        return JSONResponse(self._dataset(request).sample(request.path_params["sample"]))

    def text(self, request: Request) -> Response:
        """A whole string, which the rows only show in part."""
        path = path_of(request.query_params.get("path", ""))
        value = self._dataset(request).value(request.path_params["sample"], path)
        if not isinstance(value, str):
            raise KeyError("this is not a string")
        return Response(value.encode(errors="replace"), media_type="text/plain; charset=utf-8")

    def media(self, request: Request) -> Response:
        """A binary value, or a thumbnail of it."""
        asked = request.query_params
        data = self._dataset(request).binary(request.path_params["sample"], path_of(asked.get("path", "")))
        if "small" in asked:
            return picture(data, self.thumbnails)
        return whole(data, request.headers.get("range"))


def _answering(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """The same handler, with errors turned into responses that describe them."""

    def endpoint(request: Request) -> Response:
        try:
            return answer(request)
        except (KeyError, IndexError) as error:
            return problem(str(error.args[0] if error.args else error), 404)
        except (JinxError, ValueError, TypeError) as error:
            return problem(str(error), 422)
        except ImportError as error:
            return problem(str(error), 501)
        except OSError as error:
            return problem(f"{error.strerror}: {error.filename}" if error.strerror else str(error), 500)

    return endpoint


def _not_found(request: Request, error: Exception) -> Response:
    del request
    return problem("no such address", getattr(error, "status_code", 404))


def _failed(request: Request, error: Exception) -> Response:
    del request
    return problem(f"{type(error).__name__}: {error}", 500)


def _number(asked: Mapping[str, str], name: str, default: int) -> int:
    text = asked.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 18:  # noqa: PLR2004 - 18 digits fit into 64 bits
        raise ValueError(f"{name} is not a number")
    return int(text)


def _list(text: str) -> list[Any]:
    value = json.loads(text)
    if not isinstance(value, list):
        raise ValueError("columns is not a list")  # noqa: TRY004 - the wrong type is in the request
    return value  # pyright: ignore[reportUnknownVariableType]


def _page_files() -> dict[str, bytes]:
    """The files of the page, by name."""
    folder = files("jinx._viewer") / "page"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in TYPES}
