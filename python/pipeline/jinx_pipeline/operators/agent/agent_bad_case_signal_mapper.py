"""Marks traces of agents that went wrong: the operator `agent_bad_case_signal_mapper`."""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from jinx_pipeline.operators.api.batch import STATS
from jinx_pipeline.operators.api.metadata import META, MetadataMapper, metadata_of
from jinx_pipeline.operators.api.parameters import ParameterError, Range, Share
from jinx_pipeline.operators.api.registry import register

_TOOLS: Final = "tool_message_error_pattern"
_JUDGED: Final = ("llm_agent_analysis_eval_low", "llm_reply_quality_eval_low")
# The outputs of operators in which a model judges a dialog, with a `score` from 1 to 5.
_JUDGEMENTS: Final = (
    "dialog_memory_consistency",
    "dialog_coreference",
    "dialog_topic_shift",
    "dialog_error_recovery",
    "dialog_clarification_quality",
    "dialog_proactivity",
    "dialog_non_repetition",
    "agent_trace_coherence",
    "agent_tool_relevance",
)
_NEGATIVE: Final = ("负面", "negative", "angry", "沮丧", "不满", "frustrated", "disappointed", "unhappy")


class _Signal(NamedTuple):
    code: str
    detail: str
    weight: Literal["high", "medium"] = "medium"


