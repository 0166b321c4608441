"""Values of parameters that make no sense are refused when an operator is made, before any row is read."""

import re

import pytest

import jinx_pipeline as jp

SENSELESS = [
    ("document_minhash_deduplicator", "window_size", [0, -1, 1025, 10**30]),
    ("document_minhash_deduplicator", "num_permutations", [0, 4097, 10**9]),
    ("document_minhash_deduplicator_with_uid", "window_size", [0, -1]),
    ("document_simhash_deduplicator", "window_size", [0, -1, 1025]),
    ("document_line_deduplicator", "min_line_length", [-1, 2**63]),
    ("document_line_deduplicator", "frequency_threshold", [0]),
    ("decontaminate_deduplicator", "evaluation_paths", [[], [""]]),
    ("decontaminate_deduplicator", "evaluation_fields", [[], [""]]),
    ("decontaminate_deduplicator", "ngram_size", [0, 10**9]),
    ("character_repetition_filter", "rep_len", [0, 2**64]),
    ("word_repetition_filter", "rep_len", [0, 2**64]),
    ("stopwords_filter", "stopwords", [[], [""]]),
    ("flagged_words_filter", "flagged_words", [[], [""]]),
    ("flagged_words_filter", "words_aug_group_sizes", [[], [0]]),
    ("remove_words_with_incorrect_substrings_mapper", "substrings", [[], ["a", ""]]),
    ("remove_long_words_mapper", "max_len", [0, -1]),
    ("remove_repeat_sentences_mapper", "min_repeat_sentence_length", [-1]),
    ("remove_comments_mapper", "doc_type", [[]]),
    ("text_chunk_mapper", "split_pattern", [""]),
    ("text_chunk_mapper", "overlap_len", [-1]),
    ("token_num_filter", "hf_tokenizer", [""]),
    ("tags_specified_field_selector", "target_tags", [[], [""]]),
    ("field_aggregator", "columns", [{}, {"": "count"}]),
    ("key_value_grouper", "group_by_keys", [[], [""]]),
    ("perplexity_filter", "model", [""]),
    ("clean_ip_mapper", "repl", ["\ud800"]),
    ("replace_content_mapper", "pattern", ["\ud800", ["\ud800"]]),
]
NEEDED = {"decontaminate_deduplicator": {"evaluation_paths": ["e.jsonl"]}}


@pytest.mark.parametrize(
    ("name", "parameter", "value"), [(name, parameter, value) for name, parameter, all_ in SENSELESS for value in all_]
)
def test_it_is_refused(name, parameter, value):
    with pytest.raises(jp.ParameterError, match=f"{name}: the parameter '{parameter}' is ") as caught:
        jp.create(name, **{**NEEDED.get(name, {}), parameter: value})
    assert caught.value.parameter == parameter


def test_bounds_between_which_no_word_lies():
    with pytest.raises(jp.ParameterError, match="min_len is 9 and max_len is 3"):
        jp.create("remove_long_words_mapper", min_len=9, max_len=3)


def test_the_message_says_what_it_may_be():
    with pytest.raises(jp.ParameterError, match=re.escape("is int from 1 to 1024, not 0 (int)")):
        jp.create("document_minhash_deduplicator", window_size=0)
    with pytest.raises(jp.ParameterError, match=re.escape("is list of str (not empty), not [] (list)")):
        jp.create("key_value_grouper", group_by_keys=[])
    with pytest.raises(jp.ParameterError, match="holds a surrogate"):
        jp.create("clean_ip_mapper", repl="\ud800")


@pytest.mark.parametrize(
    "step", ["specified_field_filter: {field_key: 'a[', target_value: [1]}", "sort: {by: 'a['}", "sort: {by: 'n..m'}"]
)
def test_what_is_no_path_is_refused_with_its_line(tmp_path, step):
    (tmp_path / "in.jsonl").write_text('{"n": 1}\n')
    recipe = tmp_path / "r.yaml"
    recipe.write_text(f"dataset: {tmp_path / 'in.jsonl'}\nprocess:\n  - {step}\nexport: {tmp_path / 'out.jinx'}\n")
    with pytest.raises(jp.RecipeError, match=r"r.yaml, line 3.*is not a path"):
        jp.Run(jp.read_recipe(recipe))()
