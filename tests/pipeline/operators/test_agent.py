"""Operators on traces of agents, in the forms of OpenAI's and Anthropic's interfaces."""

import json

import pytest

import jinx_pipeline as jp

META = "__dj__meta__"
OPENAI = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "List files"}, {"type": "image_url", "image_url": {"url": "x"}}],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.txt\nb.txt"},
    {"role": "assistant", "content": "Two files.", "tool_calls": [{"function": {"name": "ls", "arguments": "{}"}}]},
    {"role": "tool", "content": "Error: no such file"},
    {"role": "user", "content": "Thanks"},
    {"role": "assistant", "content": "Bye"},
]
ANTHROPIC = [
    {"role": "user", "content": "List files"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I need ls."},
            {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a"}]}],
    },
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t2", "name": "cat", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "gone", "is_error": True}]},
    {"role": "assistant", "content": [{"type": "text", "text": "One file."}]},
]
RESPONSES = [
    {"role": "user", "content": [{"type": "input_text", "text": "List files"}]},
    {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c"},
    {"type": "function_call_output", "call_id": "c", "output": "a"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "One."}]},
]


def meta_of(name: str, sample: dict, **parameters) -> dict:
    (made,) = jp.create(name, **parameters)([sample])
    return made[META]


@pytest.mark.parametrize(
    ("messages", "history", "tools"),
    [
        (
            OPENAI,
            [
                [
                    "List files",
                    "[Tool calls: ls]\n[Tool result]\na.txt\nb.txt\n\nTwo files.\n[Tool result]\nError: no such file",
                ],
                ["Thanks", "Bye"],
            ],
            ["ls"],
        ),
        (
            ANTHROPIC,
            [["List files", "I need ls.\n[Tool result]\na\n\n[Tool calls: cat]\n[Tool result]\ngone\n\nOne file."]],
            ["ls", "cat"],
        ),
        (RESPONSES, [["List files", "[Tool calls: ls]\n[Tool result]\na\n\nOne."]], ["ls"]),
        ([], [], []),
        ([{"role": "assistant", "content": "Hi"}], [["", "Hi"]], []),
    ],
)
def test_dialogs(messages, history, tools):
    (made,) = jp.create("agent_dialog_normalize_mapper")([{"messages": messages}])
    assert made["dialog_history"] == history
    assert made["query"] == (history[-1][0] if history else "")
    assert made["response"] == (history[-1][1] if history else "")
    assert made["text"] == "\n\n".join(
        f"{a}: {t}" for turn in history for a, t in zip(["User", "Assistant"], turn, strict=True) if t
    )
    assert made[META]["agent_tool_types"] == tools
    assert made[META]["agent_turn_count"] == len(history)
    assert made[META]["agent_dialog_history_compressed"] is False


def test_positions_of_last_messages():
    facts = meta_of("agent_dialog_normalize_mapper", {"messages": ANTHROPIC})
    assert (facts["agent_last_user_msg_idx"], facts["agent_last_assistant_msg_idx"]) == (0, 5)
    facts = meta_of("agent_dialog_normalize_mapper", {"messages": OPENAI})
    assert (facts["agent_last_user_msg_idx"], facts["agent_last_assistant_msg_idx"]) == (6, 7)


def test_system_labels_and_choices():
    sample = {"messages": OPENAI[:2], "choices": [{"message": {"content": " "}}, {"message": {"content": "Done."}}]}
    normalize = jp.create(
        "agent_dialog_normalize_mapper", include_system_in_first_user=True, user_label="Q", assistant_label="A"
    )
    assert normalize([sample])[0]["text"] == "Q: Be brief.\n\nList files\n\nA: Done."
    assert normalize([sample])[0]["response"] == "Done."


def test_facts_copied_from_the_sample():
    sample = {"messages": [], "id": 7, "request_model": "m", "pt": "20260101", "total_cost_time": 12}
    facts = meta_of("agent_dialog_normalize_mapper", sample)
    assert facts["agent_request_id"] == "7"
    assert (facts["agent_request_model"], facts["agent_pt"], facts["agent_total_cost_time_ms"]) == ("m", "20260101", 12)
    assert "agent_request_id" not in meta_of("agent_dialog_normalize_mapper", sample, copy_request_id=False)


def test_skills_by_path_and_heading():
    content = "read /skills/pdf-tools/SKILL.md\n## cron\n## 记忆\n## Two words\n"
    facts = meta_of("agent_dialog_normalize_mapper", {"messages": [{"role": "user", "content": content}]})
    assert facts["agent_skill_types"] == ["pdf-tools", "cron"]


@pytest.mark.parametrize("limit", [1, 30, 60, 200])
def test_long_texts_keep_start_and_end(limit):
    messages = [{"role": "user", "content": "x"}, {"role": "tool", "content": "a" * 500 + "z" * 500}]
    parameters = {"history_tool_result_max_chars": limit, "history_max_user_chars": 1}
    (made,) = jp.create("agent_dialog_normalize_mapper", **parameters)([{"messages": messages}])
    shown = made["response"].removeprefix("[Tool result]\n")
    assert len(shown) == limit
    assert shown[0] == "a"
    assert shown[-1] == "z" or limit < 60
    assert made[META]["agent_dialog_history_compressed"] is True


