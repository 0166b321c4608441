"""A language model behind a URL that speaks OpenAI's chat completions."""

import json
import os
import time
from dataclasses import dataclass
from typing import Any, Final

from jinx_pipeline.operators.api.retry_after import BUSY_STATUSES, seconds_to_wait
from jinx_pipeline.sample.http_client import post

_MAX_BYTES: Final = 1 << 20
_TRIES: Final = 4
_LONGEST_WAIT: Final = 30.0


class ModelError(RuntimeError):
    """Raised when the model gives no usable answer."""


@dataclass(frozen=True)
class ChatModel:
    """A model behind a URL.

    Attributes:
        url: The URL of the service, such as `https://api.openai.com/v1`.
        name: The name of the model.
        key_variable: The environment variable with the key; it may be unset.
        seconds: How long an answer may take.
    """

    url: str
    name: str
    key_variable: str = "OPENAI_API_KEY"
    seconds: float = 120.0

    def answer(self, messages: list[dict[str, str]], schema: dict[str, Any]) -> str:
        """The model's answer, which should fit the schema.

        Raises:
            ModelError: There is none.
            HttpError: The service does not answer.
        """
        form = {"type": "json_schema", "json_schema": {"name": "recipe", "strict": True, "schema": schema}}
        body = {"model": self.name, "messages": messages, "temperature": 0, "response_format": form}
        key = os.environ.get(self.key_variable)
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        url = f"{self.url.rstrip('/')}/chat/completions"
        for number in range(_TRIES):
            answer = post(url, json.dumps(body).encode(), headers, seconds=self.seconds, max_bytes=_MAX_BYTES)
            if answer.status in BUSY_STATUSES and number < _TRIES - 1:
                time.sleep(min(seconds_to_wait(answer.headers.get("retry-after")), _LONGEST_WAIT))
                continue
            if not answer.is_ok:
                raise ModelError(f"{url}: status {answer.status}: {answer.beginning}")
            return _content(answer.body, url)
        raise AssertionError("the last try returns or raises")


def _content(body: bytes, url: str) -> str:
    try:
        message = json.loads(body)["choices"][0]["message"]
        content = message["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ModelError(f"{url}: this is not a chat completion") from None
    if not isinstance(content, str):
        raise ModelError(f"{url}: the model refused: {str(message.get('refusal'))[:200]}")
    return content
