"""`jinx.torch.Loader`: order, batches, decoding, exact resumption, bad samples, early stops."""

import os
import threading
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import jinx

torch = pytest.importorskip("torch")
image = pytest.importorskip("PIL.Image")

from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, SequentialSampler  # noqa: E402

from jinx.errors import InvalidError, JinxError  # noqa: E402
from jinx.torch import ElasticLoader, Loader, PackedDataLoader, collate  # noqa: E402

SAMPLES = 37


def picture(number: int, form: str, mode: str = "RGB") -> bytes:
    draw = np.random.default_rng(number)
    shape = {"RGB": (24, 32, 3), "RGBA": (24, 32, 4), "L": (24, 32), "LA": (24, 32, 2)}.get(mode, (24, 32))
    pixels = draw.integers(0, 255, shape, dtype=np.uint8)
    if form == "JPEG":  # decoders differ in how they round, which noise would make much of
        pixels = np.linspace(10, 240, pixels.size).reshape(shape).astype(np.uint8)
    out = BytesIO()
    source = image.fromarray(pixels) if mode in {"RGB", "RGBA", "L", "LA"} else image.fromarray(pixels).convert(mode)
    source.save(out, form, **({"lossless": True} if form == "WEBP" else {}))
    return out.getvalue()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("loader") / "set.jinx"
    with jinx.Writer(path) as writer:
        for number in range(SAMPLES):
            writer.write(
                {"id": number, "image": picture(number, "PNG"), "noise": os.urandom(70_000), "text": "x" * number}
            )
    return path


@pytest.fixture(params=[0, 1, 3])
def workers(request) -> int:
    return request.param


def ids(loader) -> list[list[int]]:
    return [batch["id"].tolist() for batch in loader]


def test_batches_hold_what_collate_makes_of_the_samples(path, workers):
    dataset = jinx.open(path)
    batches = list(Loader(dataset, 8, num_workers=workers))
    assert len(batches) == len(Loader(dataset, 8)) == 5
    for start, batch in zip(range(0, SAMPLES, 8), batches, strict=True):
        expected = collate([dataset[i] for i in range(start, min(start + 8, SAMPLES))])
        assert batch.keys() == expected.keys()
        assert batch["id"].equal(expected["id"])
        assert all(batch[name] == expected[name] for name in ("image", "noise", "text"))


def test_arguments_mean_what_they_mean_to_torch(path):
    dataset = jinx.open(path)
    assert ids(Loader(dataset, 10, remainder="drop")) == [list(range(i, i + 10)) for i in (0, 10, 20)]
    assert ids(Loader(dataset, batch_sampler=BatchSampler(SequentialSampler(range(5)), 2, False))) == [
        [0, 1],
        [2, 3],
        [4],
    ]
    assert ids(Loader(dataset, 2, sampler=[4, 4, 1])) == [[4, 4], [1]]
    assert [sample["id"] for sample in Loader(dataset, None)] == list(range(SAMPLES))
    assert next(iter(Loader(dataset, 3, collate_fn=len))) == 3
    assert list(next(iter(Loader(dataset, 3, columns=["text", "id"])))) == ["id", "text"]
    generator, same = torch.Generator().manual_seed(5), torch.Generator().manual_seed(5)
    expected = [list(RandomSampler(range(SAMPLES), generator=same)) for _ in range(2)]
    loader = Loader(dataset, SAMPLES, shuffle=True, generator=generator)
    assert [ids(loader)[0], ids(loader)[0]] == expected


def test_an_empty_dataset_has_no_batches(path):
    empty = jinx.open(path)[:0]
    for options in ({}, {"shuffle": True}, {"shuffle": True, "generator": torch.Generator()}):
        assert list(Loader(empty, 2, num_workers=0, **options)) == []


def test_every_epoch_has_its_order(path):
    first, again = (Loader(jinx.open(path), 8, shuffle=True, seed=3) for _ in range(2))
    epochs = [ids(first), ids(first)]
    assert epochs == [ids(again), ids(again)]
    assert epochs[0] != epochs[1]
    assert all(sorted(number for batch in epoch for number in batch) == list(range(SAMPLES)) for epoch in epochs)
    again.set_epoch(0)
    assert ids(again) == epochs[0]


