"""A service with the OpenAI protocol: its URL, its key from the environment, limits, prices and a budget."""

import os
import re
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import parse_qsl, urlsplit

from jinx_pipeline.llm.batch_files import KEPT
from jinx_pipeline.operators.api.answer_files import Spent
from jinx_pipeline.operators.api.parameters import NotEmpty, Range
from jinx_pipeline.operators.api.response_cache import NoServiceError

_PUBLIC_URL: Final = "https://api.openai.com/v1"
_PUBLIC_KEY: Final = "OPENAI_API_KEY"
_SECRET: Final = re.compile(r"key|token|secret|sig|auth|pass", re.IGNORECASE)


class BudgetError(RuntimeError):
    """Raised when the budget is used up; this concerns all samples."""

    concerns_all_rows = True


@dataclass(frozen=True)
class Settings:
    """How a service is called; none of this changes an answer.

    Attributes:
        key_variable: The environment variable with the key; None: `OPENAI_API_KEY`, if it is set.
        concurrency: The maximum number of simultaneous requests of each worker. The client finds out how many the
            service accepts.
        seconds: How long the service may take to answer.
        tries: How often a request is sent if it fails or times out.
        patience: How many seconds a worker waits for a service that is busy; then its block waits.
        max_requests: A budget: the maximum number of answers in the directory of answers.
        max_tokens_spent: A budget: the maximum number of tokens of prompts and answers.
        max_money: A budget: the maximum cost, according to `prices`.
        prices: The prices of a million tokens of prompts and of a million tokens of answers.
        answers: The directory of answers, to share it between recipes; None: `answers/` of the working directory.
        batch: A directory for files of the Batch API: nothing is sent, and a run stops if an answer is missing. The
            command `batch` writes the requests and takes the answers.
        collect: Whether requests without an answer are only written down; the command `batch` sets it.
    """

    key_variable: str | None = None
    concurrency: Annotated[int, Range(1, 100_000)] = 256
    seconds: Annotated[float, Range(0.001)] = 120.0
    tries: Annotated[int, Range(1, 1000)] = 6
    patience: Annotated[float, Range(0)] = 60.0
    max_requests: Annotated[int, Range(0)] | None = None
    max_tokens_spent: Annotated[int, Range(0)] | None = None
    max_money: Annotated[float, Range(0)] | None = None
    prices: Annotated[list[float], NotEmpty()] | None = None
    answers: str | None = None
    batch: str | None = None
    collect: bool = False

    def __post_init__(self) -> None:
        if self.prices is not None and len(self.prices) != 2:  # noqa: PLR2004 - the message explains the two prices
            raise ValueError("prices is a list of two numbers: of a million tokens of prompts, and of answers")
        if self.max_money is not None and self.prices is None:
            raise ValueError("max_money needs prices")
        if self.batch is not None and self.has_budget:
            raise ValueError("a batch has no budget: its requests are sent by hand")

    @property
    def directory(self) -> str | None:
        """The directory of answers; None for the directory of the run."""
        return self.answers if self.answers or self.batch is None else f"{self.batch}/{KEPT}"

    @property
    def has_budget(self) -> bool:
        """Whether there is a budget."""
        return not (self.max_requests is None and self.max_tokens_spent is None and self.max_money is None)

    def cost(self, tokens: tuple[int, int]) -> float:
        """The price of an answer; 0 without prices."""
        return (
            sum(price * count / 1e6 for price, count in zip(self.prices, tokens, strict=True)) if self.prices else 0.0
        )

    def has_room(self, spent: Spent, under_way: int) -> bool:
        """Whether the budget allows another request in addition to those in progress.

        Args:
            spent: What the answers so far have cost.
            under_way: Requests without an answer, each of which will cost as much as the average of the others.

        Raises:
            BudgetError: It is used up.
        """
        share = under_way / spent.requests if spent.requests else 0.0
        has_room = True
        for name, most, used, later in (
            ("max_requests", self.max_requests, spent.requests, under_way),
            ("max_tokens_spent", self.max_tokens_spent, spent.tokens, spent.tokens * share),
            ("max_money", self.max_money, spent.money, spent.money * share),
        ):
            if most is None:
                continue
            if used >= most:
                raise BudgetError(
                    f"{name} ({most:g}) is used up: {spent.requests:,} answers, {spent.tokens:,} tokens, "
                    f"{spent.money:.4g} in money; raise it and resume the run, which keeps all answers"
                )
            has_room = has_room and used + later < most
        return has_room


@dataclass(frozen=True)
class Service:
    """A service that answers chat requests.

    Attributes:
        model: The name of the model.
        url: The URL of its chat completions.
        settings: How it is asked.
    """

    model: str
    url: str
    settings: Settings

    def key(self) -> str | None:
        """The key, from the environment of this process.

        Raises:
            NoServiceError: The named variable is not set.
        """
        variable = self.settings.key_variable
        key = os.environ.get(variable or _PUBLIC_KEY, "").strip()
        if not key and variable is not None:
            raise NoServiceError(f"{self.url}: the environment variable {variable} with the key is not set")
        return key or None


def chat_url(endpoint: str | None) -> str:
    """The URL of chat completions, from a base URL (`http://localhost:8000/v1`) or a complete URL.

    Args:
        endpoint: The URL; a path such as `/chat/completions` is added to the base URL. None: the base URL. The base URL
            is in the environment variable `OPENAI_BASE_URL`, and OpenAI's without it.

    Raises:
        ValueError: It is not an http or https URL, or it has a password or key.
    """
    base = os.environ.get("OPENAI_BASE_URL") or _PUBLIC_URL
    url = base if endpoint is None else endpoint
    if url.startswith("/"):
        url = base.rstrip("/") + url
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("is not an http or https URL")
    if parts.username or parts.password or any(_SECRET.search(name) for name, _ in parse_qsl(parts.query)):
        raise ValueError("has a password or key, which would be in files: set it in the environment (key_variable)")
    if parts.path.rstrip("/").endswith(("/completions", "/embeddings")):
        return url
    return parts._replace(path=f"{parts.path.rstrip('/')}/chat/completions").geturl()
