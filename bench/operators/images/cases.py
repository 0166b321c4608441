"""Which operators are compared, what of their results, and why results may differ."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """An operator with parameters.

    Attributes:
        operator: Its name.
        samples: The samples that it gets: `images`, `traces`, `facts`, `papers` or `pages`.
        parameters: Those that differ from the defaults.
        names: Of the results, the statistics, columns or facts (`meta.NAME`) that are compared.
        reasons: What theirs does where results differ, with a function that says whether it explains a difference, from
            the sample and both results.
    """

    operator: str
    samples: str
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    names: tuple[str, ...] = ()
    reasons: tuple[tuple[str, Callable[[dict[str, Any], Any, Any], bool]], ...] = ()

    @property
    def title(self) -> str:
        """The operator and its parameters."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.operator}({given})" if given else self.operator


def _has_turned(sample: dict[str, Any], theirs: Any, ours: Any) -> bool:
    del theirs, ours
    return any(path.endswith("turned") for path in sample["images"])


def _is_deep(sample: dict[str, Any], theirs: Any, ours: Any) -> bool:
    del theirs, ours
    return any(path.endswith("deep") for path in sample["images"])


def _is_anthropic(sample: dict[str, Any], theirs: Any, ours: Any) -> bool:
    del theirs, ours
    return any(isinstance(message["content"], list) for message in sample["messages"])


def _has_empty_lists(sample: dict[str, Any], theirs: Any, ours: Any) -> bool:
    del sample
    return {name: [] if value == [""] else value for name, value in theirs.items()} == ours


def _has_words_in_tags(sample: dict[str, Any], theirs: Any, ours: Any) -> bool:
    del theirs, ours
    return "<b>" in sample["text"] or "<p>one" in sample["text"]


_TURNED = (
    "Theirs turns images as their EXIF data says, for which it decodes them; ours reads the header.",
    _has_turned,
)
_DEEP = ("Theirs does not scale pixels of 16 bits to 8.", _is_deep)
_ANTHROPIC = (
    "Theirs does not see tool calls and results that are content blocks, as in Anthropic's form.",
    _is_anthropic,
)

CASES = (
    Case("image_size_filter", "images", {"min_size": "1KB", "max_size": "20KB"}, ("image_sizes", "kept")),
    Case("image_shape_filter", "images", {"min_width": 200}, ("image_width", "image_height", "kept")),
    Case("image_aspect_ratio_filter", "images", {}, ("aspect_ratios", "kept")),
    Case("image_face_count_filter", "images", {}, ("face_counts", "kept"), (_TURNED,)),
    Case("image_face_ratio_filter", "images", {}, ("face_ratios", "kept"), (_TURNED,)),
    Case("image_subplot_filter", "images", {}, ("horizontal_peak_count", "vertical_peak_count", "kept"), (_DEEP,)),
    Case("agent_tool_type_mapper", "facts", {}, ("meta.primary_tool_type", "meta.dominant_tool_types")),
    Case(
        "agent_bad_case_signal_mapper",
        "facts",
        {"max_total_tokens": 5000, "max_latency_ms": 60_000},
        ("meta.agent_bad_case_signals", "meta.agent_bad_case_tier"),
    ),
    Case(
        "agent_dialog_normalize_mapper",
        "traces",
        {},
        (
            *("text", "dialog_history", "query", "response"),
            *("meta.agent_turn_count", "meta.agent_tool_types", "meta.agent_skill_types", "meta.agent_request_id"),
            *("meta.agent_last_user_msg_idx", "meta.agent_last_assistant_msg_idx"),
        ),
        (
            _ANTHROPIC,
            ("Theirs writes a list with an empty string for an empty list.", _has_empty_lists),
        ),
    ),
    Case(
        "tool_success_tagger_mapper",
        "traces",
        {},
        ("meta.tool_success_count", "meta.tool_fail_count", "meta.tool_unknown_count", "meta.tool_success_ratio"),
        (_ANTHROPIC,),
    ),
    Case("usage_counter_mapper", "traces", {}, ("meta.prompt_tokens", "meta.completion_tokens", "meta.total_tokens")),
    Case(
        "latex_figure_context_extractor_mapper",
        "papers",
        {},
        ("images", "caption", "label", "citing_paragraphs", "parent_caption", "parent_label"),
    ),
    Case(
        "extract_tables_from_html_mapper",
        "pages",
        {},
        ("meta.html_tables",),
        (("Theirs joins the words of a cell without the spaces around tags.", _has_words_in_tags),),
    ),
    Case("extract_tables_from_html_mapper", "pages", {"retain_html_tags": True}, ("meta.html_tables",)),
)


def taken(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Those of the results that are compared."""
    meta = row.get("__dj__meta__") or {}
    return {name: meta.get(name[5:]) if name.startswith("meta.") else row.get(name) for name in names}
