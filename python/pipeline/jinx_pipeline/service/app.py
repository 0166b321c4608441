"""The application: the REST interface under `/v1`; and behind a secret path, the page of jobs and the viewer."""

import hmac
from http import HTTPStatus
from importlib.resources import files
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from jinx._viewer.app import POLICY, TYPES
from jinx._viewer.guard import App, BodyTooLargeError, Guard, Receive, Scope, Send, answer
from jinx._viewer.token import secret_path
from jinx_pipeline.service.errors import ServiceError, not_found
from jinx_pipeline.service.operations import PROBLEM_TYPE, problem
from jinx_pipeline.service.rest import Rest
from jinx_pipeline.service.types import Problem
from jinx_pipeline.service.views import Views
from jinx_pipeline.service.workplace import Workplace

# The paths that programs use with the token in a header; all other paths are behind the secret path.
MCP_PATH: Final = "/mcp"
_API: Final = ("/v1/", MCP_PATH)
_CODES: Final = {
    400: "bad_host",
    401: "unauthorized",
    403: "forbidden",
    405: "bad_method",
    413: "too_large",
    503: "busy",
}


class ServiceGuard(Guard):
    """Accepts programs that send the token, and browsers that know the secret path.

    Args:
        app: The application.
        token: The token.
        hosts: Names by which the server may be addressed; None allows any name.
    """

    def __init__(self, app: App, token: str, hosts: frozenset[str] | None) -> None:
        super().__init__(app, secret_path(token), hosts, touched=lambda: None)
        self._token = token.encode()

    def _wrong_secret(self, path: str, headers: dict[bytes, str]) -> tuple[int, str] | None:
        if not path.startswith(_API):
            return super()._wrong_secret(path, headers)
        kind, _, token = headers.get(b"authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self._token):
            return 401, "send the token of the service: Authorization: Bearer TOKEN"
        return None

    def _wrong_request(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str] | None:
        # Each interface checks the methods of its own paths.
        is_api = scope["path"].startswith(_API)
        return super()._wrong_request({**scope, "method": "POST"} if is_api else scope, headers)

    def _inner(self, scope: Scope) -> Scope:
        return scope if scope["path"].startswith(_API) else super()._inner(scope)

    async def refuse(self, scope: Scope, send: Send, status: int, message: str) -> None:
        """Answer a request that is not let through."""
        del scope
        body = Problem(HTTPStatus(status).phrase, status, _CODES.get(status, "not_found"), message)
        extra = ((b"www-authenticate", b"Bearer"),) if status == HTTPStatus.UNAUTHORIZED else ()
        await answer(send, status, msgspec.json.encode(body), PROBLEM_TYPE, extra)


def with_mcp(app: App, mcp: App) -> App:
    """An application that also speaks MCP, with MCP's lifespan."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        is_mcp = scope["type"] == "lifespan" or scope["path"] == MCP_PATH
        await (mcp if is_mcp else app)(scope, receive, send)

    return call


class Service:
    """The application for a workplace.

    Args:
        place: The workplace.
    """

    def __init__(self, place: Workplace) -> None:
        self.place = place
        self._views = Views(place.datasets)
        self._page = _page_files()

    def application(self) -> Starlette:
        """The ASGI application."""
        routes: list[Any] = [
            *Rest(self.place).routes(),
            Route("/", self.page),
            Route("/page/{name}", self.page),
            Mount("/view", app=_whole_path(self._views)),
        ]
        handlers: dict[Any, Any] = {
            BodyTooLargeError: lambda _, __: problem(ServiceError(413, "too_large", "the request is too large")),
            TimeoutError: lambda _, __: problem(ServiceError(408, "too_slow", "the request was sent too slowly")),
            HTTPException: _http_problem,
            500: lambda _, __: problem(ServiceError(500, "failed", "this is a fault of the service; see its log")),
        }
        return Starlette(routes=routes, exception_handlers=handlers)

    def page(self, request: Request) -> Response:
        """A file that belongs to the page of jobs."""
        name = request.path_params.get("name", "index.html")
        if name not in self._page:
            return problem(not_found("there is no such file"))
        # A job's report is shown in a frame.
        headers = {"content-security-policy": POLICY.format(ancestors="'none'") + "; frame-src 'self'"}
        return Response(self._page[name], headers=headers, media_type=TYPES[name.rpartition(".")[2]])

    def close(self) -> None:
        """Stop what the application has started."""
        self._views.close()


def _http_problem(request: Request, error: Exception) -> Response:
    del request
    status, headers = getattr(error, "status_code", 500), getattr(error, "headers", None)
    code = _CODES.get(status, "not_found")
    response = problem(ServiceError(status, code, "there is no such address, or it has not this method"))
    response.headers.update(headers or {})
    return response


def _whole_path(app: App) -> App:
    """An application that sees the whole path even if it is mounted."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "root_path": ""}, receive, send)

    return call


def _page_files() -> dict[str, bytes]:
    """The files of the page, by name; it uses the viewer's style."""
    found = {file.name: file.read_bytes() for file in (files("jinx_pipeline.service") / "page").iterdir()}
    shared = files("jinx._viewer") / "page"
    return {**found, **{name: (shared / name).read_bytes() for name in ("style.css", "icon.svg")}}