@pytest.mark.parametrize("stop", [0, 1, 3])
@pytest.mark.parametrize("order", ["seed", "generator", "sampler"])
def test_a_loader_goes_on_where_the_saved_one_was(path, stop, order, workers):
    def loader() -> Loader:
        dataset = jinx.open(path)
        if order == "sampler":
            return Loader(dataset, 8, sampler=DistributedSampler(dataset, 2, 1), num_workers=workers)
        generator = torch.Generator().manual_seed(11) if order == "generator" else None
        return Loader(dataset, 8, shuffle=True, seed=4, generator=generator, num_workers=workers)

    def epochs(loader: Loader, count: int) -> list[list[list[int]]]:
        found = []
        for epoch in range(loader.epoch, count):
            loader.set_epoch(epoch)
            found.append(ids(loader))
        return found

    whole = epochs(loader(), 3)
    first = loader()
    begun = epochs(first, 1)
    first.set_epoch(1)
    handed_out = []
    state = first.state_dict()
    for batch in first:
        if len(handed_out) == stop:
            break
        handed_out.append(batch["id"].tolist())
        state = first.state_dict()
    second = loader()
    second.load_state_dict(state)
    assert second.state_dict()["batches"] == stop
    rest = epochs(second, 3)
    assert [*begun, handed_out + rest[0], *rest[1:]] == whole


def test_a_state_of_another_dataset_is_refused(path):
    dataset = jinx.open(path)
    with pytest.raises(ValueError, match="37 samples"):
        Loader(dataset.select(range(5))).load_state_dict(Loader(dataset).state_dict())


@pytest.mark.parametrize(
    ("saved", "other"),
    [
        (lambda ds: DistributedSampler(ds, 4, 1), lambda ds: DistributedSampler(ds, 2, 1)),
        (lambda ds: DistributedSampler(ds, 2, 1), lambda ds: DistributedSampler(ds, 2, 1, seed=5)),
        (lambda ds: [3, 1, 2], lambda ds: [3, 2, 1]),
        (lambda ds: np.array([3, 1, 2]), lambda ds: np.array([3, 2, 1])),
        (lambda ds: range(0, 8, 2), lambda ds: range(1, 8, 2)),
        (SequentialSampler, RandomSampler),
    ],
)
def test_a_state_of_another_sampler_is_refused(path, saved, other):
    dataset = jinx.open(path)
    state = Loader(dataset, 2, sampler=saved(dataset)).state_dict()
    Loader(dataset, 2, sampler=saved(dataset)).load_state_dict(state)
    with pytest.raises(InvalidError, match="the saved loader had sampler="):
        Loader(dataset, 2, sampler=other(dataset)).load_state_dict(state)


def test_ranks_go_on_from_the_state_of_one(path):
    dataset = jinx.open(path)
    state = Loader(dataset, 2, sampler=DistributedSampler(dataset, 2, 0)).state_dict()
    Loader(dataset, 2, sampler=DistributedSampler(dataset, 2, 1)).load_state_dict(state)


def test_a_state_of_other_batches_is_refused(path):
    dataset = jinx.open(path)
    state = Loader(dataset, batch_sampler=[[0, 1], [2]]).state_dict()
    Loader(dataset, batch_sampler=[[0, 1], [2]]).load_state_dict(state)
    for other in ([[0], [1, 2]], [[0, 1], [3]], BatchSampler(SequentialSampler(range(3)), 2, drop_last=False)):
        with pytest.raises(InvalidError, match="the saved loader had sampler="):
            Loader(dataset, batch_sampler=other).load_state_dict(state)


def fails_at_13(sample):
    if sample["id"] == 13:
        raise ValueError("thirteen")
    return sample


@pytest.mark.parametrize(
    "begin",
    [
        lambda ds: ds.iter_batches(4),
        lambda ds: Loader(ds, 4, num_workers=0),
        lambda ds: Loader(ds, 4, num_workers=2),
        lambda ds: ElasticLoader(ds, 4, shuffle=False),
        lambda ds: PackedDataLoader(
            ds, jinx.pack(np.ones(SAMPLES, int), max_length=8), encode=lambda sample: {"input_ids": [sample["id"]]}
        ),
    ],
)
def test_an_iteration_that_has_failed_does_not_seem_to_end(path, begin):
    iterator = iter(begin(jinx.open(path).map(fails_at_13)))
    with pytest.raises(ValueError, match="thirteen"):
        list(iterator)
    with pytest.raises(JinxError, match=r"an error has ended this iteration.*ValueError.*thirteen"):
        next(iterator)


