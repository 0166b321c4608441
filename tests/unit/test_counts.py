"""Counts of `jinx.annotate`: what was not counted has no column, and who needs it says so."""

from pathlib import Path

import numpy as np
import pytest

import chat
import jinx
from jinx._annotate.lengths import COUNTS
from jinx._cli.program import run

COUNT = 300


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("counts") / "data.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"id": i, "text": "x" * (i % 7 + 1)} for i in range(COUNT))
    return path


def tokens(sample):
    return {"num_tokens": len(sample["text"]), "input_ids": [1] * len(sample["text"])}


RETURNED = {
    "a number": (lambda sample: len(sample["text"]), ["num_tokens"]),
    "one count": (lambda sample: {"num_tokens": 3}, ["num_tokens"]),
    "images": (lambda sample: {"num_images": 1, "num_tokens": 3}, ["num_tokens", "num_images"]),
    "token ids": (tokens, ["num_tokens", "num_label_tokens"]),
    "all": (lambda sample: dict.fromkeys(COUNTS, 2), list(COUNTS)),
}


@pytest.mark.parametrize(("function", "names"), RETURNED.values(), ids=RETURNED)
@pytest.mark.parametrize("samples", [COUNT, 1])
def test_what_a_function_does_not_return_has_no_column(dataset, tmp_path, function, names, samples):
    jinx.annotate(jinx.open(dataset)[:samples], tmp_path / "out.jinx", function=function)
    found = jinx.open(tmp_path / "out.jinx")
    assert found.column_names == ["id", "text", *names]
    assert found.info().meta["annotate"]["counts"] == names


@pytest.mark.parametrize("odd", [1, 256, 299])
@pytest.mark.parametrize(
    ("returned", "name"),
    [
        (({"num_tokens": 1, "num_images": 0}, 3), "num_images"),
        ((3, {"num_tokens": 1, "num_patches": 0}), "num_patches"),
    ],
)
def test_a_count_that_some_samples_lack_is_an_error(dataset, tmp_path, odd, returned, name):
    one, other = returned

    def count(sample):
        return other if sample["id"] == odd else one

    told = rf"sample \d+ has {name} and sample \d+ has none; a count is for all samples or for none"
    with pytest.raises(jinx.InvalidError, match=told) as raised:
        jinx.annotate(dataset, tmp_path / "out.jinx", function=count)
    assert f"sample {odd} has" in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_images_without_a_rule_are_not_counted(tmp_path):
    pytest.importorskip("tokenizers")
    pytest.importorskip("PIL.Image")
    tokenizer = chat.write_tokenizer(tmp_path / "tokenizer")
    data = chat.write_chat(tmp_path / "chat.jinx", 5, images=1)
    for rule, names in ((None, COUNTS[:2]), ("fixed:4", COUNTS)):
        jinx.annotate(data, tmp_path / f"{rule}.jinx", tokenizer=tokenizer, image_rule=rule)
        found = jinx.open(tmp_path / f"{rule}.jinx").column_names
        assert [name for name in found if name.startswith("num_")] == list(names)


def test_columns_of_earlier_counts_do_not_outlive_later_ones(dataset, tmp_path):
    jinx.annotate(dataset, tmp_path / "a.jinx", function=lambda _: {**dict.fromkeys(COUNTS, 9)})
    jinx.annotate(tmp_path / "a.jinx", tmp_path / "b.jinx", function=tokens, tokens=True)
    jinx.annotate(tmp_path / "b.jinx", tmp_path / "c.jinx", function=lambda _: 2)
    names = [jinx.open(tmp_path / f"{name}.jinx").column_names[2:] for name in "bc"]
    # Lists are in the rows of the view, which come before its typed columns.
    assert names == [["input_ids", "label_mask", "num_tokens", "num_label_tokens"], ["num_tokens"]]
    with pytest.raises(KeyError, match="no column 'num_images'"):
        jinx.pack(jinx.open(tmp_path / "c.jinx"), 8, max_images=2)


@pytest.fixture(scope="module")
def counted(dataset, tmp_path_factory):
    """Lengths of a function that counts tokens alone."""
    path = tmp_path_factory.mktemp("counted") / "lengths.jinx"
    jinx.annotate(dataset, path, function=lambda sample: len(sample["text"]))
    return jinx.open(path)


def test_budgets_of_what_was_not_counted_are_refused(counted, capsys):
    for budget in ("max_images", "max_patches"):
        with pytest.raises(KeyError, match=f"no column 'num_{budget[4:]}'.*jinx annotate"):
            jinx.pack(counted, 16, **{budget: 2})
    with pytest.raises(KeyError, match="no column 'num_label_tokens'"):
        jinx.pack(counted, 16, budgets={"num_label_tokens": 9})
    assert run(["pack", counted.path, "--max-length", "16", "--max-images", "2"]) == 2
    assert "no column 'num_images'" in capsys.readouterr().err
    assert jinx.pack(counted, 16).stats().packs_without_images is None


def test_loaders_say_what_they_lack(counted, dataset):
    pytest.importorskip("torch")
    from jinx.torch import PackedDataLoader, token_loss

    def encode(sample):
        return {"input_ids": [1] * len(sample["text"])}

    options = {"encode": encode, "num_workers": 0}
    for wanted in ("drop", "error"):
        with pytest.raises(jinx.InvalidError, match=f"without_images='{wanted}' needs num_images of all samples"):
            PackedDataLoader(counted, {"max_length": 16}, without_images=wanted, **options)
    batch = next(iter(PackedDataLoader(counted, {"max_length": 16}, **options)))
    assert "num_label_tokens_step" not in batch
    with pytest.raises(ValueError, match="num_label_tokens=0, and the batch has labels"):
        token_loss(batch["input_ids"][..., None].float(), batch["labels"], 0)
    labels = np.array([len(text) - 1 for text in counted["text"]])
    # Of one part of a mixture nothing is known.
    parts = [counted.with_columns({"num_label_tokens": labels}), counted]
    with pytest.raises(jinx.InvalidError, match=f"sample {COUNT} has no num_label_tokens, and others have"):
        PackedDataLoader(parts, {"max_length": 16}, **options)
    zeros = counted.with_columns({"num_label_tokens": np.zeros(COUNT, dtype=int)})
    with pytest.raises(jinx.MismatchError, match="labels, and num_label_tokens says 0 for its whole optimiser step"):
        next(iter(PackedDataLoader(zeros, {"max_length": 16}, **options)))
    right = PackedDataLoader(parts[0], {"max_length": 16}, **options)
    assert all(batch["num_label_tokens"] == batch["num_label_tokens_step"] for batch in right)
    assert right.stats().label_tokens == labels.sum()
    # What a truncated sample has left is not in the column.
    longest = max(len(text) for text in counted["text"])
    with pytest.warns(UserWarning, match=r"the plan truncates \d+ samples, and num_label_tokens counts the labels"):
        cut = PackedDataLoader(parts[0], {"max_length": longest - 1, "oversize": "truncate"}, **options)
    assert all("num_label_tokens_step" not in batch for batch in cut)
