"""The page about MDS runs as it stands there, with mosaicml-streaming installed."""

import pytest

import pages


@pytest.mark.timeout(240)  # torch and streaming take their time on a busy machine
def test_the_page_about_mds(chat_parquet, tmp_path):
    pages.prepare(tmp_path, chat_parquet)
    codes = pages.blocks("docs/how-to/mds.md", "python")
    assert len(codes) > 3
    pages.run(tmp_path, codes)
