"""Duplicates: exact, near, and of images."""

import io
import random
import time

import numpy as np
import pytest
from PIL import Image

import jinx_pipeline as jp
from jinx_pipeline.dedup.exact import hash_table
from jinx_pipeline.dedup.near import band_table, best_bands

RANDOM = random.Random(5)
WORDS = ["".join(RANDOM.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(3000)]


def document(length: int = 120) -> list[str]:
    return RANDOM.choices(WORDS, k=length)


def shingles(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + 5]) for at in range(len(words) - 4)}


def png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "png")
    return out.getvalue()


def gradient(seed: int) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((96, 64))


def test_exact_texts():
    samples = [{"text": text} for text in ("A b", "a b", "A b", "ab", "a, b!")]
    assert [sample["text"] for sample in jp.create("document_deduplicator")(samples)] == ["A b", "a b", "ab", "a, b!"]
    lower = jp.create("document_deduplicator", lowercase=True)
    assert [sample["text"] for sample in lower(samples)] == ["A b", "ab", "a, b!"]
    letters = jp.create("document_deduplicator", lowercase=True, ignore_non_character=True)
    marked = letters(samples, drop=False)
    assert [sample["__dj__duplicate_of"] for sample in marked] == [None, 0, 0, 0, 0]
    odd = [{"text": text} for text in ("😀", "12", "", " \n", "12 ", "☃", "😀")]
    assert [sample["__dj__duplicate_of"] for sample in letters(odd, drop=False)] == [None, None, None, None, 1, None, 0]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("document_deduplicator", {}),
        ("document_deduplicator", {"ignore_non_character": True}),
        *(
            (name, {"tokenization": tokens, "ignore_pattern": "gone"})
            for name in ("document_minhash_deduplicator", "document_simhash_deduplicator")
            for tokens in ("space", "punctuation", "character")
        ),
        ("document_minhash_deduplicator_with_uid", {}),
    ],
)
def test_samples_without_text_are_no_duplicates(name, parameters):
    rows = [{"text": None}, {}, {"text": ""}, {"text": " "}, {"text": []}, {"text": " \n\t "}, {"text": ["", " "]}]
    if "ignore_pattern" in parameters:
        rows += [{"text": "gone"}, {"text": " gone"}]
    if parameters.get("tokenization") == "punctuation":
        rows += [{"text": "!!!"}, {"text": "???"}]
    rows = [*rows, {"text": "an example"}, *rows, {"text": "an example"}]
    rows = [{**row, "id": at, "__dj__uid": at} for at, row in enumerate(rows)]
    kept = jp.create(name, **parameters)(rows)
    assert [row["id"] for row in kept] == list(range(len(rows) - 1))


EXACT = jp.create("document_deduplicator")
NEAR = jp.create("document_minhash_deduplicator", num_bands=3, num_rows_per_band=1)


def decided(operator, tables, rows_at_once=None):
    """What stays, and what others repeat, when a task looks at so many keys at a time."""
    memory = None if rows_at_once is None else 256 * rows_at_once
    assert rows_at_once is None or operator.keys_at_once(memory) == rows_at_once
    decision = operator.decided(tables, "", memory=memory)
    originals = np.full(sum(map(len, tables)), -1)
    for table in decision.repeats:
        assert (np.diff(table["later"].to_numpy()) > 0).all()
        originals[table["later"].to_numpy()] = table["first"].to_numpy()
    return np.isin(np.arange(len(originals)), decision.order.array()), originals


@pytest.mark.parametrize("rows_at_once", [1, 7, 1000])
def test_memory_does_not_change_which_samples_stay(rows_at_once):
    generator = np.random.default_rng(1)
    hashes = generator.integers(0, 40, (200, 2), dtype=np.uint64)
    missing = generator.random(200) < 0.1
    tables = [hash_table(hashes[at : at + 30], missing[at : at + 30]) for at in range(0, 200, 30)]
    keep, originals = decided(EXACT, tables, rows_at_once)
    first: dict[tuple, int] = {}
    for at, digest in enumerate(map(tuple, hashes.tolist())):
        expected = -1 if missing[at] else first.setdefault(digest, at)
        assert originals[at] == (-1 if expected in {-1, at} else expected)
    assert (keep == (originals < 0)).all()
    keys = generator.integers(0, 60, (200, 3), dtype=np.uint64)
    tables = [band_table(keys[at : at + 30]) for at in range(0, 200, 30)]
    assert (decided(NEAR, tables, rows_at_once)[1] == decided(NEAR, tables)[1]).all()


def test_signatures_may_be_read_once():
    tables = [hash_table(np.zeros((2, 2), dtype=np.uint64))]
    assert [table.tolist() for table in EXACT.duplicates(iter(tables))] == [[True, False], [-1, 0]]


def test_no_signatures():
    assert [len(item) for item in EXACT.duplicates([])] == [0, 0]
    assert [len(item) for item in NEAR.duplicates([])] == [0, 0]