@pytest.mark.parametrize("messages", ["text", [1], {"role": "user"}])
def test_messages_of_another_type_are_errors(messages):
    for name in ("agent_dialog_normalize_mapper", "tool_success_tagger_mapper"):
        with pytest.raises(TypeError, match="messages is not a list of messages"):
            jp.create(name)([{"messages": messages}])
    with pytest.raises(KeyError, match="no column 'messages'"):
        jp.create("agent_dialog_normalize_mapper")([{"text": "x"}])


def test_tools_by_frequency():
    calls = [{"role": "assistant", "tool_calls": [{"function": {"name": name}}]} for name in "abbcccaa"]
    facts = meta_of("agent_tool_type_mapper", {"messages": calls}, top_k_dominant=2)
    assert facts == {"primary_tool_type": "a", "dominant_tool_types": ["a", "c"]}
    assert meta_of("agent_tool_type_mapper", {"messages": ANTHROPIC})["dominant_tool_types"] == ["ls", "cat"]
    assert meta_of("agent_tool_type_mapper", {"text": "x"}) == {"primary_tool_type": None, "dominant_tool_types": []}


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ("ok", "success"),
        ("wrote 12 bytes", "success"),
        ("any data", "success"),
        ("", "unknown"),
        (None, "unknown"),
        ([], "unknown"),
        ("Error: it broke", "error"),
        ("bash: foo: command not found", "error"),
        ("Permission denied", "error"),
        ("Traceback (most recent call last):\n  x", "error"),
        ("操作失败", "error"),
        ("未失败", "success"),
        ("12 passed, 0 failed, no failures", "success"),
        ("12 passed, 10 failed", "error"),
        ('{"success": false, "data": 1}', "error"),
        ('{"error": null, "data": "an error: in a log"}', "error"),
        ('{"success": true, "log": "an error: in a log"}', "success"),
        ('{"exit_code": 1}', "error"),
        ({"status": "ok"}, "success"),
        ([{"type": "text", "text": "Error: x"}], "error"),
        ("{not json", "success"),
    ],
)
def test_outcomes_of_tools(content, outcome):
    facts = meta_of("tool_success_tagger_mapper", {"messages": [{"role": "tool", "content": content}]})
    assert [result["result"] for result in facts["tool_results"]] == [outcome]


def test_counts_of_outcomes():
    facts = meta_of("tool_success_tagger_mapper", {"messages": OPENAI}, store_per_tool_results=False)
    assert facts == {"tool_success_count": 1, "tool_fail_count": 1, "tool_unknown_count": 0, "tool_success_ratio": 0.5}
    facts = meta_of("tool_success_tagger_mapper", {"messages": ANTHROPIC})
    assert [result["result"] for result in facts["tool_results"]] == ["success", "error"]
    assert meta_of("tool_success_tagger_mapper", {"messages": []})["tool_success_ratio"] is None


def test_own_patterns_and_roles():
    messages = [{"role": "observation", "content": text} for text in ("fine", "bad", "else")]
    parameters = {"tool_role_names": ["observation"], "success_patterns": ["fine"], "error_patterns": ["bad"]}
    facts = meta_of("tool_success_tagger_mapper", {"messages": messages}, **parameters)
    assert [result["result"] for result in facts["tool_results"]] == ["success", "error", "unknown"]
    with pytest.raises(jp.ParameterError, match="does not parse"):
        jp.create("tool_success_tagger_mapper", error_patterns=["("])


