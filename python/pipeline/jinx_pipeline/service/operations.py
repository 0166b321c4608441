"""The operations of the REST interface: decoding of requests, and responses to errors."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from jinx.errors import JinxError
from jinx_pipeline.operators.api.registry import UnknownOperatorError
from jinx_pipeline.service.errors import ServiceError
from jinx_pipeline.service.types import Problem

PROBLEM_TYPE: Final = "application/problem+json"
_MAX_VALUE: Final = 1 << 20


@dataclass(frozen=True)
class Call:
    """A decoded request.

    Attributes:
        path: The parameters in the path.
        query: The parameters after `?`, as the operation declares them.
        body: The body, as the operation declares it.
        headers: The headers, with names in lower case.
    """

    path: Mapping[str, str]
    query: Any
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Operation:
    """An operation of the interface.

    Attributes:
        method: The method of HTTP.
        path: The path; `{name:path}` also takes slashes.
        name: Its name in OpenAPI.
        summary: What it does.
        handler: Answers a call, in a thread, or as a coroutine: with a struct, or a whole response.
        query: The type of the parameters after `?`.
        body: The type of the body.
        answer: The type of the answer; None if it is no JSON.
        media_type: The type of the content of the answer.
        status: The status of success.
        headers: Headers that it reads: name and description.
    """

    method: str
    path: str
    name: str
    summary: str
    handler: Callable[[Call], Any] | Callable[[Call], Awaitable[Any]]
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    answer: type[msgspec.Struct] | None = None
    media_type: str = "application/json"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    async def respond(self, request: HttpRequest) -> Response:
        """Answer a request."""
        try:
            call = await self._call(request)
            if inspect.iscoroutinefunction(self.handler):
                answer: Any = await self.handler(call)
            else:
                answer = await run_in_threadpool(self.handler, call)
        except ServiceError as error:
            return problem(error)
        except UnknownOperatorError as error:
            return problem(ServiceError(404, "unknown_operator", str(error)))
        except (KeyError, IndexError) as error:
            return problem(ServiceError(404, "not_found", str(error.args[0] if error.args else error)))
        except (JinxError, ValueError, TypeError) as error:
            return problem(ServiceError(422, "bad_value", str(error)))
        if isinstance(answer, Response):
            return answer
        return Response(msgspec.json.encode(answer), self.status, media_type=self.media_type)

    async def _call(self, request: HttpRequest) -> Call:
        body: Any = None
        if self.body is not None:
            if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                raise ServiceError(415, "bad_type", "the body is application/json")
            body = _decoded(await request.body(), self.body)
        query = None if self.query is None else _query(request, self.query)
        if self.query is None and request.query_params:
            raise ServiceError(422, "bad_query", "this takes no parameters after ?")
        if any("\0" in value for value in request.path_params.values()):
            raise ServiceError(404, "not_found", "there is no such path")
        return Call(request.path_params, query, body, request.headers)


def routes_of(operations: Sequence[Operation]) -> list[Route]:
    """Starlette's routes: one per path, so that each knows all methods of its path."""
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    return [Route(path, _endpoint(known), methods=list(known)) for path, known in by_path.items()]


def _endpoint(known: Mapping[str, Operation]) -> Callable[[HttpRequest], Awaitable[Response]]:
    async def endpoint(request: HttpRequest) -> Response:
        return await known["GET" if request.method == "HEAD" else request.method].respond(request)

    return endpoint


def problem(error: ServiceError) -> Response:
    """An error as a response."""
    title = HTTPStatus(error.status).phrase
    answer = Problem(title, error.status, error.code, error.detail[:10_000], list(error.problems))
    headers = {} if error.retry_seconds is None else {"retry-after": str(error.retry_seconds)}
    return Response(msgspec.json.encode(answer), error.status, headers, PROBLEM_TYPE)


def _decoded(body: bytes, kind: type[msgspec.Struct]) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise ServiceError(422, "bad_body", str(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ServiceError(400, "bad_json", f"the body is not JSON: {error}") from None


def _query(request: HttpRequest, kind: type[msgspec.Struct]) -> Any:
    given = request.query_params.multi_items()
    values = dict(given)
    if len(values) != len(given):
        raise ServiceError(422, "bad_query", "a parameter is given twice")
    if any("\0" in value for value in values.values()):
        raise ServiceError(422, "bad_query", "a parameter holds the character NUL")
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ServiceError(422, "bad_query", str(error)) from None