def test_near_texts_are_those_that_an_exact_search_finds():
    originals = [document() for _ in range(150)]
    documents = list(originals)
    similarity: list[float] = []
    for at in range(100):
        changed = list(originals[at])
        for place in RANDOM.sample(range(len(changed)), at // 8):
            changed[place] = "changed"
        one, other = shingles(originals[at]), shingles(changed)
        similarity.append(len(one & other) / len(one | other))
        documents.append(changed)
    samples = [{"text": " ".join(words)} for words in documents]
    marked = jp.create("document_minhash_deduplicator")(samples, drop=False)
    found = [sample["__dj__duplicate_of"] for sample in marked]
    assert found[:150] == [None] * 150
    for at, score in enumerate(similarity):
        if score > 0.85:
            assert found[150 + at] == at, score
        if score < 0.45:
            assert found[150 + at] is None, score


def test_short_texts_are_duplicates_only_when_equal():
    samples = [{"text": text} for text in ("a b", "c", "a  B", "", "c d")]
    kept = jp.create("document_minhash_deduplicator")(samples)
    assert [sample["text"] for sample in kept] == ["a b", "c", "", "c d"]


def test_what_a_pattern_ignores_makes_no_difference():
    samples = [{"text": f"{' '.join(document(20))} page {number}"} for number in range(2)]
    samples += [{"text": samples[0]["text"].replace("page 0", "page 7")}]
    kept = jp.create("document_minhash_deduplicator", ignore_pattern="[0-9]+", jaccard_threshold=0.99)(samples)
    assert kept == samples[:2]
    assert len(jp.create("document_minhash_deduplicator", jaccard_threshold=0.99)(samples)) == 3
    with pytest.raises(jp.ParameterError, match="the pattern"):
        jp.create("document_minhash_deduplicator", ignore_pattern="(")


def test_shingles_of_tokens(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0, "a": 1, "b": 2, "c": 3}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    made.save(str(tmp_path / "tokenizer.json"))
    given = {"tokenization": "sentencepiece", "tokenizer_model": str(tmp_path), "window_size": 2}
    samples = [{"text": text} for text in ("abcabc", "ABCabc", "bbbb", "cccc")]
    assert [sample["text"] for sample in jp.create("document_minhash_deduplicator", **given)(samples)] == [
        "abcabc",
        "bbbb",
        "cccc",
    ]
    with pytest.raises(jp.ParameterError, match="belong together"):
        jp.create("document_minhash_deduplicator", tokenization="sentencepiece")


def test_the_least_number_of_a_cluster_stays():
    texts = [" ".join(document(40)) for _ in range(3)]
    numbers = [(0, 5), (1, 9), (0, 2), (2, 1), (0, 2), (1, 3)]
    samples = [{"text": texts[text], "__dj__uid": uid} for text, uid in numbers]
    operator = jp.create("document_minhash_deduplicator_with_uid")
    assert [sample["__dj__duplicate_of"] for sample in operator(samples, drop=False)] == [2, 5, None, None, 2, None]
    assert operator([]) == []
    with pytest.raises(TypeError, match="__dj__uid is None; it is an integer"):
        operator([{"text": "a", "__dj__uid": None}])


def test_the_best_bands():
    bands, rows = best_bands(0.7, 256)
    assert bands * rows <= 256
    assert 0.6 < (1 / bands) ** (1 / rows) < 0.8


def test_the_bands_of_long_signatures_are_found_at_once():
    started = time.process_time()
    bands, rows = best_bands(0.7, 4096)
    assert time.process_time() - started < 2  # of all 36,000 choices: 8 s
    assert 0.65 < (1 / bands) ** (1 / rows) < 0.75


@pytest.mark.parametrize("threshold", [0.001, 0.1, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("permutations", [1, 2, 16, 100])
def test_no_other_bands_have_fewer_errors(threshold, permutations):
    similarity = (np.arange(1000) + 0.5) / 1000

    def error(choice):
        bands, rows = choice
        missed = (1 - similarity**rows) ** bands
        return np.where(similarity < threshold, 1 - missed, missed).sum()

    choices = [(bands, rows) for bands in range(1, permutations + 1) for rows in range(1, permutations // bands + 1)]
    assert error(best_bands(threshold, permutations)) == pytest.approx(min(map(error, choices)), abs=1e-9)


def test_bands_that_do_not_fit_are_refused():
    with pytest.raises(jp.ParameterError, match="300 bands of 1 rows do not fit 256 permutations"):
        jp.create("document_minhash_deduplicator", num_bands=300, num_rows_per_band=1)
    with pytest.raises(jp.ParameterError, match="lies between 0 and 1"):
        jp.create("document_minhash_deduplicator", jaccard_threshold=1.5)


@pytest.mark.parametrize("method", ["phash", "dhash", "whash", "ahash"])
def test_images(method):
    one, other = gradient(1), gradient(2)
    samples = [
        {"images": [png(one)], "text": "a"},
        {"images": [png(other)], "text": "a"},
        {"images": [png(one.resize((192, 128)))], "text": "b"},
        {"images": []},
        {"images": []},
        {"images": [png(other), png(one)], "text": "a"},
    ]
    marked = jp.create("image_deduplicator", method=method)(samples, drop=False)
    assert [sample["__dj__duplicate_of"] for sample in marked] == [None, None, 0, None, None, None]
    with_text = jp.create("image_deduplicator", method=method, consider_text=True)
    assert len(with_text(samples)) == 6