@pytest.mark.parametrize(
    ("form", "mode", "exact"),
    [
        ("PNG", "RGB", True),
        ("PNG", "RGBA", True),
        ("PNG", "L", True),
        ("PNG", "LA", True),
        ("PNG", "P", True),
        ("PNG", "1", True),
        ("WEBP", "RGB", True),
        ("WEBP", "RGBA", True),
        ("JPEG", "RGB", False),
        ("JPEG", "L", False),
        ("JPEG", "CMYK", True),
        ("GIF", "L", True),
    ],
)
def test_pixels_are_those_of_pillow(tmp_path, form, mode, exact, workers):
    data = picture(7, form, mode)
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write({"image": data})
    expected = np.array(image.open(BytesIO(data)))
    dataset = jinx.open(tmp_path / "a.jinx", decode={"image": "numpy"})
    loader = Loader(jinx.open(tmp_path / "a.jinx"), None, decode={"image": "numpy"}, num_workers=workers)
    for found in (dataset[0]["image"], dataset.take([0])[0]["image"], next(iter(loader))["image"]):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        found[0, 0] = found[0, 0]  # may be written to
        # Decoders of JPEG may round differently.
        assert np.abs(found.astype(int) - expected.astype(int)).max() <= (0 if exact else 2)


def test_a_bad_image_is_named_or_left_out(tmp_path, workers):
    images = [picture(number, "JPEG") for number in range(6)]
    images[2] = images[2][: len(images[2]) // 2]
    images[4] = b"no image at all"
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        for number, data in enumerate(images):
            writer.write({"id": number, "image": data})
    dataset = jinx.open(tmp_path / "a.jinx", decode={"image": "numpy"})
    with pytest.raises(jinx.CorruptFileError, match="sample 2, column 'image'"):
        list(Loader(dataset, 3, num_workers=workers))
    loader = Loader(dataset, 3, num_workers=workers, on_error="skip")
    assert ids(loader) == [[0, 1], [3, 5]]
    assert [index for index, _ in loader.skipped] == [2, 4]
    assert all("column 'image'" in str(error) for _, error in loader.skipped)


def test_stopping_early_leaves_no_thread_behind(path):
    def readers() -> int:
        return sum(name.startswith("jinx-read") for name in thread_names())

    loader = Loader(jinx.open(path), 2, num_workers=3)
    for _ in range(20):
        next(iter(loader))
        with pytest.raises(KeyError):
            _ = [batch["nothing"] for batch in loader]
    deadline = threading.Event()
    for _ in range(3_000):
        if readers() == 0:
            break
        deadline.wait(0.01)
    assert readers() == 0


def thread_names() -> list[str]:
    names = []
    for task in Path("/proc/self/task").iterdir():
        # A thread that ends between the two is not found, or no such process.
        with suppress(FileNotFoundError, ProcessLookupError):
            names.append((task / "comm").read_text().strip())
    return names


def test_a_forked_process_reads_on(path):
    loader = Loader(jinx.open(path), 4, num_workers=2)
    iterator = iter(loader)
    first = next(iterator)["id"].tolist()
    pid = os.fork()
    if pid == 0:
        rest = [number for batch in iterator for number in batch["id"].tolist()]
        os._exit(0 if first + rest == list(range(SAMPLES)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert first + [number for batch in iterator for number in batch["id"].tolist()] == list(range(SAMPLES))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"batch_sampler": [[0]], "shuffle": True}, "batch_sampler excludes"),
        ({"sampler": [0], "shuffle": True}, "sampler excludes shuffle"),
        ({"batch_size": 0}, "batch_size=0: give"),
        ({"batch_size": None, "remainder": "drop"}, "no remainder to drop"),
        ({"on_error": "ignore"}, "on_error='ignore': give"),
        ({"prefetch_factor": 0}, "prefetch_factor=0"),
        ({"num_workers": -1}, "num_workers=-1"),
    ],
)
def test_arguments_that_exclude_each_other(path, arguments, says):
    with pytest.raises(ValueError, match=says):
        Loader(jinx.open(path), **arguments)


class FailsOnce:
    """`collate`, but for one batch."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, batch):
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("once")
        return collate(batch)


def test_a_batch_that_raised_is_the_next_one_of_a_resumed_loader(path, workers):
    options = {"batch_size": 5, "shuffle": True, "columns": ["id"], "num_workers": workers}
    loader = Loader(jinx.open(path), collate_fn=FailsOnce(3), **options)
    batches = iter(loader)
    seen = [number for _ in range(2) for number in next(batches)["id"].tolist()]
    with pytest.raises(RuntimeError, match="once"):
        next(batches)
    again = Loader(jinx.open(path), **options)
    again.load_state_dict(loader.state_dict())
    seen += [number for batch in again for number in batch["id"].tolist()]
    assert sorted(seen) == list(range(SAMPLES))


def test_a_loader_names_what_it_cannot_take(path):
    with pytest.raises(TypeError, match=r"open it first: jinx\.open"):
        Loader(str(path))
    for epoch, error in ((-1, ValueError), (1.5, TypeError), (None, TypeError)):
        with pytest.raises(error, match="epoch="):
            Loader(jinx.open(path)).set_epoch(epoch)
