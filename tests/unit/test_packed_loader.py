"""`jinx.torch.PackedDataLoader`: each sample once for any ranks and workers, exact resumption, batches, bad samples."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import chat
import jinx

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
pytest.importorskip("PIL.Image")

from jinx.torch import PackedDataLoader, PackedDataset, TrainingSample  # noqa: E402

# More workers than this machine may have cores.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")
COUNT, LENGTH, IMAGES = 150, 64, 4
RULE = "fixed:4"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    chat.write_tokenizer(folder / "tokenizer")
    chat.write_chat(folder / "chat.jinx", COUNT, images=2)
    for name, tokens in (("lengths", False), ("tokens", True)):
        out = folder / f"{name}.jinx"
        jinx.annotate(folder / "chat.jinx", out, tokenizer=folder / "tokenizer", image_rule=RULE, tokens=tokens)
    return folder


@pytest.fixture(scope="module")
def dataset(folder):
    return jinx.open(folder / "tokens.jinx")


@pytest.fixture(scope="module")
def plan(dataset):
    return jinx.pack(dataset, LENGTH, max_images=IMAGES, window=64, seed=3)


def packs_of(loader) -> list[list[int]]:
    """The packs of a loader as sorted samples, fillers left out."""
    found = []
    for batch in loader:
        for row in batch["sequence_ids"]:
            numbers = sorted({int(number) for number in row if number})
            found.append(sorted(batch["sample_ids"][[number - 1 for number in numbers]].tolist()))
    return [pack for pack in found if pack]


def loaders(dataset, plan, world, **options):
    return [PackedDataLoader(dataset, plan, rank=rank, world_size=world, **options) for rank in range(world)]


@pytest.mark.parametrize("world", [1, 2, 8])
@pytest.mark.parametrize(("workers", "how"), [(0, "threads"), (3, "threads"), (3, "processes")])
def test_each_sample_once_in_the_same_packs(dataset, plan, world, workers, how):
    if how == "processes" and world == 8:
        world = 3  # enough processes
    every = loaders(dataset, plan, world, num_workers=workers, workers=how)
    assert len({len(loader) for loader in every}) == 1
    packs = [pack for loader in every for pack in packs_of(loader)]
    assert sorted(packs) == sorted(sorted(pack.tolist()) for pack in plan)
    assert sorted(sample for pack in packs for sample in pack) == list(range(COUNT))
    assert all(loader.epoch == 1 for loader in every)


def take(loader, batches: int) -> list[list[int]]:
    found = []
    iterator = iter(loader)
    for _ in range(batches):
        found += packs_of([next(iterator)])
    iterator.close()
    return found


@pytest.mark.parametrize("balance", ["auto", None])
def test_another_world_resumes_exactly(dataset, plan, balance):
    """Twice, in the middle of a window, with other batch sizes, accumulation and workers."""
    expected = sorted(sorted(pack.tolist()) for pack in plan)
    worlds = [
        (2, {"num_workers": 0}, 3),
        (3, {"num_workers": 2, "batch_size": 2}, 1),
        (1, {"num_workers": 1, "batch_size": 3, "accumulation": 2}, 2),
    ]
    state, seen = None, []
    for world, options, batches in worlds:
        states = []
        for loader in loaders(dataset, plan, world, balance=balance, **options):
            if state is not None:
                loader.load_state_dict(pickle.loads(pickle.dumps(state)))  # as a checkpoint keeps it
            seen += take(loader, batches)
            states.append(loader.state_dict())
        assert all(one == states[0] for one in states)
        state = states[0]
    for loader in loaders(dataset, plan, 5, balance=balance, num_workers=0):
        loader.load_state_dict(state)
        assert loader.remaining <= len(loader)
        seen += packs_of(loader)
    assert sorted(seen) == expected


def test_a_loader_resumes_with_the_next_batch(dataset, plan):
    whole = list(PackedDataLoader(dataset, plan, num_workers=2))
    first = PackedDataLoader(dataset, plan, num_workers=3, prefetch_factor=4)
    for step, _batch in enumerate(first, 1):
        if step == 4:
            break
    second = PackedDataLoader(dataset, plan, num_workers=2, workers="processes")
    second.load_state_dict(first.state_dict())
    rest = list(second)
    assert len(rest) == len(whole) - 4
    for one, other in zip(whole[4:], rest, strict=True):
        assert all(one[name].equal(other[name]) for name in ("input_ids", "labels", "position_ids", "cu_seqlens"))
    assert second.epoch == 1
    # At the end of an epoch the state is the beginning of the next.
    third = PackedDataLoader(dataset, plan, num_workers=0)
    third.load_state_dict(second.state_dict())
    assert third.epoch == 1
    assert packs_of(third) != packs_of(PackedDataLoader(dataset, plan, num_workers=0))


def test_a_state_of_another_plan_is_refused(dataset, plan):
    state = PackedDataLoader(dataset, plan, num_workers=0).state_dict()
    for other, told in (
        ({"max_length": LENGTH, "max_images": IMAGES, "window": 64, "seed": 4}, "seed"),
        ({"max_length": LENGTH + 1, "max_images": IMAGES, "window": 64, "seed": 3}, "budgets"),
    ):
        with pytest.raises(jinx.MismatchError, match=told):
            PackedDataLoader(dataset, other, num_workers=0).load_state_dict(state)
    fewer = dataset[:100]
    with pytest.raises(jinx.MismatchError, match="samples"):
        PackedDataLoader(fewer, {"max_length": LENGTH}, num_workers=0).load_state_dict(state)
    with pytest.raises(jinx.MismatchError, match="150 samples, the dataset has 100"):
        PackedDataLoader(fewer, plan)
    with pytest.raises(jinx.InvalidError, match="not the state"):
        PackedDataLoader(dataset, plan).load_state_dict({"epoch": 0})


def test_a_state_of_other_lengths_is_refused(dataset):
    before, after = (jinx.pack(np.full(COUNT, tokens), 64) for tokens in (20, 21))

    def encode(sample):
        return {"input_ids": [1] * 20}

    state = PackedDataLoader(dataset, before, encode=encode).state_dict()
    with pytest.raises(jinx.MismatchError, match="sizes is"):
        PackedDataLoader(dataset, after, encode=encode).load_state_dict(state)


def test_a_plan_of_nothing_gives_nothing(dataset):
    plan = jinx.pack(np.full(COUNT, 100), 64, oversize="drop")
    for how in ({"num_workers": 0}, {"num_workers": 2}, {"num_workers": 1, "workers": "processes"}):
        loader = PackedDataLoader(dataset, plan, encode=fail_at_7, **how)
        assert (len(loader), list(loader), loader.epoch) == (0, [], 1)


def test_the_batch(dataset, plan):
    loader = PackedDataLoader(dataset, plan, num_workers=1, batch_size=2, attention_mask="block")
    steps = 0
    for batch in loader:
        steps += 1
        ids, labels, places, owners = (batch[name] for name in ("input_ids", "labels", "position_ids", "sequence_ids"))
        assert ids.shape == labels.shape == places.shape == owners.shape == (2, LENGTH)
        assert all(tensor.dtype == torch.int64 for tensor in (ids, labels, places, owners))
        assert batch["cu_seqlens"].dtype == torch.int32
        lengths = batch["cu_seqlens"].diff()
        assert (int(lengths.max()), int(batch["cu_seqlens"][-1])) == (batch["max_seqlen"], 2 * LENGTH)
        for number, sample in enumerate(batch["sample_ids"].tolist(), 1):
            rows, columns = torch.where(owners == number)
            assert len(set(rows.tolist())) == 1
            stored = dataset[sample]
            expected = torch.from_numpy(stored["input_ids"].astype(np.int64))
            assert ids[rows, columns].equal(expected)
            assert places[rows, columns].tolist() == list(range(len(expected)))
            counted = torch.from_numpy(stored["label_mask"])
            assert labels[rows, columns].equal(torch.where(counted, expected, -100))
            images = [
                image
                for image, owner in zip(batch["images"], batch["image_sequence_ids"], strict=True)
                if owner == number
            ]
            assert images == stored["images"]
        padding = owners == 0
        assert (labels[padding] == -100).all()
        assert batch["num_tokens"] == int((~padding).sum())
        assert batch["num_label_tokens"] == int((labels != -100).sum())
        mask = batch["attention_mask"][:, 0]
        assert mask.shape == (2, LENGTH, LENGTH)
        assert mask.any(-1).all()
        assert not mask.triu(1).any()
        assert (owners[:, :, None] == owners[:, None, :])[mask].all()
    assert steps == len(loader)
    stats = loader.stats()
    assert (stats.samples, stats.dropped, stats.truncated, stats.skipped) == (COUNT, 0, 0, 0)
    assert stats.tokens == int(dataset["num_tokens"].sum())
    assert stats.occupancy == stats.tokens / (stats.packs * LENGTH)


def test_labels_of_a_step_are_those_of_all_ranks(dataset, plan):
    every = [list(one) for one in loaders(dataset, plan, 2, num_workers=0, accumulation=3, batch_size=2)]
    for step in range(len(every[0]) // 3):
        batches = [batch for rank in every for batch in rank[3 * step : 3 * step + 3]]
        total = sum(batch["num_label_tokens"] for batch in batches)
        assert {batch["num_label_tokens_step"] for batch in batches} == {total}


def test_padding_free(dataset, plan):
    for batch in PackedDataLoader(dataset, plan, num_workers=0, batch_size=3, padding_free=True):
        assert batch["input_ids"].shape == (1, max(batch["num_tokens"], 1))
        lengths = dataset["num_tokens"][batch["sample_ids"].numpy()]
        assert batch["cu_seqlens"].diff().tolist() == (lengths.tolist() or [1])


@pytest.mark.parametrize(
    "how",
    [
        {"num_workers": 2},
        {"num_workers": 2, "workers": "processes"},
        pytest.param(
            {"num_workers": 2, "workers": "processes", "multiprocessing_context": "spawn"}, marks=pytest.mark.slow
        ),
    ],
)
def test_the_tokenizer_gives_what_was_stored(folder, dataset, plan, how):
    lengths = jinx.open(folder / "lengths.jinx")
    options = {"tokenizer": folder / "tokenizer", "image_rule": RULE}
    stored = list(PackedDataLoader(dataset, plan, num_workers=0))
    made = list(PackedDataLoader(lengths, plan, **how, **options))
    for one, other in zip(stored, made, strict=True):
        assert one["labels"].equal(other["labels"])
        assert one["input_ids"].equal(other["input_ids"])
        assert one["images"] == other["images"]


def test_another_recipe_is_refused(folder, plan):
    lengths = jinx.open(folder / "lengths.jinx")
    with pytest.raises(jinx.MismatchError, match=r"image rule 'fixed:tokens=4,patches=0' then, 'fixed:tokens=5,.* now"):
        PackedDataLoader(lengths, plan, tokenizer=folder / "tokenizer", image_rule="fixed:5")
    chat.write_tokenizer(folder / "other", template=chat.TEMPLATE + "<s>")
    with pytest.raises(jinx.MismatchError, match=r"chat template \([0-9a-f]{12}\) then, \([0-9a-f]{12}\) now;"):
        PackedDataLoader(lengths, plan, tokenizer=folder / "other", image_rule=RULE)
    with pytest.raises(KeyError, match="no token ids"):
        PackedDataLoader(lengths, plan)


@pytest.mark.parametrize("oversize", ["truncate", "drop", "error"])
def test_samples_longer_than_planned_never_break_the_budget(tmp_path, oversize):
    rows = [{"ids": list(range(1, 11))} for _ in range(8)]
    with jinx.Writer(tmp_path / "rows.jinx") as writer:
        writer.write_many(rows)
    dataset = jinx.open(tmp_path / "rows.jinx")
    plan = jinx.pack(np.full(8, 5), 10)
    loader = PackedDataLoader(
        dataset, plan, num_workers=0, encode=lambda sample: {"input_ids": sample["ids"]}, oversize=oversize
    )
    if oversize == "error":
        with pytest.raises(jinx.LimitError, match=r"sample \d: 10 tokens where its pack has room for 0"):
            list(loader)
        return
    batches = list(loader)
    assert {batch["num_tokens"] for batch in batches} == {10}
    assert loader.stats().dropped == 4
    tight = PackedDataLoader(
        dataset,
        jinx.pack(np.full(8, 4), 8),
        num_workers=0,
        encode=lambda s: {"input_ids": s["ids"]},
        oversize=oversize,
    )
    assert {batch["num_tokens"] for batch in tight} == ({8} if oversize == "truncate" else {0})
    assert tight.stats().truncated == (4 if oversize == "truncate" else 0)


def fail_at_7(sample):
    if sample["id"] == 7:
        raise KeyError("no such thing")
    return {"input_ids": list(range(sample["id"] % 5 + 1))}


def die_at_7(sample):
    if sample["id"] == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"input_ids": [1, 2]}


@pytest.mark.parametrize("how", [{"num_workers": 0}, {"num_workers": 2}, {"num_workers": 2, "workers": "processes"}])
def test_an_error_names_the_sample(dataset, how):
    plan = jinx.pack(np.arange(COUNT) % 5 + 1, 16)
    with pytest.raises(jinx.InvalidError, match=r"^sample 7: KeyError: 'no such thing'$") as raised:
        list(PackedDataLoader(dataset, plan, encode=fail_at_7, **how))
    assert raised.value.sample == 7
    loader = PackedDataLoader(dataset, plan, encode=fail_at_7, on_error="skip", **how)
    packs = packs_of(loader)
    assert sorted(sample for pack in packs for sample in pack) == [i for i in range(COUNT) if i != 7]
    assert [error.sample for error in loader.skipped] == [7]
    assert loader.stats().skipped == 1


@pytest.mark.parametrize("loader", [PackedDataLoader, PackedDataset])
def test_a_plan_of_other_samples_is_refused(tmp_path, loader):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many({"num_tokens": i % 7 + 1} for i in range(30))
    ds = jinx.open(tmp_path / "a.jinx")
    plan = jinx.pack(ds, 16)
    with pytest.raises(jinx.MismatchError, match="in another order"):
        loader(ds.shuffle(seed=1), plan, encode=fail_at_7)
    with pytest.raises(jinx.MismatchError, match="30 samples, the dataset has 20"):
        loader(ds[:20], plan, encode=fail_at_7)
    with pytest.raises(TypeError, match="not NoneType"):
        loader(ds, None, encode=fail_at_7)
    assert len(loader(ds, plan, encode=fail_at_7)) == len(plan)


def test_a_killed_worker_is_an_error(dataset):
    plan = jinx.pack(np.full(COUNT, 2), 16)
    with pytest.raises(RuntimeError, match="ended by the system"):
        list(PackedDataLoader(dataset, plan, encode=die_at_7, num_workers=2, workers="processes"))


def test_a_loop_that_stops_early_leaves_no_thread(dataset, plan):
    loader = PackedDataLoader(dataset, plan, num_workers=3)
    for _batch in loader:
        break
    del _batch
    import gc

    gc.collect()
    assert [thread.name for thread in threading.enumerate() if thread.name == "jinx-packs"] == []


def test_fillers_are_empty_and_counted(dataset, plan):
    every = loaders(dataset, plan, 7, num_workers=0)
    batches = [list(one) for one in every]
    fillers = [batch for rank in batches for batch in rank if not len(batch["sample_ids"])]
    assert len(fillers) == -len(plan) % 7
    assert all((batch["labels"] == -100).all() and batch["num_label_tokens"] == 0 for batch in fillers)
    assert sum(one.stats().fillers for one in every) == len(fillers)
    logits = torch.zeros(1, LENGTH, 9)
    for batch in fillers:
        assert jinx.torch.token_loss(logits, batch["labels"], batch["num_label_tokens_step"]).item() == 0
    assert sum(len(one) for one in loaders(dataset, plan, 7, num_workers=0, drop_last=True)) == len(plan) // 7 * 7


def test_packs_without_images(dataset):
    plan = jinx.pack(dataset, 24, max_images=1, oversize="drop")
    without = [pack.tolist() for pack in plan if not dataset["num_images"][pack].any()]
    assert without
    with pytest.raises(jinx.InvalidError, match=rf"{len(without)} of {len(plan)} packs have no image"):
        PackedDataLoader(dataset, plan, without_images="error")
    every = loaders(dataset, plan, 2, num_workers=0, without_images="drop")
    packs = [pack for one in every for pack in packs_of(one)]
    kept = [sorted(pack.tolist()) for pack in plan if dataset["num_images"][pack].any()]
    assert sorted(packs) == sorted(kept)
    with pytest.raises(jinx.InvalidError, match="without_images='drop'"):
        PackedDataLoader(dataset, plan).load_state_dict(every[0].state_dict())
    for batch in PackedDataLoader(dataset, plan, num_workers=0, filler_image=b"black"):
        assert batch["images"]
        if batch["images"] == [b"black"]:
            assert batch["image_sequence_ids"].tolist() == [0]


def test_set_epoch_gives_other_packs_of_the_same_samples(dataset, plan):
    loader = PackedDataLoader(dataset, plan, num_workers=0)
    first = packs_of(loader)
    loader.set_epoch(0)
    assert packs_of(loader) == first
    loader.set_epoch(5)
    other = packs_of(loader)
    assert sorted(map(tuple, other)) != sorted(map(tuple, first))
    assert sorted(sample for pack in other for sample in pack) == list(range(COUNT))


def test_mixtures(dataset):
    parts = [dataset[:50], dataset[50:]]
    loader = PackedDataLoader(parts, {"max_length": LENGTH, "weights": [2, 0.5]}, num_workers=0)
    seen = [sample for pack in packs_of(loader) for sample in pack]
    assert sorted(sample for sample in seen if sample < 50) == sorted([*range(50)] * 2)
    assert len([sample for sample in seen if sample >= 50]) == 50


def test_packs_for_other_loaders(dataset, plan):
    packs = PackedDataset(dataset, plan)
    item = packs[2]
    assert item["input_ids"] == [int(t) for i in plan[2] for t in dataset[int(i)]["input_ids"]]
    assert item["position_ids"] == [place for length in item["seq_lengths"] for place in range(length)]
    loader = torch.utils.data.DataLoader(packs, 2, collate_fn=packs.collate, num_workers=1)
    batches = list(loader)
    assert len(batches) == -(-len(plan) // 2)
    assert sorted(i for batch in batches for i in batch["sample_ids"].tolist()) == list(range(COUNT))
    assert packs.plan is plan
    packs.set_epoch(1)
    assert packs.plan.epoch == 1


def test_a_collate_function_of_ones_own(dataset, plan):
    def lengths(packs):
        assert all(isinstance(sample, TrainingSample) for pack in packs for sample in pack)
        return [[len(sample.input_ids) for sample in pack] for pack in packs]

    for batch in PackedDataLoader(dataset, plan, num_workers=0, collate_fn=lengths):
        assert all(sum(pack) <= LENGTH for pack in batch)


def test_wrong_arguments_say_what_to_give(dataset, plan):
    for options, error, told in (
        ({"tokeniser": "x"}, TypeError, "did you mean 'tokenizer'"),
        ({"workers": "thread"}, ValueError, "'threads' or 'processes'"),
        ({"oversize": "cut"}, ValueError, "'truncate', 'drop', 'error'"),
        ({"image_rule": "fixed:4"}, ValueError, "only together with tokenizer="),
        ({"encode": len, "tokenizer": "x"}, ValueError, "excludes tokenizer"),
        ({"rank": 1}, ValueError, "both, or neither"),
        ({"rank": 2, "world_size": 2}, ValueError, "ranks count from 0"),
        ({"without_images": "skip"}, ValueError, "'keep', 'drop' or 'error'"),
    ):
        with pytest.raises(error, match=told):
            PackedDataLoader(dataset, plan, **options)


RANK = """
import json, os, sys
import torch
import jinx, jinx.torch
torch.distributed.init_process_group("gloo")
path, out, stop = sys.argv[1], sys.argv[2], int(sys.argv[3])
ds = jinx.open(path)
loader = jinx.torch.PackedDataLoader(ds, {"max_length": 64, "max_images": 4, "window": 64, "seed": 3}, num_workers=1)
if os.path.exists(f"{out}/state.json"):
    loader.load_state_dict(json.load(open(f"{out}/state.json")))
