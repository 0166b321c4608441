# ruff: noqa: RUF001 - a comma of Chinese
"""Which operators are compared, with which parameters: those that need no model from a network."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """An operator with parameters.

    Attributes:
        operator: Its name, here and there.
        parameters: Those that differ from the defaults.
        kind: What comes out, as `bench.operators.ours.results` says.
    """

    operator: str
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    kind: str = "text"

    @property
    def title(self) -> str:
        """The operator and its parameters, for a table."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items() if not name.endswith("_dir"))
        return f"{self.operator}({given})" if given else self.operator


def cases(words: str) -> list[Case]:
    """All cases.

    Args:
        words: A folder with the lists of stop words and flagged words that both use.
    """
    return [
        Case("alphanumeric_filter", kind="stats"),
        Case("average_line_length_filter", kind="stats"),
        Case("character_repetition_filter", kind="stats"),
        Case("character_repetition_filter", {"rep_len": 3}, "stats"),
        Case("flagged_words_filter", {"flagged_words_dir": words}, "stats"),
        Case("flagged_words_filter", {"flagged_words_dir": words, "lang": "all", "use_words_aug": True}, "stats"),
        Case("maximum_line_length_filter", kind="stats"),
        Case("special_characters_filter", kind="stats"),
        Case("stopwords_filter", {"stopwords_dir": words}, "stats"),
        Case("stopwords_filter", {"stopwords_dir": words, "lang": "hi"}, "stats"),
        Case("text_length_filter", kind="stats"),
        Case("word_repetition_filter", kind="stats"),
        Case("word_repetition_filter", {"rep_len": 2}, "stats"),
        Case("words_num_filter", kind="stats"),
        Case("chinese_convert_mapper"),
        Case("chinese_convert_mapper", {"mode": "t2s"}),
        Case("clean_copyright_mapper"),
        Case("clean_email_mapper"),
        Case("clean_email_mapper", {"repl": "<MAIL>"}),
        Case("clean_html_mapper"),
        Case("clean_ip_mapper", {"repl": "<IP>"}),
        Case("clean_links_mapper", {"repl": "<LINK>"}),
        Case("expand_macro_mapper"),
        Case("fix_unicode_mapper"),
        Case("fix_unicode_mapper", {"normalization": "NFKC"}),
        Case("punctuation_normalization_mapper"),
        Case("remove_bibliography_mapper"),
        Case("remove_comments_mapper"),
        Case("remove_header_mapper"),
        Case("remove_header_mapper", {"drop_no_head": False}),
        Case("remove_long_words_mapper", {"max_len": 12}),
        Case("remove_non_chinese_character_mapper"),
        Case("remove_non_chinese_character_mapper", {"keep_alphabet": False, "keep_number": False}),
        Case("remove_repeat_sentences_mapper"),
        Case("remove_repeat_sentences_mapper", {"lowercase": True, "ignore_special_character": False}),
        Case("remove_specific_chars_mapper"),
        Case("remove_specific_chars_mapper", {"chars_to_remove": "ae，।"}),
        Case("remove_table_text_mapper"),
        Case("remove_words_with_incorrect_substrings_mapper"),
        Case("replace_content_mapper", {"pattern": ["[0-9]+", "r'(\\w+)@(\\w+)'"], "repl": ["0", "\\2 at \\1"]}),
        Case("whitespace_normalization_mapper"),
        Case("text_chunk_mapper", kind="texts"),
        Case("text_chunk_mapper", {"max_len": 200}, "texts"),
        Case("text_chunk_mapper", {"max_len": 100, "overlap_len": 20, "split_pattern": None}, "texts"),
        Case("document_deduplicator", kind="kept"),
        Case("document_deduplicator", {"lowercase": True, "ignore_non_character": True}, "kept"),
        Case("document_minhash_deduplicator", kind="kept"),
        Case("document_minhash_deduplicator", {"tokenization": "character"}, "kept"),
        Case("document_simhash_deduplicator", kind="kept"),
        Case("document_line_deduplicator", kind="line"),
        Case("document_line_deduplicator", {"frequency_threshold": 2, "ignore_special_character": True}, "line"),
        Case("general_field_filter", {"filter_condition": "size > 100 and kind == 'a'"}, "kept"),
        Case("specified_field_filter", {"field_key": "meta.kind", "target_value": ["a", "c"]}, "kept"),
        Case("specified_numeric_field_filter", {"field_key": "size", "min_value": 10, "max_value": 500}, "kept"),
        Case("suffix_filter", {"suffixes": [".txt", ".md"]}, "kept"),
        Case("frequency_specified_field_selector", {"field_key": "kind", "topk": 2}, "kept"),
        Case("frequency_specified_field_selector", {"field_key": "kind", "top_ratio": 0.5, "reverse": False}, "kept"),
        Case("range_specified_field_selector", {"field_key": "size", "lower_rank": 100, "upper_rank": 300}, "kept"),
        Case(
            "range_specified_field_selector",
            {"field_key": "size", "lower_percentile": 0.1, "upper_percentile": 0.6},
            "kept",
        ),
        Case("tags_specified_field_selector", {"field_key": "kind", "target_tags": ["b"]}, "kept"),
        Case("topk_specified_field_selector", {"field_key": "size", "topk": 50}, "kept"),
        Case("topk_specified_field_selector", {"field_key": "size", "top_ratio": 0.1, "reverse": False}, "kept"),
        Case("random_selector", {"select_num": 100}, "size"),
        Case("random_selector", {"select_ratio": 0.25}, "size"),
        Case("key_value_grouper", {"group_by_keys": ["kind"]}, "groups"),
        Case("naive_grouper", kind="groups"),
    ]


def samples_of(documents: list[str]) -> list[dict[str, Any]]:
    """The documents as samples with fields to filter, select and group by."""
    return [
        {
            "text": text,
            "number": number,
            "size": number * 7919 % 1009,
            "kind": "aaabbcd"[number % 7],
            "meta": {"kind": "abcd"[number % 4]},
            "__dj__suffix__": (".txt", ".md", ".py")[number % 3],
        }
        for number, text in enumerate(documents)
    ]
