"""What packing loaders say of states, datasets, sources and encode functions that they cannot take."""

import numpy as np
import pytest

import jinx
from jinx.errors import InvalidError

torch = pytest.importorskip("torch")

from jinx.torch import ElasticLoader, PackedDataLoader, PackedDataset, PackedStream  # noqa: E402

LENGTH = 64


def encode(sample):
    return {"input_ids": range(sample["num_tokens"])}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = tmp_path_factory.mktemp("arguments") / "data.jinx"
    with jinx.Writer(path, indexed=["num_tokens"]) as writer:
        for number in range(50):
            writer.write({"num_tokens": number + 3})
    return jinx.open(path)


@pytest.fixture(scope="module")
def plan(dataset):
    return jinx.pack(dataset, LENGTH)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (None, "not the state of a loader of packs, which state_dict returns, but NoneType"),
        ([1], "but list"),
        ({"version": None}, "this loader knows version 4"),
        ({"epoch": "first"}, "is damaged"),
        ({"epoch": True}, "is damaged"),
        ({"version": 1}, "this state has version 1; this loader knows version 4: resume with the version of jinx"),
        ({"epoch": -1}, "epoch=-1 is not between"),
        ({"epoch": 2**64}, "is not between"),
        ({"dataset": None}, "this state is damaged: it does not say which dataset"),
        ({"dataset": {"samples": 50, "files": "0" * 32}}, "does not say which dataset"),
        ({"dataset": {"samples": 50, "files": "0" * 32, "order": None}}, "does not say which dataset"),
        (
            {"dataset": {"samples": 50, "files": "0" * 32, "order": None, "columns": None}},
            "for other files than those of this dataset",
        ),
        ({"unknown": 1}, "not the state of a schedule, which has .*: unknown"),
        ({"packs_consumed": True}, "packs_consumed is True, not an integer"),
        ({"packs_consumed": 1.0}, "packs_consumed is 1.0, not an integer"),
        ({"order_window": 10**30}, "not a state of a schedule of"),
        ({"order_start": 10**30}, "not a state of a schedule of"),
        ({"order_start": -1}, "not a state of a schedule of"),
        ({"balance": {"num_tokens": "1"}}, "balance is not a dict of names and numbers"),
        ({"balance": {"num_tokens": float("nan")}}, "balance is not a dict of names and numbers"),
        ({"plan": None}, "is damaged"),
        ({"plan": {}}, "this plan is not the one of the saved state"),
        ({"packs_consumed": None}, "packs_consumed"),
        ({"packs_consumed": 10**9}, "not a state of a schedule of"),
        ({"order_group": 0}, "not a state of a schedule of"),
        ({"balance": 5}, "balance"),
        ({"without_images": "drop"}, "the saved loader had without_images='drop'"),
    ],
)
def test_a_damaged_or_foreign_state_is_refused_and_changes_nothing(dataset, plan, change, told):
    loader = PackedDataLoader(dataset, plan, encode=encode, num_workers=0)
    state = loader.state_dict()
    bad = {**state, **change} if isinstance(change, dict) else change
    with pytest.raises((InvalidError, jinx.errors.MismatchError), match=told):
        loader.load_state_dict(bad)
    assert loader.state_dict() == state
    assert len(list(loader)) == len(plan)


def test_a_state_of_another_loader_is_refused(dataset, plan):
    loader = PackedDataLoader(dataset, plan, encode=encode, num_workers=0)
    with pytest.raises(InvalidError, match="a dict of something else"):
        loader.load_state_dict(jinx.torch.Loader(dataset).state_dict())


@pytest.mark.parametrize("loader", [PackedDataLoader, PackedDataset])
def test_a_path_is_opened_first(dataset, plan, loader):
    for path in ("data.jinx", ["data.jinx"]):
        with pytest.raises(TypeError, match=r"give a jinx.Dataset, not str; open it first: jinx.open\('data.jinx'\)"):
            loader(path, plan, encode=encode)
    with pytest.raises(TypeError, match=r"give a jinx\.Dataset, not int"):
        loader([dataset, 5], {"max_length": LENGTH}, encode=encode)
    with pytest.raises(TypeError, match=r"jinx\.open"):
        ElasticLoader("data.jinx")


