"""Plans: every sample once, budgets kept, the same everywhere, from the index alone."""

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jinx
from jinx.errors import CorruptFileError, InvalidError, JinxError, LimitError, MismatchError

STRATEGIES = ["next_fit", "first_fit_decreasing", "best_fit_decreasing", "knapsack"]


def drawn(count: int = 5000, seed: int = 0) -> dict[str, np.ndarray]:
    """Sizes that look like those of a vision-language dataset."""
    random = np.random.default_rng(seed)
    images = random.integers(0, 4, count)
    text = np.clip(random.lognormal(5, 0.8, count), 1, 1500).astype(np.int64)
    patches = images * random.integers(2, 6, count) * 64
    return {"num_tokens": text + patches // 4, "num_images": images, "num_patches": patches}


def write(path: Path, sizes: dict[str, np.ndarray]) -> Path:
    with jinx.Writer(path) as writer:
        writer.write_many(
            {"image": bytes([i % 256]) * 100, **{name: int(column[i]) for name, column in sizes.items()}}
            for i in range(len(sizes["num_tokens"]))
        )
    return path


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("limits", [{}, {"max_images": 6}, {"max_images": 6, "max_patches": 3000}])
def test_every_sample_is_in_one_pack_and_budgets_hold(strategy, limits):
    sizes = drawn()
    plan = jinx.pack(sizes, 2048, strategy=strategy, window=1024, **limits)
    assert sorted(plan.positions.tolist()) == list(range(5000))
    for name, budget in plan.budgets.items():
        sums = [int(sizes[name][pack].sum()) for pack in plan]
        assert max(sums) <= budget
        assert plan.totals(name).tolist() == sums
        assert plan.totals(name, 3, 7).tolist() == sums[3:7]
    tokens = int(sizes["num_tokens"].sum())
    assert plan.efficiency == tokens / (len(plan) * 2048)
    assert all(len(pack) for pack in plan)
    assert plan[-1].tolist() == plan[len(plan) - 1].tolist()
    with pytest.raises(IndexError, match="out of range"):
        plan[len(plan)]


def test_better_strategies_make_fewer_packs():
    sizes = drawn(20_000)["num_tokens"]
    packs = [len(jinx.pack(sizes, 2048, strategy=strategy)) for strategy in STRATEGIES]
    bound = -(-int(sizes.sum()) // 2048)
    assert packs[0] > packs[1] >= packs[2] >= packs[3] >= bound
    assert packs[3] <= bound * 1.001


def test_two_budgets_come_near_their_bound():
    stats = jinx.pack(drawn(20_000), 2048, max_images=6).stats()
    assert stats.over_bound <= 0.02
    assert stats.packs == stats.volume_bound * (1 + stats.over_bound)


def test_a_plan_is_a_function_of_its_arguments():
    sizes = drawn()
    plan = jinx.pack(sizes, 2048, max_images=6, window=256, seed=4, epoch=2)
    again = jinx.pack(sizes, 2048, max_images=6, window=256, seed=4, epoch=2, threads=3)
    assert np.array_equal(plan.positions, again.positions)
    assert np.array_equal(plan.offsets, again.offsets)
    assert plan.fingerprint == again.fingerprint
    other = jinx.pack(sizes, 2048, max_images=6, window=256, seed=4, epoch=1).with_epoch(2)
    assert np.array_equal(plan.positions, other.positions)
    for changed in ({"seed": 5}, {"epoch": 3}, {"window": 257}, {"strategy": "next_fit"}):
        options = {"max_images": 6, "window": 256, "seed": 4, "epoch": 2, **changed}
        different = jinx.pack(sizes, 2048, **options)
        assert different.fingerprint != plan.fingerprint
        assert not np.array_equal(different.positions, plan.positions)


def test_the_packs_of_a_seed_stay_the_same():
    """Saved states rely on this; a packer that gives others has another PACKER_VERSION."""
    plan = jinx.pack(np.arange(1, 13), 30, window=8)
    assert [pack.tolist() for pack in plan] == [[9, 11, 7], [4], [10, 6, 8], [2, 3, 0, 5, 1]]
    two = jinx.pack({"num_tokens": np.arange(1, 13), "num_images": np.arange(12) % 4}, 30, max_images=6)
    assert [pack.tolist() for pack in two] == [[9, 7, 4, 6], [11, 0, 5, 10], [2, 3, 1, 8]]


def test_epochs_mix_samples_differently():
    sizes = drawn(2000)["num_tokens"]
    plans = [jinx.pack(sizes, 2048, epoch=epoch) for epoch in range(2)]
    together = [{(a, b) for pack in plan for a in pack.tolist() for b in pack.tolist() if a < b} for plan in plans]
    assert len(together[0] & together[1]) < 0.2 * len(together[0])


def test_without_a_seed_the_order_stays():
    plan = jinx.pack([3, 4, 5, 6, 1], 10, strategy="next_fit", seed=None)
    assert [pack.tolist() for pack in plan] == [[0, 1], [2], [3, 4]]


def test_the_numbers_of_the_blog_post():
    """Lengths 1 to 24 and a capacity of 100: greedy takes 4 packs, bin packing 3."""
    lengths = np.arange(1, 25)
    greedy = jinx.pack(lengths, 100, strategy="next_fit", seed=None)
    assert [lengths[pack].tolist() for pack in greedy] == [
        list(range(1, 14)),
        list(range(14, 20)),
        list(range(20, 24)),
        [24],
    ]
    packed = jinx.pack(lengths, 100, strategy="first_fit_decreasing", seed=None)
    assert [sorted(lengths[pack].tolist(), reverse=True) for pack in packed] == [
        [24, 23, 22, 21, 10],
        [20, 19, 18, 17, 16, 9, 1],
        [15, 14, 13, 12, 11, 8, 7, 6, 5, 4, 3, 2],
    ]
    assert len(jinx.pack(lengths, 100, seed=None)) == 3


def test_a_dataset_is_packed_by_its_index_alone(tmp_path):
    sizes = drawn(300)
    with jinx.open(write(tmp_path / "a.jinx", sizes)) as ds:
        plan = jinx.pack(ds, 2048, max_images=6)
        assert is_same(plan, jinx.pack(sizes, 2048, max_images=6))
        part = jinx.pack(ds[100:200], 2048, max_images=6)
        assert is_same(part, jinx.pack({k: v[100:200] for k, v in sizes.items()}, 2048, max_images=6))
        kept = jinx.pack(ds.select_columns(["num_tokens"]), 2048)
        assert list(kept.sizes) == ["num_tokens"]


def is_same(plan, other) -> bool:
    """Whether two plans hold the same packs."""
    return plan.positions.tolist() == other.positions.tolist() and plan.offsets.tolist() == other.offsets.tolist()


def bytes_read() -> int:
    """What this process has read from files, as the kernel counts it."""
    return int(Path("/proc/self/io").read_text().split("rchar:")[1].split()[0])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs the kernel's counters")
def test_nothing_is_read_or_decoded_while_planning(tmp_path):
    path = write(tmp_path / "a.jinx", drawn(3000))
    payload = (tmp_path / "a.binx").stat().st_size
    with jinx.open(path, io="pread") as ds:
        jinx.pack(ds[:1], 2048, max_images=6)  # imports
        # Every row and every value is damaged now, and reading one would be an error.
        (tmp_path / "a.binx").write_bytes(b"\xff" * payload)
        path.write_bytes(path.read_bytes().replace(b'{"image"', b'{"\xff\xff\xff\xff\xff"'))
        before = bytes_read()
        plan = jinx.pack(ds, 2048, max_images=6)
        index = sum(len(ds) * column.itemsize for column in plan.sizes.values())
        assert bytes_read() - before < index + 4096 < payload
        assert len(plan.positions) == 3000
        with pytest.raises(JinxError):
            ds[0].materialize()


def test_a_length_of_a_column_may_be_packed(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx", indexed=["len(ids)"]) as writer:
        writer.write_many({"ids": list(range(n))} for n in (3, 4, 5))
    with jinx.open(tmp_path / "a.jinx") as ds:
        assert jinx.pack(ds, 8, lengths="len(ids)").sizes["num_tokens"].tolist() == [3, 4, 5]


def test_a_plan_calls_no_function_that_gives_a_column(tmp_path):
    jinx.convert([{"id": i} for i in range(3)], tmp_path / "a.jinx")
    view = jinx.open(tmp_path / "a.jinx").with_columns({"num_tokens": lambda _: 1 // 0})
    for dataset in (view, view[::2], view + view):
        with pytest.raises(InvalidError, match="not in the index"):
            jinx.pack(dataset, 8)


def test_sizes_that_a_view_adds_as_a_list_are_planned(tmp_path):
    jinx.convert([{"id": i} for i in range(4)], tmp_path / "a.jinx")
    added = jinx.open(tmp_path / "a.jinx").with_columns({"num_tokens": [3, 1, 2, 5], "ids": [[1], [1, 2], [], [3]]})
    added.save(tmp_path / "view.jinx")
    for view in (added, jinx.open(tmp_path / "view.jinx")):
        assert jinx.pack(view, 8).sizes["num_tokens"].tolist() == [3, 1, 2, 5]
        assert jinx.pack(view, 8, lengths="len(ids)").sizes["num_tokens"].tolist() == [1, 2, 0, 1]
        with pytest.raises(InvalidError, match=r"'ids' is no number.*lengths='len\(ids\)'"):
            jinx.pack(view, 8, lengths="ids")
    with pytest.raises(InvalidError, match="num_tokens: sample 1 has no value"):
        jinx.pack(added.with_columns({"num_tokens": [3, None, 2, 5]}), 8)


def test_what_keeps_a_dataset_from_being_planned_is_named(tmp_path):
    jinx.convert([{"num_tokens": [7] * n} for n in range(3)], tmp_path / "a.jinx")
    dataset = jinx.open(tmp_path / "a.jinx")
    with pytest.raises(InvalidError, match=r"'num_tokens' is not in the index as numbers.*lengths='len\(num_tokens\)'"):
        jinx.pack(dataset, 8)
    assert jinx.pack(dataset, 8, lengths="len(num_tokens)").sizes["num_tokens"].tolist() == [0, 1, 2]
    with pytest.raises(InvalidError, match=r"calls no functions.* of map or with_transform"):
        jinx.pack(dataset.map(dict), 8, lengths="len(num_tokens)")


def test_what_cannot_be_planned_is_an_error_that_says_what_to_do(tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many({"num_tokens": n, "name": "a", "n": n or None} for n in range(3))
    (tmp_path / "a.jsonl").write_text('{"num_tokens": 3}\n')
    with jinx.open(tmp_path / "a.jinx") as ds:
        with pytest.raises(KeyError, match=r"no column 'num_images'.*jinx annotate"):
            jinx.pack(ds, 10, max_images=2)
        with pytest.raises(InvalidError, match="'name' is not in the index as numbers"):
            jinx.pack(ds, 10, lengths="name")
        with pytest.raises(InvalidError, match="sample 0 has no 'n'"):
            jinx.pack(ds, 10, lengths="n")
    with jinx.open(tmp_path / "a.jsonl") as ds, pytest.raises(InvalidError, match="a plan reads no samples"):
        jinx.pack(ds, 10)
    for bad, message in [
        ([1.5], "array of integers"),
        (np.ones((2, 2), dtype=int), "array of integers"),
        ([3, -1], "sample 1 has the size -1"),
        (np.ma.MaskedArray([1, 2], mask=[False, True]), "sample 1 has no value"),
        ({"num_tokens": [1, 2], "num_images": [1]}, "num_images has 1 values"),
    ]:
        with pytest.raises(InvalidError, match=message):
            jinx.pack(bad, 10)
    with pytest.raises(KeyError, match="num_frames"):
        jinx.pack({"num_tokens": [1]}, 10, budgets={"num_frames": 3})
    for options, message in [
        ({"strategy": "best_fit"}, "best_fit_decreasing"),
        ({"oversize": "split"}, "oversize"),
        ({"window": 0}, "window"),
        ({"max_images": 0}, "budget of 0 for num_images"),
        ({"seed": -1}, "seed=-1"),
        ({"weights": [1.0, 2.0]}, "2 weights for 1 sources"),
        ({"weights": [float("nan")]}, "a weight of nan"),
        ({"weights": [10**400]}, "a weight is too large"),
        ({"budgets": {"num_images": 2**32 - 1}}, "budget of 4294967295 for num_images is not between 1 and 4294967294"),
        ({"window": 10**30}, "window"),
        ({"threads": -1}, "threads=-1"),
        ({"threads": 10**30}, "threads"),
    ]:
        with pytest.raises(InvalidError, match=message):
            jinx.pack({"num_tokens": [1], "num_images": [1]}, 10, **options)


@pytest.mark.parametrize("weights", [[1e30, 1], [1e300, 1], [2.0**32, 0]])
def test_weights_that_ask_for_too_much_are_refused(weights):
    with pytest.raises(LimitError, match=r"more samples in an epoch than the 4,294,967,295 that a plan holds"):
        jinx.pack([[1], [1]], 10, weights=weights)


def test_a_size_beyond_32_bits_fits_no_budget():
    sizes = {"num_tokens": [1, 1], "area": [2**32 + 5, 2**32 - 2]}
    plan = jinx.pack(sizes, 10, budgets={"area": 2**32 - 2})
    assert (plan.positions.tolist(), plan.stats().dropped_oversize) == ([1], 1)


def test_samples_over_a_budget_follow_the_policy():
    sizes = {"num_tokens": [5, 0, 25, 7, 10], "num_images": [1, 0, 1, 9, 0]}
    plan = jinx.pack(sizes, 10, max_images=4)
    stats = plan.stats()
    assert sorted(plan.positions.tolist()) == [0, 4]
    assert (stats.dropped_empty, stats.dropped_oversize, stats.truncated) == (1, 2, 0)
    cut = jinx.pack(sizes, 10, max_images=4, oversize="truncate")
    assert sorted(cut.positions.tolist()) == [0, 2, 4]
    assert cut.sizes["num_tokens"].tolist() == [5, 0, 10, 7, 10]
    assert (cut.stats().dropped_oversize, cut.stats().truncated) == (1, 1)
    assert cut.with_epoch(1).stats().truncated == 1
    with pytest.raises(LimitError, match="sample 2 has num_tokens 25, more than the budget of 10"):
        jinx.pack(sizes, 10, max_images=4, oversize="error")


def test_no_samples_make_an_empty_plan(tmp_path):
    for source in ([], [0, 0], [99]):
        plan = jinx.pack(source, 10)
        assert (len(plan), list(plan), plan.efficiency, plan.stats().packs) == (0, [], 1.0, 0)
        assert len(plan.schedule(world_size=4)) == 0
        plan.save(tmp_path / "empty.jinx", overwrite=True)
        assert len(jinx.PackPlan.load(tmp_path / "empty.jinx")) == 0


def test_a_mixture_shows_each_source_as_often_as_asked(tmp_path):
    first, second = drawn(100, 1), drawn(60, 2)
    both = jinx.pack([first, second], 2048)
    assert both.num_samples == (100, 60)
    assert sorted(both.positions.tolist()) == list(range(160))
    ds = jinx.open(write(tmp_path / "a.jinx", first))
    weighted = [jinx.pack([ds, second["num_tokens"]], 2048, weights=[0.5, 2], epoch=epoch) for epoch in (0, 1)]
    times = [np.bincount(plan.positions, minlength=160) for plan in weighted]
    assert (times[0] + times[1])[:100].tolist() == [1] * 100
    assert times[0][100:].tolist() == [2] * 60
    assert list(weighted[0].sizes) == ["num_tokens"]


@pytest.mark.parametrize(("count", "weight"), [(3, 0.1), (5, 0.5), (7, 0.3), (10, 0.7), (4, 1.3), (3, 1 / 3), (9, 1.0)])
@pytest.mark.parametrize("seed", [0, None])
def test_weights_are_exact_over_epochs(count, weight, seed):
    """Not only in the long run: after any number of epochs each source was shown as often as asked."""
    times = np.zeros(count, dtype=int)
    for epoch in range(30):
        plan = jinx.pack([[1] * 4, [1] * count], 10, weights=[1, weight], seed=seed, epoch=epoch)
        times += np.bincount(plan.positions, minlength=4 + count)[4:]
        assert abs(times.sum() - weight * count * (epoch + 1)) <= 0.5 + 1e-9
        assert times.max() - times.min() <= 1
    again = jinx.pack([[1] * 4, [1] * count], 10, weights=[1, weight], seed=seed).with_epoch(29)
    assert is_same(again, plan)


FULL = {"num_tokens": 2000}


def test_packs_that_are_left_out_stay_out():
    draw = np.random.default_rng(1)
    sizes = {"num_tokens": draw.integers(300, 900, 600), "num_images": draw.integers(0, 3, 600) // 2}
    whole = jinx.pack(sizes, 2048, max_images=4)
    some = whole.only({"num_images": 1})
    for plan, every in ((some, whole), (some.with_epoch(1), whole.with_epoch(1))):
        has_image = every.totals("num_images") > 0
        assert 0 < len(plan) == has_image.sum() < len(every)
        assert plan.totals("num_images").min() == 1
        assert plan.fingerprint != every.fingerprint
        left = len(every.positions) - len(plan.positions)
        assert (plan.stats().dropped_filtered, every.stats().dropped_filtered) == (left, 0)
    assert some.with_epoch(1).with_epoch(0).fingerprint == some.fingerprint
    both = some.only(FULL)
    assert both.fingerprint == whole.only(FULL).only({"num_images": 1}).fingerprint == both.only(FULL).fingerprint
    assert len(both) < len(some)


def test_a_mask_is_of_one_epoch():
    whole = jinx.pack(drawn(600), 2048, max_images=4)
    mask = whole.totals("num_images") > 1
    some = whole.only(mask)
    assert [pack.tolist() for pack in some] == [whole[i].tolist() for i in np.flatnonzero(mask)]
    assert some.fingerprint != whole.fingerprint != whole.only(~mask).fingerprint != some.fingerprint
    with pytest.raises(InvalidError, match="a mask chose the packs of epoch 0, which says nothing"):
        some.with_epoch(1)
    for plan, other in ((some, whole), (whole, some)):
        with pytest.raises(MismatchError, match="mask is"):
            plan.schedule(resume=other.schedule().state(3))
    for wrong, told in ((mask[1:], "a bool for each of"), (mask.astype(int), "int64"), ({"frames": 1}, "'frames'")):
        with pytest.raises(InvalidError, match=told):
            whole.only(wrong)


def test_truncated_samples_of_packs_left_out_do_not_count():
    plan = jinx.pack({"num_tokens": [30, 3, 40], "num_images": [1, 0, 0]}, 10, oversize="truncate")
    assert plan.stats().truncated == 2
    some = plan.only({"num_images": 1})
    assert (some.stats().samples, some.stats().truncated, some.stats().dropped_filtered) == (1, 1, 2)


def test_samples_without_tokens_are_counted_in_each_way():
    """What an epoch draws is in a pack or counted as left out, once."""
    sizes = {"num_tokens": [0, 5, 0, 20, 3], "num_images": [9, 1, 0, 1, 9]}
    for oversize, expected in (("drop", (1, 2, 2)), ("truncate", (2, 2, 1))):
        stats = jinx.pack([sizes, sizes], 10, max_images=4, oversize=oversize, weights=[2, 1]).stats()
        assert (stats.samples, stats.dropped_empty, stats.dropped_oversize) == tuple(3 * n for n in expected)


def test_a_plan_is_saved_and_opened(tmp_path):
    plan = jinx.pack([drawn(400), drawn(50, 3)], 2048, max_images=6, weights=(1, 2), oversize="truncate", epoch=3)
    path = tmp_path / "plan.jinx"
    plan.save(path)
    opened = jinx.PackPlan.load(path)
    assert opened.fingerprint == plan.fingerprint
    assert opened.stats() == plan.stats()
    assert [pack.tolist() for pack in opened] == [pack.tolist() for pack in plan]
    assert opened.with_epoch(4).fingerprint == plan.with_epoch(4).fingerprint
    with pytest.raises(FileExistsError):
        plan.save(path)
    for one in (plan.only({"num_images": 2}), plan.only(np.arange(len(plan)) % 2 == 0)):
        one.save(path, overwrite=True)
        assert jinx.PackPlan.load(path).fingerprint == one.fingerprint != plan.fingerprint
        assert jinx.PackPlan.load(path).stats() == one.stats()
    plan.with_epoch(5).save(path, overwrite=True)
    # A name without a suffix would be a directory, and could be that of a dataset.
    with pytest.raises(ValueError, match="a plan is one file"):
        plan.save(tmp_path / "shards", overwrite=True)
    assert jinx.PackPlan.load(path).epoch == 5
    copied = pickle.loads(pickle.dumps(plan))
    assert copied.fingerprint == plan.fingerprint


def test_a_file_that_is_no_possible_plan_is_refused(tmp_path):
    plan = jinx.pack(drawn(400), 2048, max_images=6)
    plan.save(tmp_path / "plan.jinx")
    sample = jinx.open(tmp_path / "plan.jinx")[0].to_dict()

    def load(**changed):
        with jinx.Writer(tmp_path / "changed.jinx", overwrite=True) as writer:
            writer.write({**sample, **changed})
        return jinx.PackPlan.load(tmp_path / "changed.jinx")

    assert load().fingerprint == plan.fingerprint
    offsets, positions = sample["offsets"].copy(), sample["positions"].copy()
    offsets[1] = offsets[2]
    twice = positions.copy()
    twice[:] = int(np.argmax(sample["sizes"]["num_tokens"]))
    far = positions.copy()
    far[0] = 400
    for changed in (
        {"offsets": offsets},
        {"positions": far},
        {"positions": twice},
        {"positions": positions[:-1]},
        {"positions": positions.astype(np.int64)},
        {"left_out": [1]},
        {"fingerprint": "0" * 32},
        {"sizes": {"num_tokens": sample["sizes"]["num_tokens"]}},
        {"plan": {**sample["plan"], "window": 5}},
        {"plan": {**sample["plan"], "unknown": 5}},
        {"plan": {**sample["plan"], "least": {"num_tokens": 2048}}},
        {"plan": {**sample["plan"], "least": {"frames": 1}}},
        {"plan": {**sample["plan"], "sources": [5]}},
        {"plan": {name: value for name, value in sample["plan"].items() if name != "sources"}},
        {"plan": 3},
    ):
        with pytest.raises(CorruptFileError, match=r"changed\.jinx: .*(plan|pack)"):
            load(**changed)
    with pytest.raises(MismatchError, match="another version of the packer"):
        load(plan={**sample["plan"], "packer": 0})
    write(tmp_path / "data.jinx", drawn(3))
    with pytest.raises(InvalidError, match="is not a plan"):
        jinx.PackPlan.load(tmp_path / "data.jinx")


def test_the_fields_that_differ_are_named():
    sizes = drawn(100)
    plan = jinx.pack(sizes, 2048)
    plan.require(json.loads(json.dumps(plan.identity)))
    with pytest.raises(MismatchError, match=r"seed is 0 and was 9$"):
        plan.require(jinx.pack(sizes, 2048, seed=9).identity)
    with pytest.raises(MismatchError, match=r"sizes is .*budgets is .*2048.*4096"):
        plan.require(jinx.pack({"num_tokens": sizes["num_tokens"]}, 4096).identity)


def test_arrays_of_a_plan_cannot_be_changed():
    plan = jinx.pack([1, 2, 3], 10)
    for array in (plan.positions, plan.offsets, plan.sizes["num_tokens"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_callers_array_stays_writable():
    lengths = np.array([1, 2, 3], dtype=np.uint32)
    jinx.pack(lengths, 10)
    lengths[0] = 5


def test_packing_does_not_hold_the_gil_and_can_be_interrupted():
    code = (
        "import _thread, signal, threading, numpy as np, jinx\n"
        # Background jobs of a shell ignore SIGINT, and what they start inherits that.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "lengths = np.tile(np.arange(1, 900, dtype=np.uint32), 20_000)\n"
        "threading.Timer(0.3, _thread.interrupt_main).start()\n"
        "try:\n    jinx.pack(lengths, 4096, max_images=None, threads=1)\n"
        "except KeyboardInterrupt:\n    print('interrupted')"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, env=os.environ)
    assert done.stdout.strip() == "interrupted", done.stderr


def test_packs_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    plan = jinx.pack(drawn(200), 2048, max_images=6)
    plan.plot(tmp_path / "packs.svg", packs=5, tokens_per_image=64)
    text = (tmp_path / "packs.svg").read_text()
    assert f"{len(plan):,} packs, {plan.efficiency:.2%} useful; the first 5" in text
    jinx.pack([], 10).plot(tmp_path / "none.png")


def test_totals_and_packs_count_from_the_end_as_lists_do():
    plan = jinx.pack(drawn(), 2048)
    sums = plan.totals("num_tokens").tolist()
    for start, stop in ((-3, None), (-5, -2), (-(10**9), 2), (4, 10**9), (6, 2)):
        assert plan.totals("num_tokens", start, stop).tolist() == sums[start:stop]
    assert plan[-1].tolist() == plan[len(plan) - 1].tolist()
    with pytest.raises(TypeError, match="slice"):
        plan[0:2]


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"max_length": None}, TypeError, "NoneType"),
        ({"strategy": None}, InvalidError, "strategy=None is not known"),
        ({"oversize": 5}, InvalidError, "oversize=5 is not known"),
        ({"lengths": None}, TypeError, "lengths=None"),
        ({"budgets": [("num_images", 3)]}, TypeError, "budgets="),
        ({"source": "train.jinx"}, TypeError, r"not of a path: jinx.open\('train.jinx'\)"),
        ({"source": [[1, 2], Path("train.jinx")]}, TypeError, r"source 1: .*jinx.open\('train.jinx'\)"),
    ],
)
def test_arguments_of_the_wrong_type_are_named(options, error, told):
    with pytest.raises(error, match=told):
        jinx.pack(**{"source": drawn(10), "max_length": 2048, **options})


@pytest.mark.parametrize(
    ("balance", "error"),
    [(5, TypeError), ({"num_tokens": float("nan")}, InvalidError), ({"num_tokens": 1e999}, InvalidError)],
)
def test_balance_is_made_of_finite_numbers(balance, error):
    with pytest.raises(error, match="balance"):
        jinx.pack(drawn(10), 2048).schedule(balance=balance)


def test_a_plan_longer_than_values_of_datasets_are_is_saved_and_opened(tmp_path, monkeypatch):
    """Positions of 2**29 samples are 2 GiB, the limit of values of datasets; a test has no room for them."""
    import jinx._writer as writing
    from jinx import _open

    limits = []

    def noted(real):
        def call(*given, **options):
            limits.append(options.get("max_value_bytes"))
            return real(*given, **options)

        return call

    monkeypatch.setattr(writing, "Writer", noted(writing.Writer))
    monkeypatch.setattr(_open, "open", noted(_open.open))
    jinx.pack([3, 4, 5], 8).save(tmp_path / "plan.jinx")
    assert jinx.PackPlan.load(tmp_path / "plan.jinx")[0].tolist()
    assert all(limit > 2**32 * 8 for limit in limits)
    assert len(limits) == 2


def test_lengths_have_no_order(tmp_path):
    with jinx.Writer(tmp_path / "data.jinx", indexed=["n", "-m", "len(ids)"]) as writer:
        writer.write({"n": 3, "-m": 4, "ids": [1, 2]})
    ds = jinx.open(tmp_path / "data.jinx")
    for name in ("-n", "-len(ids)"):
        with pytest.raises(InvalidError, match=f"'{re.escape(name)}': lengths have no order; leave out the minus"):
            jinx.pack(ds, 8, lengths=name)
    assert jinx.pack(ds, 8, lengths="-m").stats().tokens == 4
