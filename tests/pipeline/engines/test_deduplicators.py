"""Deduplicators in the engine: the same as alone, for any number of workers and any kills."""

import random

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from pipeline.made import Killer, digest, rows_of

MENU = "Home | News | Contact"
OPTIONS = {"block_rows": 60}


def made_samples(count: int) -> list[dict]:
    """Texts of which a third is nearly that of an earlier one; every other one has a menu."""
    rng = random.Random(4)
    words = [f"w{number}" for number in range(900)]
    texts: list[list[str]] = []
    for _ in range(count):
        if texts and rng.random() < 1 / 3:
            copy = list(rng.choice(texts))
            copy[rng.randrange(len(copy))] = rng.choice(words)
            texts.append(copy)
        else:
            texts.append(rng.choices(words, k=60))
    return [
        {"id": at, "text": " ".join(text) + (f"\n{MENU}" if at % 2 else ""), "image": b"x" * (at % 7)}
        for at, text in enumerate(texts)
    ]


def steps() -> list[jp.Operator]:
    names = ["document_line_deduplicator", "document_minhash_deduplicator", "document_simhash_deduplicator"]
    return [jp.create("text_length_filter", min_len=20), *map(jp.create, names)]


@pytest.fixture(scope="module")
def samples():
    return made_samples(500)


@pytest.fixture(scope="module")
def data(tmp_path_factory, samples):
    path = tmp_path_factory.mktemp("data") / "in.jinx"
    with jinx.Writer(path) as writer:
        for sample in samples:
            writer.write(sample)
    return path


@pytest.fixture(scope="module")
def calm(tmp_path_factory, data):
    out = tmp_path_factory.mktemp("calm") / "out"
    return out, Dataset.load(data).process(steps()).export(out, workers=1, **OPTIONS)


def test_as_each_operator_alone(calm, samples):
    out, result = calm
    expected = samples
    for operator in steps():
        expected = operator(expected)
    rows = rows_of(out)
    assert [(row["id"], row["text"]) for row in rows] == [(sample["id"], sample["text"]) for sample in expected]
    assert len(rows) < 400
    assert not any(MENU in row["text"] for row in rows)
    assert [row["image"] for row in rows] == [b"x" * (row["id"] % 7) for row in rows]
    figures = {operator.operator: (operator.rows_in, operator.rows_out) for operator in result.operators}
    assert figures["document_line_deduplicator"] == (500, 500)
    assert figures["document_minhash_deduplicator"][0] == 500


@pytest.mark.slow
def test_workers_and_kills_make_no_difference(calm, data, tmp_path):
    out, _ = calm
    Dataset.load(data).process(steps()).export(tmp_path / "four", workers=4, **OPTIONS)
    assert digest(tmp_path / "four") == digest(out)
    with Killer(2, tmp_path / "killed.work"):
        Dataset.load(data).process(steps()).export(tmp_path / "killed", workers=2, **OPTIONS)
    assert digest(tmp_path / "killed") == digest(out)


def test_lines_at_the_end_and_at_the_start(data, tmp_path):
    lines = jp.create("document_line_deduplicator")
    for name, chain in (("end", [jp.create("text_length_filter"), lines]), ("start", [lines])):
        Dataset.load(data).process(chain).export(tmp_path / f"{name}.jinx", kind="view", workers=2, **OPTIONS)
        rows = rows_of(tmp_path / f"{name}.jinx")
        assert len(rows) == 500
        assert not any(MENU in row["text"] for row in rows)


def test_nothing_is_left(data, tmp_path):
    nothing = jp.create("text_length_filter", min_len=10_000)
    Dataset.load(data).process([nothing, *steps()]).export(tmp_path / "out", workers=1)
    assert rows_of(tmp_path / "out") == []