@pytest.mark.parametrize(
    ("sample", "parameters", "counts"),
    [
        ({"usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}}, {}, (3, 4, 7)),
        ({"usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 10}}, {}, (13, 4, 17)),
        (
            {"choices": [{"usage": {"prompt_tokens": 1}}, {"message": {"usage": {"completion_tokens": 2}}}]},
            {},
            (1, 2, 3),
        ),
        ({"usage": {"prompt_tokens": 1}, "response_metadata": {"usage": {"prompt_tokens": 1}}}, {}, (1, 0, 1)),
        (
            {"usage": {"prompt_tokens": 1}, "response_metadata": {"usage": {"prompt_tokens": 1}}},
            {"dedupe_identical_usage": False},
            (2, 0, 2),
        ),
        # The total of each record counts, not only that of the first.
        (
            {"usage": {"total_tokens": 5}, "response_metadata": {"usage": {"prompt_tokens": 1, "total_tokens": 2}}},
            {},
            (1, 0, 7),
        ),
        ({"usage": {"prompt_tokens": "many", "completion_tokens": -1}}, {}, (0, 0, None)),
        ({"usage": {"prompt_tokens": float("inf"), "completion_tokens": float("nan")}}, {}, (0, 0, None)),
        ({"text": "x"}, {}, (0, 0, None)),
    ],
)
def test_usage(sample, parameters, counts):
    facts = meta_of("usage_counter_mapper", sample, **parameters)
    assert (facts["prompt_tokens"], facts["completion_tokens"], facts["total_tokens"]) == counts


def bad_case(meta=None, stats=None, parameters=None, **columns):
    sample = {"query": "", "response": "", **columns, META: meta or {}, "__dj__stats__": stats or {}}
    facts = meta_of("agent_bad_case_signal_mapper", sample, **(parameters or {}))
    return [signal["code"] for signal in facts["agent_bad_case_signals"]], facts["agent_bad_case_tier"]


@pytest.mark.parametrize(
    ("case", "codes", "tier"),
    [
        ({}, [], "none"),
        ({"meta": {"tool_fail_count": 1}}, ["tool_message_error_pattern"], "high_precision"),
        ({"meta": {"tool_fail_count": 1}, "parameters": {"min_tool_fail_count_for_signal": 2}}, [], "none"),
        (
            {"meta": {"tool_fail_count": 1}, "parameters": {"high_precision_on_tool_fail_alone": False}},
            ["tool_message_error_pattern"],
            "watchlist",
        ),
        (
            {
                "meta": {"tool_fail_count": 2, "tool_success_count": 1, "tool_success_ratio": 1 / 3},
                "parameters": {"signal_on_tool_fail": False},
            },
            ["low_tool_success_ratio"],
            "watchlist",
        ),
        ({"query": "q" * 80, "response": "ok"}, ["suspect_empty_or_trivial_final_response"], "watchlist"),
        ({"meta": {"total_tokens": 11}, "parameters": {"max_total_tokens": 10}}, ["high_token_usage"], "watchlist"),
        (
            {"meta": {"agent_total_cost_time_ms": 11}, "parameters": {"max_latency_ms": 10}},
            ["high_latency_ms"],
            "watchlist",
        ),
        (
            {"stats": {"llm_analysis_score": 0.2, "llm_analysis_record": '{"recommendation": "discard"}'}},
            ["llm_agent_analysis_eval_low"],
            "high_precision",
        ),
        ({"stats": {"llm_quality_score": 0.2, "llm_quality_record": {"recommendation": ["keep"]}}}, [], "none"),
        (
            {
                "stats": {"llm_quality_score": 0.2},
                "parameters": {"llm_text_quality_discard_must_be_strict": False},
            },
            ["llm_reply_quality_eval_low"],
            "watchlist",
        ),
        (
            {
                "meta": {"dialog_sentiment_labels": ["Angry"]},
                "parameters": {"signal_on_negative_sentiment_hint": True},
            },
            ["negative_sentiment_label_hint"],
            "watchlist",
        ),
        (
            {"stats": {"perplexity": 900}, "parameters": {"signal_on_high_perplexity": True}},
            ["high_perplexity"],
            "watchlist",
        ),
        (
            {
                "stats": {"llm_difficulty_score": 0.9, "llm_quality_score": 0.3},
                "parameters": {"signal_hard_query_poor_reply": True},
            },
            ["hard_query_low_reply_quality_conjunction"],
            "watchlist",
        ),
        ({"meta": {"dialog_coreference": {"score": 2}}}, ["dialog_turn_quality_meta_low"], "watchlist"),
        ({"meta": {"dialog_coreference": {"score": 1, "skipped": True}}}, [], "none"),
        (
            {
                "meta": {"dialog_coreference": {"score": 1}, "total_tokens": 9},
                "parameters": {"max_total_tokens": 1, "min_medium_signals_for_watchlist": 3},
            },
            ["high_token_usage", "dialog_turn_quality_meta_low"],
            "none",
        ),
    ],
)
def test_signals(case, codes, tier):
    assert bad_case(**case) == (codes, tier)


def test_limits_of_a_file(tmp_path):
    file = tmp_path / "limits.json"
    file.write_text(
        json.dumps({"default": {"max_total_tokens": 5}, "by_request_model": {"m": {"max_total_tokens": 50}}})
    )
    automatic = {"calibration_json_path": str(file), "auto_calibrate_thresholds": True}
    assert bad_case({"total_tokens": 10}, parameters=automatic)[1] == "watchlist"
    assert bad_case({"total_tokens": 10, "agent_request_model": "m"}, parameters=automatic)[1] == "none"
    manual = {**automatic, "max_total_tokens": 20}
    assert bad_case({"total_tokens": 10}, parameters=manual)[1] == "none"
    assert (
        bad_case({"total_tokens": 10}, parameters={**manual, "calibration_manual_overrides_auto": False})[1] != "none"
    )
    file.write_text("[]")
    with pytest.raises(jp.ParameterError, match="not a JSON object"):
        jp.create("agent_bad_case_signal_mapper", **automatic)
    with pytest.raises(jp.ParameterError, match="needs this file"):
        jp.create("agent_bad_case_signal_mapper", auto_calibrate_thresholds=True)
