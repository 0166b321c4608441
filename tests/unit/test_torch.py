"""Collating, and DataLoaders over a dataset."""

import numpy as np
import pytest

import jinx
import samples

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def collate(batch):
    from jinx.torch import collate

    return collate(batch)


def test_numbers_and_bools_become_tensors():
    batch = collate([{"i": 1, "f": 0.5, "b": True}, {"i": 2, "f": 2, "b": False}])
    assert batch["i"].dtype == torch.int64
    assert batch["f"].tolist() == [0.5, 2.0]
    assert batch["b"].dtype == torch.bool


def test_arrays_and_tensors_of_one_shape_are_stacked():
    batch = collate(
        [{"a": np.ones((2, 3), np.float32) * i, "t": torch.ones(4) * i, "s": np.float32(i)} for i in range(3)]
    )
    assert batch["a"].shape == (3, 2, 3)
    assert batch["a"].dtype == torch.float32
    assert batch["t"].shape == (3, 4)
    assert batch["s"].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b"],
        [b"a", b"b"],
        [[1], [1, 2]],
        [1, None],
        [True, 1],
        [np.zeros(2), np.zeros(3)],
        [np.zeros(2), np.zeros(2, np.int8)],
        [np.array(["a"]), np.array(["b"])],
        [1 << 70, 1],
    ],
)
def test_what_does_not_stack_is_listed(values):
    batch = collate([{"x": value} for value in values])["x"]
    assert isinstance(batch, list)
    assert all(one is other for one, other in zip(batch, values, strict=True))


def test_dicts_tuples_and_missing_columns():
    batch = collate([{"d": {"x": 1}, "t": (1, "a")}, {"d": {"x": 2}, "t": (2, "b"), "new": 3}])
    assert batch["d"]["x"].tolist() == [1, 2]
    assert batch["t"][0].tolist() == [1, 2]
    assert batch["t"][1] == ["a", "b"]
    assert batch["new"] == [None, 3]


@pytest.mark.parametrize(("workers", "method"), [(0, None), (2, "fork"), (2, "spawn")])
def test_data_loader(tmp_path, workers, method):
    from torch.utils.data import DataLoader

    import jinx.torch

    ds = jinx.open(samples.write(tmp_path / "a.jinx"))
    loader = DataLoader(
        ds,
        batch_size=16,
        shuffle=True,
        num_workers=workers,
        multiprocessing_context=method,
        collate_fn=jinx.torch.collate,
        generator=torch.Generator().manual_seed(1),
    )
    batches = list(loader)
    assert [len(batch["id"]) for batch in batches] == [16, 16, 16, 2]
    assert sorted(n for batch in batches for n in batch["n"].tolist()) == list(range(samples.COUNT))
    assert batches[0]["array"].shape == (16, 2, 3)
    first = batches[0]["n"][0].item()
    assert batches[0]["image"][0] == samples.sample(first)["image"]


def test_tensors_come_back(tmp_path):
    values = [torch.arange(6).reshape(2, 3), torch.ones(3, dtype=torch.bfloat16), torch.zeros(200)]
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write({"t": values[0], "b": values[1], "big": values[2]})
    sample = jinx.open(tmp_path / "a.jinx")[0]
    for name, value in zip(("t", "b", "big"), values, strict=True):
        assert sample[name].dtype == value.dtype
        assert torch.equal(sample[name], value)


def test_arrays_turn_into_tensors_without_a_warning(tmp_path):
    ds = jinx.open(samples.write(tmp_path / "a.jinx", 2))
    assert torch.from_numpy(ds[1]["array"]).tolist() == [[1, 2, 3], [4, 5, 6]]


class Named(torch.Tensor):
    pass


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: torch.ones(2).as_subclass(Named), "of type .*Named cannot be stored; give tensor.as_subclass"),
        (
            lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
            r"nested torch tensor .* tensor.unbind\(\)",
        ),
        (
            lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
            "of type .*NestedTensor",
        ),
        (lambda: torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False])), "of type .*MaskedTensor"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_tensors_that_would_not_come_back_are_refused(tmp_path, make, what):
    tensor = make()
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        with pytest.raises(jinx.InvalidError, match=what) as caught:
            writer.write({"a": {"b": [tensor]}})
        assert caught.value.column == "a.b[0]"


@pytest.mark.filterwarnings("ignore")
def test_tensors_of_every_layout_come_back(tmp_path):
    values = {
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "gradient": torch.ones(2, requires_grad=True),
        "sparse": torch.eye(3).to_sparse(),
        "csr": torch.eye(3).to_sparse_csr(),
        "quantized": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
        "conjugate": torch.ones(2, dtype=torch.complex64).conj(),
        "transposed": torch.arange(6).reshape(2, 3).T,
    }
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write(values)
    sample = jinx.open(tmp_path / "a.jinx")[0]
    for name, value in values.items():
        assert (sample[name].dtype, sample[name].layout) == (value.dtype, value.layout), name
        dense = [one.dequantize() if one.is_quantized else one.to_dense() for one in (sample[name], value)]
        assert torch.equal(*dense), name
