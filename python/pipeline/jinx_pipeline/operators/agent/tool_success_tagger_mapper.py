"""Counts which tool calls of an agent succeeded: the operator `tool_success_tagger_mapper`."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, Literal

from jinx_pipeline.operators.agent.trace import TOOL_ROLES, ToolResult, messages_at, result_text, tool_results
from jinx_pipeline.operators.api.metadata import META, MetadataMapper
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register

Outcome = Literal["success", "error", "unknown"]
_PREVIEW: Final = 200

_ERROR: Final = (
    r"(?i)\b(?:error|exception)\s*:",
    r"(?i)\btraceback \(most recent call last\)",
    r"(?i)(?<!\bno )(?<!\b0 )(?<!\bzero )\b(?:exception|failures?|failed)\b",
    r"(?i)\b(?:not\s+found|no such file|command not found|permission\s+denied|access denied|timed out)\b",
    r"(?:执行|操作|请求|调用|接口)失败",
    r"(?:发生|出现)错误",
    r"错误码|无法访问|权限不足|无权限",
    r"找不到(?:文件|路径)?",
)


@register("tool_success_tagger_mapper", modality="text")
class ToolSuccessTaggerMapper(MetadataMapper):
    r"""Adds the number of successful and failed tool calls to `__dj__meta__`, from the results in an agent's messages.

    A result is an error if it is marked as one (`is_error`), if it is JSON that says so (`success`, `ok`, `error`,
    `status`, `exit_code`), or if a pattern for errors matches. Any other result with a text is a success, and one
    without a text is unknown.

        samples = [{"messages": [{"role": "tool", "content": "Error: no file"}, {"role": "tool", "content": "ok"}]}]
        create("tool_success_tagger_mapper")(samples)  # tool_fail_count: 1, tool_success_count: 1, ...

    `tool_success_count`, `tool_fail_count` and `tool_unknown_count` are the numbers of results, `tool_success_ratio` is
    the share of successes among successes and failures (None if there is neither), and `tool_results` has the
    `content_preview` (200 characters) and the `result` of each.

    Attributes:
        messages_key: The column with the messages.
        tool_role_names: The roles of messages that are results; by default `tool`, `tool_use` and `function`. Content
            blocks of the type `tool_result` are results too.
        success_patterns: Regular expressions of successes. With them, a result that matches no pattern is unknown.
        error_patterns: Regular expressions of errors instead of the built-in ones. With patterns of either kind, JSON
            is not looked into.
        store_per_tool_results: Whether `tool_results` is added.
    """

    messages_key: str = "messages"
    tool_role_names: list[str] | None = None
    success_patterns: list[str] | None = None
    error_patterns: list[str] | None = None
    store_per_tool_results: bool = True

    def check(self) -> None:
        for name in ("success_patterns", "error_patterns"):
            for pattern in getattr(self, name) or []:
                try:
                    re.compile(pattern)
                except re.error as error:
                    problem = f"{name}: {pattern!r} does not parse: {error}"
                    raise ParameterError(self.name, name, problem) from None

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.messages_key, META)

    def facts(self, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        roles = self.tool_role_names or TOOL_ROLES
        messages = messages_at(sample, self.messages_key)
        results = [result for message in messages for result in tool_results(message, roles)]
        texts = [result_text(result.content) for result in results]
        outcomes = [self._outcome(result, text) for result, text in zip(results, texts, strict=True)]
        counts = Counter(outcomes)
        decided = counts["success"] + counts["error"]
        facts: dict[str, Any] = {
            "tool_success_count": counts["success"],
            "tool_fail_count": counts["error"],
            "tool_unknown_count": counts["unknown"],
            "tool_success_ratio": counts["success"] / decided if decided else None,
        }
        if self.store_per_tool_results:
            facts["tool_results"] = [
                {"content_preview": text[:_PREVIEW], "result": outcome}
                for text, outcome in zip(texts, outcomes, strict=True)
            ]
        return facts

    def _outcome(self, result: ToolResult, text: str) -> Outcome:
        if result.is_error:
            return "error"
        if not text:
            return "unknown"
        if self.error_patterns is None and self.success_patterns is None:
            said = _said(text)
            if said is not None:
                return said
        if any(pattern.search(text) for pattern in self._errors):
            return "error"
        is_success = self._successes is None or any(pattern.search(text) for pattern in self._successes)
        return "success" if is_success else "unknown"

    @cached_property
    def _errors(self) -> list[re.Pattern[str]]:
        return [re.compile(pattern) for pattern in (_ERROR if self.error_patterns is None else self.error_patterns)]

    @cached_property
    def _successes(self) -> list[re.Pattern[str]] | None:
        return None if self.success_patterns is None else [re.compile(pattern) for pattern in self.success_patterns]


def _said(text: str) -> Outcome | None:
    """The outcome that a result in JSON reports; None if it is not JSON, or reports none."""
    try:
        said: Any = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    members: dict[str, Any] = said
    outcomes = [members[name] for name in ("success", "ok") if isinstance(members.get(name), bool)]
    outcomes += [False for name in ("error", "isError", "is_error") if members.get(name)]
    outcomes += [
        members[name] == 0 for name in ("exit_code", "exitCode", "returncode") if type(members.get(name)) is int
    ]
    outcomes += [_STATUSES[status] for status in [str(members.get("status")).lower()] if status in _STATUSES]
    if not outcomes:
        return None
    return "success" if all(outcomes) else "error"


_STATUSES: Final = {"error": False, "failed": False, "failure": False} | dict.fromkeys(
    ("ok", "success", "succeeded", "completed"), True
)
