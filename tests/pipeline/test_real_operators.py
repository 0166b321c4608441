"""Recipes of built-in operators on texts and images, through the whole engine."""

import io

import numpy as np
import pytest

import jinx
import jinx_pipeline as jp
from pipeline.made import digest, rows_of

Image = pytest.importorskip("PIL.Image")


def picture(seed: int, width: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 255, (40, width, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Forty samples: every fourth repeats the text before it, every fifth its image; some images are wide."""
    path = tmp_path_factory.mktemp("data") / "in.jinx"
    texts = [f"Number {n}: " + " ".join(f"word{(n * 31 + k * 17) % 97}" for k in range(30)) for n in range(40)]
    with jinx.Writer(path) as writer:
        for n in range(40):
            text = texts[n - 1] if n % 4 == 3 else texts[n]
            seed = n - 1 if n % 5 == 4 else n
            writer.write({"n": n, "text": text, "images": [picture(seed, 200 if seed % 7 == 0 else 50)]})
    return path


STEPS = [
    ("image_aspect_ratio_filter", {"max_ratio": 3.0}),
    ("words_num_filter", {"min_num": 5}),
    ("document_minhash_deduplicator", {"jaccard_threshold": 0.9}),
    ("image_deduplicator", {}),
    ("topk_specified_field_selector", {"field_key": "n", "topk": 12}),
]


def expected() -> set[int]:
    rows = [n for n in range(40) if (n - 1 if n % 5 == 4 else n) % 7]
    texts: set[int] = set()
    images: set[int] = set()
    kept: list[int] = []
    for n in rows:
        text = n - 1 if n % 4 == 3 else n
        if text in texts:
            continue
        texts.add(text)
        image = n - 1 if n % 5 == 4 else n
        if image in images:
            continue
        images.add(image)
        kept.append(n)
    return set(sorted(kept)[-12:])


@pytest.mark.slow
def test_filters_deduplicators_and_a_selector(data, tmp_path):
    flow = jp.Dataset.load(data).process([jp.create(name, **parameters) for name, parameters in STEPS])
    result = flow.export(tmp_path / "out", workers=2, block_rows=9)
    assert result.ok, result.bad_rows
    assert {row["n"] for row in rows_of(tmp_path / "out")} == expected()
    flow.export(tmp_path / "view.jinx", kind="view", workers=1, block_rows=9)
    assert rows_of(tmp_path / "view.jinx") == rows_of(tmp_path / "out")
    flow.export(tmp_path / "one", workers=1, block_rows=9)
    assert digest(tmp_path / "one") == digest(tmp_path / "out")


def test_groups_and_their_totals(data, tmp_path):
    steps = [
        jp.create("key_value_grouper", group_by_keys=["text"]),
        jp.create("field_aggregator", columns={"n": "count"}),
    ]
    result = jp.Dataset.load(data).process(steps).export(tmp_path / "out", workers=2, block_rows=9)
    assert result.ok, result.bad_rows
    assert result.rows_out == 30