torch.distributed.barrier()
seen, steps = [], 0
for batch in loader:
    everyone = torch.tensor([1])
    torch.distributed.all_reduce(everyone)  # as gradients: a rank with fewer batches would hang
    seen += batch["sample_ids"].tolist()
    steps += 1
    if steps == stop:
        break
rank = loader.rank
print(json.dumps(seen), file=open(f"{out}/seen-{loader.world_size}-{rank}.json", "w"))
if rank == 0:
    print(json.dumps(loader.state_dict()), file=open(f"{out}/state.json", "w"))
torch.distributed.barrier()
if stop:
    os.kill(os.getpid(), 9)
torch.distributed.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_ranks_resume_at_another_world_size(folder, tmp_path):
    (tmp_path / "rank.py").write_text(RANK, "utf-8")

    def run(world: int, stop: int, port: int) -> list[int]:
        environment = {**os.environ, "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        command = [sys.executable, str(tmp_path / "rank.py"), str(folder / "tokens.jinx"), str(tmp_path), str(stop)]
        ranks = [subprocess.Popen(command, env={**environment, "RANK": str(rank)}) for rank in range(world)]
        assert [process.wait(200) for process in ranks] == [-9 if stop else 0] * world
        files = [tmp_path / f"seen-{world}-{rank}.json" for rank in range(world)]
        return [sample for file in files for sample in json.loads(file.read_text("utf-8"))]

    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    first, rest = run(2, 5, port), run(3, 0, port)
    assert first
    assert sorted(first + rest) == list(range(COUNT))