@pytest.mark.parametrize("source", [5, None, "data.jsonl"])
def test_a_stream_says_what_it_takes(source):
    with pytest.raises(TypeError, match="give a dataset, a list or a function that returns an iterator"):
        PackedStream(source, LENGTH, encode=encode)


def test_a_spent_iterator_is_not_an_empty_epoch(dataset):
    stream = PackedStream(iter(dataset), LENGTH, encode=encode)
    assert sum(len(batch["sample_ids"]) for batch in stream) == len(dataset)
    with pytest.raises(InvalidError, match="gives its samples once; give a function"):
        next(iter(stream))
    stream = PackedStream(lambda: iter(dataset), LENGTH, encode=encode)
    assert [len(list(stream)), len(list(stream))] == [len(list(stream))] * 2


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (None, "no input_ids"),
        ([1, 2], "no input_ids"),
        ({"input_ids": None}, "input_ids that are object of shape"),
        ({"input_ids": 5}, r"int64 of shape \(\)"),
        ({"input_ids": [1.5, 2.0]}, "float64"),
        ({"input_ids": [float("nan")]}, "float64"),
        ({"input_ids": [[1, 2]]}, r"of shape \(1, 2\); give integers of shape \(tokens,\)"),
        ({"input_ids": [[1], [1, 2]]}, "inhomogeneous"),
        ({"input_ids": [True, False]}, "bool"),
        ({"input_ids": "abc"}, "input_ids that are <U3"),
        ({"input_ids": np.array([2**64 - 1], dtype=np.uint64)}, "do not fit into 64 bits"),
        ({"input_ids": [1, 2], "labels": [1]}, "2 input_ids and 1 labels"),
        ({"input_ids": [1, 2], "labels": [0.5, 1]}, "labels that are float64"),
        ({"input_ids": [1, 2], "images": 5}, "int as images"),
        ({"input_ids": [1, 2], "images": b"jpeg"}, "bytes as images"),
    ],
)
def test_what_encode_must_return(dataset, plan, returned, told):
    loader = PackedDataLoader(dataset, plan, encode=lambda _: returned, num_workers=0)
    with pytest.raises(InvalidError, match=rf"sample \d+: .*{told}"):
        next(iter(loader))


@pytest.mark.parametrize("ids", [[3, 4], (3, 4), range(3, 5), np.array([3, 4], dtype=np.uint16), torch.tensor([3, 4])])
def test_what_encode_may_return(dataset, plan, ids):
    def encode(_):
        return {"input_ids": ids, "labels": None, "images": None}

    batch = next(iter(PackedDataLoader(dataset, plan, encode=encode, num_workers=0)))
    assert batch["input_ids"][0, :2].tolist() == [3, 4]
    assert batch["labels"][0, :2].tolist() == [-100, 4]


def test_functions_are_functions(dataset, plan):
    for name in ("encode", "image_fn", "position_fn", "collate_fn"):
        with pytest.raises(TypeError, match=f"{name}: give a function, not int"):
            PackedDataLoader(dataset, plan, **{"encode": encode, name: 5})
    with pytest.raises(TypeError, match="interpreted as an integer"):
        PackedDataLoader(dataset, plan, encode=encode).set_epoch("first")


@pytest.mark.parametrize(("pad_id", "error"), [(2**63, ValueError), (1.5, TypeError), ("0", TypeError)])
def test_the_id_of_padding_is_one_of_a_token(dataset, plan, pad_id, error):
    with pytest.raises(error):
        PackedDataLoader(dataset, plan, encode=encode, pad_id=pad_id)


def test_batches_of_no_samples_are_refused(dataset):
    with pytest.raises(InvalidError, match="batch_size=0"):
        ElasticLoader(dataset, 0)
