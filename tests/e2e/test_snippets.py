"""All that the documentation tells people to type works as it stands there."""

import pytest

import bucket
import pages

pytestmark = pytest.mark.timeout(240)

# Their tables say in the last column what to type.
WITH_TABLES = ["docs/how-to/coming-from.md", "docs/how-to/read.md"]
BEFORE_TABLES = """
import datasets
import jinx.torch
a, b, f = ds, ds, lambda sample: sample
datasets.load_dataset("parquet", data_files="in.parquet", split="train", cache_dir="c").save_to_disk("saved")
"""


@pytest.fixture
def workplace(tmp_path, chat_parquet, monkeypatch):
    pages.prepare(tmp_path, chat_parquet)
    # What pages read from `s3://bucket` lies here, too.
    with bucket.served(tmp_path) as store:
        store.is_open = True
        for name, value in {**store.environment, "JINX_CACHE": str(tmp_path / "cached")}.items():
            monkeypatch.setenv(name, value)
        yield tmp_path


@pytest.mark.parametrize("page", [page for page in pages.PAGES if pages.blocks(page, "python")])
def test_python(page, workplace):
    """What needs a package of another environment is run there."""
    pages.run(workplace, [code for code in pages.blocks(page, "python") if not pages.runs_elsewhere(code)])


@pytest.mark.parametrize("page", [page for page in pages.PAGES if pages.commands(page)])
def test_commands(page, workplace):
    pages.run(workplace, [line for line in pages.commands(page) if not line.startswith(pages.NOT_RUN)])


@pytest.mark.parametrize("page", WITH_TABLES)
def test_code_in_tables(page, workplace):
    codes = pages.in_tables(page)
    assert len(codes) > 10
    pages.run(workplace, codes, before=BEFORE_TABLES)


def test_no_block_is_of_another_kind():
    kinds = {kind for page in pages.PAGES for kind in pages.languages(page)}
    assert kinds <= {"python", "console", "text"}  # text: what a file or a program says


def test_what_is_not_run_here_is_run_elsewhere():
    for package, test in pages.ELSEWHERE.items():
        assert "pages.run(" in (pages.ROOT / test).read_text("utf-8"), package
