"""Workers of a DataLoader that send positions: the same batches, read in this process."""

import pickle

import numpy as np
import pytest

import jinx
import samples

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.fixture
def dataset(tmp_path):
    return jinx.open(samples.write(tmp_path / "a.jinx"))


def plain(batches):
    """Batches with tensors and arrays as lists."""
    return [_listed(batch) for batch in batches]


def _listed(value):
    if isinstance(value, dict | jinx.LazyDict):
        return {name: _listed(value[name]) for name in value}
    if isinstance(value, list | tuple):
        return [_listed(element) for element in value]
    return value.tolist() if isinstance(value, torch.Tensor | np.ndarray) else value


def loader(data, workers=2, method="fork", collate_fn=None, **options):
    from torch.utils.data import DataLoader

    import jinx.torch

    return DataLoader(
        data,
        batch_size=16,
        num_workers=workers,
        multiprocessing_context=method if workers else None,
        collate_fn=collate_fn or jinx.torch.collate,
        generator=torch.Generator().manual_seed(1),
        **options,
    )


@pytest.mark.parametrize(("workers", "method"), [(0, "fork"), (2, "fork"), (2, "spawn")])
def test_the_batches_are_those_of_the_dataset_itself(dataset, workers, method):
    from jinx.torch import References

    expected = plain(loader(dataset, 0, shuffle=True))
    assert plain(loader(References(dataset), workers, method, shuffle=True)) == expected


def test_values_are_read_in_the_process_of_the_training(dataset, monkeypatch):
    from jinx.torch import References

    read: list[int] = []
    take = type(dataset).take

    def counted(self, indices, columns=None):
        read.extend(indices)
        return take(self, indices, columns)

    monkeypatch.setattr(type(dataset), "take", counted)
    batches = list(loader(References(dataset)))
    # A worker is a fork: what it reads is not in this list.
    assert sorted(read) == list(range(samples.COUNT))
    assert batches[0]["image"][0] == samples.sample(0)["image"]
    read.clear()
    mapped = dataset.map(len_of_id)
    assert next(batch["len"].tolist() for batch in loader(References(mapped))) == [len(i) for i in mapped[:16]["id"]]
    assert read == []


def len_of_id(sample):
    return {"len": len(sample["id"])}


def first_ids(batch):
    return [sample["id"] for sample in batch]


def test_columns_and_a_collate_function_of_the_user(dataset):
    from jinx.torch import References

    assert list(next(iter(loader(References(dataset, "id"))))) == ["id"]
    expected = [dataset[i]["id"] for i in range(16)]
    assert next(iter(loader(References(dataset, collate_fn=first_ids)))) == expected
    # Given to the DataLoader, it is called by a worker, as ever.
    assert next(iter(loader(References(dataset), collate_fn=first_ids))) == expected
    with pytest.raises(KeyError, match="nope"):
        References(dataset, ["id", "nope"])


def test_views_subsets_and_single_samples(dataset):
    from torch.utils.data import Subset

    from jinx.torch import References

    view = dataset[10:30].with_columns({"twice": [2 * i for i in range(10, 30)]})
    assert plain(loader(References(view))) == plain(loader(view, 0))
    subset = Subset(References(view), [3, 1, 2])
    assert [batch["twice"].tolist() for batch in loader(subset)] == [[26, 22, 24]]
    assert References(view)[3]["twice"] == 26
    assert len(References(view)) == 20


def test_a_damaged_value_is_an_error_of_its_batch(tmp_path):
    from jinx.torch import References

    path = samples.write(tmp_path / "a.jinx")
    side = path.with_suffix(".binx")
    data = bytearray(side.read_bytes())
    data[-200] ^= 1  # the last value that lies in the sidecar
    side.write_bytes(data)
    batches = iter(loader(References(jinx.open(path))))
    got, errors = 0, list[str]()
    while True:
        try:
            got += len(next(batches)["id"])
        except StopIteration:
            break
        except jinx.JinxError as error:
            errors.append(str(error))
    assert len(errors) == 1
    assert "checksum" in errors[0]
    assert 0 < got < samples.COUNT


def test_a_batch_in_another_process_is_an_error_that_says_so(dataset):
    from torch._utils import ExceptionWrapper

    from jinx.torch import _references

    # What a loader would find where the dataset is not.
    found = pickle.loads(pickle.dumps(_references._Sent("0" * 32, [1], None)))
    assert isinstance(found, ExceptionWrapper)
    with pytest.raises(RuntimeError, match="has not made its dataset"):
        found.reraise()


def test_a_dataset_in_a_bucket_is_read_by_the_workers(dataset, tmp_path, monkeypatch):
    import bucket
    from jinx.torch import References

    with bucket.served(tmp_path) as store:
        for name, value in {**store.environment, "JINX_CACHE": "off"}.items():
            monkeypatch.setenv(name, value)
        remote = References(jinx.open(store.url("a.jinx")))
        assert plain(loader(remote)) == plain(loader(dataset, 0))
        assert not remote._by_position
