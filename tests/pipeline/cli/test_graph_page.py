"""The recipes of docs/how-to/graphs.md do what the page says."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import jinx
from jinx_pipeline.cli.program import pipeline

pytestmark = pytest.mark.timeout(300)
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "graphs.md"
FILE = re.compile(r"Save this as `([\w.]+)`:\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands of the page have run."""
    folder = tmp_path_factory.mktemp("page")
    for name, count in (("pages", 40), ("books", 20)):
        with jinx.Writer(folder / f"{name}.jinx") as writer:
            writer.write_many(
                {"n": n, "id": f"{name}{n}", "text": " ".join([name, "x" * (n // 10 + 1)] * (n % 3 + 1))}
                for n in range(count)
            )
    with jinx.Writer(folder / "scores.jinx") as writer:
        writer.write_many({"id": f"pages{n}", "score": n} for n in range(0, 40, 2))
    text = PAGE.read_text("utf-8")
    for name, content in FILE.findall(text):
        (folder / name).write_text(content, "utf-8")
    assert text.count("```text") == len(FILE.findall(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in re.findall(r"^\$ jinx-pipeline (.*)$", text, re.MULTILINE):
            result = CliRunner().invoke(pipeline, shlex.split(line), catch_exceptions=False)
            assert result.exit_code == 0, result.output
    return folder


def numbers(folder, name):
    return [sample["n"] for sample in jinx.open(folder / name).to_list()]


def test_branches(folder):
    assert numbers(folder, "good.jinx") == [n for n in range(40) if n % 3 > 0]
    assert numbers(folder, "rejected.jinx") == [n for n in range(40) if n % 3 == 0]


def test_merges(folder):
    samples = jinx.open(folder / "mixed").to_list()
    pages = [sample for sample in samples if sample["id"].startswith("pages")]
    # 12 pages differ.
    assert (len(pages), len(samples) - len(pages)) == (12, 4)
    assert [sample["score"] for sample in pages] == [n if n % 2 == 0 else None for n in (s["n"] for s in pages)]


def test_conditions(folder):
    assert len(numbers(folder, "checkpoint.jinx")) == 40
    assert numbers(folder, "too-many.jinx") == []
    assert numbers(folder, "german.jinx") == numbers(folder, "unique-de.jinx")
    assert len(numbers(folder, "german.jinx")) == 12


def test_includes(folder):
    assert numbers(folder, "included.jinx") == [n for n in range(40) if n % 3 > 0] + list(range(20))
    assert numbers(folder, "included-rejected.jinx") == [n for n in range(40) if n % 3 == 0]


def test_pictures(folder):
    assert (folder / "include.svg").read_text("utf-8").startswith("<svg")
    page = (folder / "include.html").read_text("utf-8")
    assert "<h2>Graph</h2>" in page
    assert "What the operators change" in page
    assert (folder / "ran.mmd").read_text("utf-8").startswith("flowchart TD")


def test_tables(folder):
    picked = jinx.open(folder / "picked.jinx").to_list()
    assert picked == [{"id": f"pages{n}", "number": n} for n in range(30, 40)]


def test_a_query_that_follows_a_table_finds_its_rows(folder):
    assert jinx.open(folder / "few.jinx").to_list() == [{"id": f"pages{n}"} for n in range(9)]
