"""The catalog of operators: search by words, schemas of parameters, and which operators reach beyond the samples."""

import jsonschema
import pytest

from jinx_pipeline.catalog.facts import described
from jinx_pipeline.catalog.schema import parameter_schema
from jinx_pipeline.catalog.search import search_operators
from jinx_pipeline.catalog.trust import file_parameters, why_trusted
from jinx_pipeline.operators.api.arguments import group_in
from jinx_pipeline.operators.api.parameters import hints_of
from jinx_pipeline.operators.api.registry import names, operator_class
from pipeline_requests import REQUESTS


def test_words_of_users_find_the_operators():
    """Of 40 requests, at least 34 find the operator among the first three."""
    found = [bool(wanted & {one.name for one in search_operators(request, 3)}) for request, wanted in REQUESTS]
    assert len(found) == 40
    assert sum(found) >= 34


def test_a_search_leaves_out_what_is_not_available():
    (first, *_) = search_operators("remove near duplicates")
    assert first.name.endswith("_deduplicator")
    assert first.name not in {one.name for one in search_operators("remove near duplicates", without={first.name})}
    assert search_operators("") == search_operators("the of and") == []
    assert search_operators("\0 \ud800 '\"(" * 1000) == []


@pytest.mark.parametrize("name", names())
def test_every_operator_has_a_schema_that_its_defaults_fit(name):
    schema = parameter_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    for parameter in schema["properties"].values():
        if "default" in parameter:
            jsonschema.validate(parameter["default"], parameter)
    assert schema["required"] == [facts["name"] for facts in described(name)["parameters"] if facts["needed"]]


def test_a_schema_describes_the_parameters():
    schema = parameter_schema("text_length_filter")
    assert schema["properties"]["min_len"] == {"type": "integer", "description": "The smallest length.", "default": 10}
    assert "default" not in schema["properties"]["max_len"]


def test_operators_that_run_code_or_connect_need_trust():
    trusted = {name for name in names() if why_trusted(operator_class(name))}
    assert trusted >= {
        "python_file_mapper",
        "image_ohem_selector",
        "download_file_mapper",
        "s3_download_file_mapper",
        "s3_upload_file_mapper",
        "audio_ffmpeg_wrapped_mapper",
        "video_ffmpeg_wrapped_mapper",
    }
    assert not trusted & {"text_length_filter", "pii_redaction_mapper", "clean_links_mapper", "join"}


def test_parameters_that_name_files_are_known():
    assert file_parameters(operator_class("join")) == {"path": "read"}
    assert file_parameters(operator_class("stopwords_filter")) == {"stopwords_dir": "read"}
    assert file_parameters(operator_class("image_blur_mapper")) == {"save_dir": "written"}
    for name in names():
        cls = operator_class(name)
        # A group's files are models, which the service finds among the files that the operator needs.
        groups = {parameter for parameter, hint in hints_of(cls).items() if group_in(hint)}
        typed = {facts["name"] for facts in described(name)["parameters"] if "path" in facts["type"]}
        assert typed - groups <= set(file_parameters(cls)), name
        assert not any(file_parameters(group_in(hints_of(cls)[parameter])) for parameter in groups), name