@register("agent_bad_case_signal_mapper", modality="text")
class AgentBadCaseSignalMapper(MetadataMapper):
    """Adds signals of a bad trace, and a tier, to `__dj__meta__`, based on facts and statistics from earlier operators.

    `agent_bad_case_signals` lists the `code`, `detail` and `weight` (`high` or `medium`) of each signal. The tier
    `agent_bad_case_tier` is `high_precision` for a signal of high weight, `watchlist` for a single signal or several of
    medium weight, and `none` otherwise. Signals whose facts are missing do not occur; `tool_success_tagger_mapper`,
    `usage_counter_mapper` and `agent_dialog_normalize_mapper` add the facts of most of them.

        create("agent_bad_case_signal_mapper")([{"query": "", "response": "", "__dj__meta__": {"tool_fail_count": 2}}])

    Attributes:
        query_key: The column with the last query.
        response_key: The column with the last response.
        signal_on_tool_fail: Signal failed tool calls, with high weight.
        min_tool_fail_count_for_signal: The minimum number of failed calls for this signal.
        signal_on_low_tool_success_ratio: Signal a low share of successful tool calls.
        tool_success_ratio_max_for_signal: The largest share for this signal.
        min_tool_rounds_for_ratio_signal: The minimum number of tool calls for this signal.
        signal_on_suspect_empty_response: Signal a short response to a long query.
        min_query_len_for_empty_check: The shortest query for this signal, in code points.
        max_response_len_for_empty_check: The longest response for this signal, in code points.
        max_total_tokens: Signal more tokens.
        max_latency_ms: Signal a longer time, in milliseconds.
        calibration_json_path: A JSON file with limits in `default`, and for models in `by_request_model`:
            `max_total_tokens`, `max_latency_ms`, `perplexity_high_threshold`.
        auto_calibrate_thresholds: Whether the limits of the file count.
        calibration_manual_overrides_auto: Whether limits that are parameters win over those of the file.
        auto_enable_perplexity_from_calibration: Whether a limit of the file switches the signal on perplexity on.
        signal_on_llm_analysis_low: Signal a low `llm_analysis_score`.
        llm_analysis_score_max_for_bad: The largest score for this signal.
        llm_analysis_discard_must_be_strict: Whether the recommendation must be `discard` too.
        high_precision_llm_analysis_discard_threshold: The largest score for high weight, with this recommendation.
        signal_on_llm_text_quality_low: Signal a low `llm_quality_score`.
        llm_text_quality_score_max_for_bad: The largest score for this signal.
        llm_text_quality_discard_must_be_strict: Whether the recommendation must be `discard` too.
        high_precision_llm_text_quality_discard_threshold: The largest score for high weight, with this recommendation.
        signal_on_negative_sentiment_hint: Signal negative `dialog_sentiment_labels`.
        negative_sentiment_substrings: Parts of negative labels, in any case.
        signal_on_high_perplexity: Signal a high perplexity.
        perplexity_high_threshold: The smallest perplexity for this signal.
        signal_hard_query_poor_reply: Signal a low quality score of a difficult query.
        hard_query_difficulty_min: The smallest `llm_difficulty_score` for this signal.
        poor_reply_quality_max: The largest `llm_quality_score` for this signal.
        high_precision_on_tool_fail_alone: Whether failed tool calls are enough for `high_precision`, not `watchlist`.
        min_medium_signals_for_watchlist: How many signals of medium weight make a watchlist case.
        signal_on_low_dialog_quality_meta: Signal low scores of operators that judge dialogs.
        dialog_quality_low_score_threshold: The largest score for this signal, from 1 to 5.
        min_dialog_quality_low_axes_for_signal: The minimum number of low scores for this signal.
    """

    query_key: str = "query"
    response_key: str = "response"
    signal_on_tool_fail: bool = True
    min_tool_fail_count_for_signal: Annotated[int, Range(1)] = 1
    signal_on_low_tool_success_ratio: bool = True
    tool_success_ratio_max_for_signal: Share = 0.499
    min_tool_rounds_for_ratio_signal: Annotated[int, Range(1)] = 2
    signal_on_suspect_empty_response: bool = True
    min_query_len_for_empty_check: Annotated[int, Range(0)] = 80
    max_response_len_for_empty_check: Annotated[int, Range(0)] = 20
    max_total_tokens: int | None = None
    max_latency_ms: float | None = None
    calibration_json_path: Path | None = None
    auto_calibrate_thresholds: bool = False
    calibration_manual_overrides_auto: bool = True
    auto_enable_perplexity_from_calibration: bool = True
    signal_on_llm_analysis_low: bool = True
    llm_analysis_score_max_for_bad: float = 0.28
    llm_analysis_discard_must_be_strict: bool = True
    high_precision_llm_analysis_discard_threshold: float = 0.24
    signal_on_llm_text_quality_low: bool = True
    llm_text_quality_score_max_for_bad: float = 0.28
    llm_text_quality_discard_must_be_strict: bool = True
    high_precision_llm_text_quality_discard_threshold: float = 0.24
    signal_on_negative_sentiment_hint: bool = False
    negative_sentiment_substrings: tuple[str, ...] = _NEGATIVE
    signal_on_high_perplexity: bool = False
    perplexity_high_threshold: float = 800.0
    signal_hard_query_poor_reply: bool = False
    hard_query_difficulty_min: float = 0.72
    poor_reply_quality_max: float = 0.36
    high_precision_on_tool_fail_alone: bool = True
    min_medium_signals_for_watchlist: Annotated[int, Range(1)] = 2
    signal_on_low_dialog_quality_meta: bool = True
    dialog_quality_low_score_threshold: float = 2.0
    min_dialog_quality_low_axes_for_signal: Annotated[int, Range(1)] = 1

    def check(self) -> None:
        if self.auto_calibrate_thresholds and self.calibration_json_path is None:
            raise ParameterError(self.name, "calibration_json_path", "auto_calibrate_thresholds needs this file")

    def resolve(self) -> None:
        if self.calibration_json_path is not None:
            _limits_in(self.name, self.calibration_json_path)

    @property
    def reads(self) -> tuple[str, ...]:
        return (META,)

    def facts(self, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        known, stats = metadata_of(sample), sample.get(STATS)
        signals = list(self._signals(sample, known, stats if isinstance(stats, Mapping) else {}))
        return {
            "agent_bad_case_signals": [signal._asdict() for signal in signals],
            "agent_bad_case_tier": self._tier(signals),
        }

    def _signals(
        self, sample: Mapping[str, Any], known: Mapping[str, Any], stats: Mapping[str, Any]
    ) -> Iterator[_Signal]:
        yield from self._of_tools(known)
        yield from self._of_response(sample)
        yield from self._of_limits(known, stats)
        yield from self._of_judges(stats)
        yield from self._of_dialog(known)

    def _of_tools(self, known: Mapping[str, Any]) -> Iterator[_Signal]:
        fails, successes = int(known.get("tool_fail_count") or 0), int(known.get("tool_success_count") or 0)
        if self.signal_on_tool_fail and fails >= self.min_tool_fail_count_for_signal:
            yield _Signal(_TOOLS, f"tool_fail_count={fails}", "high")
        ratio = _number(known, "tool_success_ratio")
        if (
            self.signal_on_low_tool_success_ratio
            and ratio is not None
            and fails + successes >= self.min_tool_rounds_for_ratio_signal
            and ratio <= self.tool_success_ratio_max_for_signal
        ):
            yield _Signal("low_tool_success_ratio", f"ratio={ratio}, success={successes}, fail={fails}")

    def _of_response(self, sample: Mapping[str, Any]) -> Iterator[_Signal]:
        query, response = (len(str(sample.get(key) or "").strip()) for key in (self.query_key, self.response_key))
        is_suspect = query >= self.min_query_len_for_empty_check and response <= self.max_response_len_for_empty_check
        if self.signal_on_suspect_empty_response and is_suspect:
            yield _Signal("suspect_empty_or_trivial_final_response", f"query_len={query}, response_len={response}")

    def _of_limits(self, known: Mapping[str, Any], stats: Mapping[str, Any]) -> Iterator[_Signal]:
        limits = self._limits_of(str(known.get("agent_request_model") or "").strip())
        tokens, latency = _number(known, "total_tokens"), _number(known, "agent_total_cost_time_ms")
        most_tokens = self._limit(self.max_total_tokens, limits, "max_total_tokens")
        longest = self._limit(self.max_latency_ms, limits, "max_latency_ms")
        if tokens is not None and most_tokens is not None and tokens > most_tokens:
            yield _Signal("high_token_usage", f"total_tokens={tokens:g}")
        if latency is not None and longest is not None and latency > longest:
            yield _Signal("high_latency_ms", f"total_cost_time_ms={latency:g}")
        manual = self.perplexity_high_threshold if self.signal_on_high_perplexity else None
        may_calibrate = self.signal_on_high_perplexity or self.auto_enable_perplexity_from_calibration
        highest = self._limit(manual, limits if may_calibrate else {}, "perplexity_high_threshold")
        perplexity = _number(stats, "perplexity")
        if highest is not None and perplexity is not None and perplexity >= highest:
            yield _Signal("high_perplexity", f"perplexity={perplexity}")

    def _of_judges(self, stats: Mapping[str, Any]) -> Iterator[_Signal]:
        if self.signal_on_llm_analysis_low:
            yield from _of_judge(
                _JUDGED[0],
                stats,
                "llm_analysis",
                self.llm_analysis_score_max_for_bad,
                self.high_precision_llm_analysis_discard_threshold,
                needs_discard=self.llm_analysis_discard_must_be_strict,
            )
        if self.signal_on_llm_text_quality_low:
            yield from _of_judge(
                _JUDGED[1],
                stats,
                "llm_quality",
                self.llm_text_quality_score_max_for_bad,
                self.high_precision_llm_text_quality_discard_threshold,
                needs_discard=self.llm_text_quality_discard_must_be_strict,
            )
        difficulty, quality = _number(stats, "llm_difficulty_score"), _number(stats, "llm_quality_score")
        if not self.signal_hard_query_poor_reply or difficulty is None or quality is None:
            return
        if difficulty >= self.hard_query_difficulty_min and quality <= self.poor_reply_quality_max:
            detail = f"difficulty={difficulty}, llm_quality_score={quality}"
            yield _Signal("hard_query_low_reply_quality_conjunction", detail)

    def _of_dialog(self, known: Mapping[str, Any]) -> Iterator[_Signal]:
        labels = known.get("dialog_sentiment_labels")
        if self.signal_on_negative_sentiment_hint and isinstance(labels, list):
            joined = " ".join(map(str, labels)).lower()  # pyright: ignore[reportUnknownArgumentType]
            if any(part.lower() in joined for part in self.negative_sentiment_substrings):
                yield _Signal("negative_sentiment_label_hint", f"labels={labels[:6]}")
        limit = self.dialog_quality_low_score_threshold
        low = [name for name in _JUDGEMENTS if (score := _judgement(known.get(name))) is not None and score <= limit]
        if self.signal_on_low_dialog_quality_meta and len(low) >= self.min_dialog_quality_low_axes_for_signal:
            yield _Signal("dialog_turn_quality_meta_low", f"axes={low}, threshold={limit}")

    def _tier(self, signals: list[_Signal]) -> str:
        high = {signal.code for signal in signals if signal.weight == "high"}
        if _TOOLS in high:
            return "high_precision" if self.high_precision_on_tool_fail_alone else "watchlist"
        if high:
            return "high_precision"
        is_watched = len(signals) == 1 or len(signals) >= self.min_medium_signals_for_watchlist
        return "watchlist" if is_watched else "none"

    def _limits_of(self, model: str) -> Mapping[str, Any]:
        """The limits of the calibration file for a model."""
        if not self.auto_calibrate_thresholds:
            return {}
        by_model = self._calibration.get("by_request_model", {})
        return {**self._calibration.get("default", {}), **by_model.get(model, {})}

    def _limit(self, manual: float | None, limits: Mapping[str, Any], name: str) -> float | None:
        calibrated = _number(limits, name)
        first, second = (manual, calibrated) if self.calibration_manual_overrides_auto else (calibrated, manual)
        return second if first is None else first

    @cached_property
    def _calibration(self) -> Mapping[str, Any]:
        return {} if self.calibration_json_path is None else _limits_in(self.name, self.calibration_json_path)


def _limits_in(operator: str, path: Path) -> Mapping[str, Any]:
    """The content of a calibration file.

    Raises:
        ParameterError: It is missing, or not a JSON object of objects.
    """
    try:
        limits: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ParameterError(operator, "calibration_json_path", f"{path}: {error}") from None
    groups: list[Any] = (
        [limits, *(limits.get(name, {}) for name in ("default", "by_request_model"))]
        if isinstance(limits, dict)
        else [None]
    )  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not all(isinstance(group, dict) for group in groups):
        problem = f"{path} is not a JSON object with the objects default and by_request_model"
        raise ParameterError(operator, "calibration_json_path", problem)
    return limits


def _of_judge(
    code: str, stats: Mapping[str, Any], judge: str, most: float, most_high: float, *, needs_discard: bool
) -> Iterator[_Signal]:
    score = _number(stats, f"{judge}_score")
    advice = _recommendation(stats.get(f"{judge}_record"))
    is_discard = advice == "discard"
    if score is not None and score <= most and (is_discard or not needs_discard):
        weight = "high" if is_discard and score <= most_high else "medium"
        yield _Signal(code, f"score={score}, recommendation={advice or 'n/a'}", weight)


def _recommendation(record: Any) -> str:
    """The recommendation in a judge's record, which is a dict or the JSON of one."""
    if isinstance(record, str):
        try:
            record = json.loads(record)
        except ValueError:
            return ""
    advice: Any = record.get("recommendation") if isinstance(record, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if isinstance(advice, list | tuple) and advice:
        advice = advice[0]  # pyright: ignore[reportUnknownVariableType]
    return str(advice or "").strip().strip('"').lower()


def _judgement(record: Any) -> float | None:
    if not isinstance(record, Mapping) or record.get("skipped") or record.get("error"):  # pyright: ignore[reportUnknownMemberType]
        return None
    return _number(record, "score")  # pyright: ignore[reportUnknownArgumentType]


def _number(facts: Mapping[str, Any], name: str) -> float | None:
    """A fact as a number; None if it is missing or not a number."""
    try:
        return float(facts[name])
    except (KeyError, TypeError, ValueError):
        return None
