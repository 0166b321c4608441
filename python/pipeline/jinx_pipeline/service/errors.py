"""Errors that a client of the service has caused or can react to."""

from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class ServiceError(Exception):
    """Raised when a request cannot be answered.

    Attributes:
        status: The status code of HTTP.
        code: A short name for programs.
        detail: What is wrong, and what to do.
        problems: The mistakes of a recipe: `path` and `message` of each.
        retry_seconds: When the request may succeed; None if it will not.
    """

    status: int
    code: str
    detail: str
    problems: tuple[dict[str, Any], ...] = ()
    retry_seconds: int | None = None

    def __str__(self) -> str:
        lines = [f"{problem['path']}: {problem['message']}" for problem in self.problems]
        return "\n".join([self.detail, *lines])


def not_found(detail: str) -> ServiceError:
    """The error for something that does not exist, or whose existence must stay unknown."""
    return ServiceError(404, "not_found", detail)
