"""Errors of rows as text that logs and reports keep."""

import pytest

from jinx_pipeline.model.error_text import message_of, trace_of


@pytest.mark.parametrize("url", ["https://me:secret@example.org/a.png", "s3://AKIA:secret@bucket/x", "ftp://:secret@h"])
def test_passwords_of_urls_are_left_out(url):
    error = OSError(f"cannot read '{url}'")
    for text in (message_of(error), trace_of(error)):
        assert "secret@" not in text
        assert url.rpartition("@")[2] in text


@pytest.mark.parametrize("text", ["https://example.org:80/a@b", "a: b@c", "http://host/x?to=a:b@c", "me@example.org"])
def test_other_text_stays(text):
    assert message_of(ValueError(text)) == f"ValueError: {text}"
