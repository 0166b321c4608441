"""Plans and states of loaders belong to the samples that they were made with, and to no others."""

import json
from pathlib import Path

import numpy as np
import pytest

import jinx
from jinx.errors import InvalidError, MismatchError

torch = pytest.importorskip("torch")

from jinx.torch import ElasticLoader, Loader, PackedDataLoader, PackedDataset  # noqa: E402

COUNT = 60


def write(path: Path, lengths, first: int = 0) -> jinx.Dataset:
    with jinx.Writer(path, indexed=["num_tokens"]) as writer:
        writer.write_many({"id": first + i, "num_tokens": int(n)} for i, n in enumerate(lengths))
    return jinx.open(path)


def encode(sample):
    return {"input_ids": [1] * sample["num_tokens"]}


LENGTHS = np.random.default_rng(0).integers(2, 20, COUNT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("identity")


@pytest.fixture(scope="module")
def first(folder):
    return write(folder / "first.jinx", LENGTHS)


@pytest.fixture(scope="module")
def second(folder):
    """As many samples, of other lengths."""
    return write(folder / "second.jinx", LENGTHS + 1, first=1000)


@pytest.fixture(scope="module")
def twin(folder):
    """Other samples of the same lengths."""
    return write(folder / "twin.jinx", LENGTHS, first=1000)


packers = pytest.mark.parametrize("loader", [PackedDataLoader, PackedDataset])


@packers
def test_a_plan_of_another_dataset_is_refused(first, second, twin, loader):
    plan = jinx.pack(first, 32)
    for other in (second, twin):
        with pytest.raises(MismatchError, match="the plan is for other files than those of this dataset"):
            loader(other, plan, encode=encode)
    for other in (first.shuffle(seed=1), first.sort("-num_tokens"), first.select([0] * COUNT)):
        with pytest.raises(MismatchError, match="other samples of these files, or for the same in another order"):
            loader(other, plan, encode=encode)
    with pytest.raises(MismatchError, match="60 samples, the dataset has 59"):
        loader(first[1:], plan, encode=encode)
    for same in (first, first.select_columns(["num_tokens"]), first.map(dict)):
        assert len(loader(same, plan, encode=encode).plan) == len(plan)


@packers
def test_a_plan_of_lengths_that_changed_is_refused(first, folder, loader):
    """The files are the same, and another view of them counts otherwise."""
    views = []
    for name, more in (("then", 0), ("now", 3)):
        view = first.select_columns(["id"]).with_columns({"num_tokens": LENGTHS + np.arange(COUNT) // 50 * more})
        view.save(folder / f"{name}-{loader.__name__}.jinx")
        views.append(jinx.open(folder / f"{name}-{loader.__name__}.jinx"))
    plan = jinx.pack(views[0], 32)
    told = rf"num_tokens of 10 of 60 samples differs, of sample 50 it was {LENGTHS[50]} and is {LENGTHS[50] + 3}"
    with pytest.raises(MismatchError, match=told):
        loader(views[1], plan, encode=encode)
    with pytest.raises(MismatchError, match=r"other lengths \(source 1\): num_tokens of 10 of 60"):
        loader([first, views[1]], jinx.pack([first, views[0]], 32), encode=encode)
    assert len(loader(views[0], plan, encode=encode).plan) == len(plan)


REPLACED = {
    "array": np.array,
    "list": list,
    "function": lambda values: lambda sample: values[sample["id"]],
    "masked": lambda values: np.ma.MaskedArray(values, mask=[False] * (COUNT - 1) + [True]),
    "none": lambda values: [*values[:-1], None],
    "strings": lambda values: list(map(str, values)),
}


@packers
@pytest.mark.parametrize("column", REPLACED.values(), ids=REPLACED)
@pytest.mark.parametrize("is_mapped", [False, True])
def test_a_plan_of_lengths_that_were_replaced_in_memory_is_refused(first, loader, column, is_mapped):
    changed = first.with_columns({"num_tokens": column((LENGTHS + 1).tolist())})
    if is_mapped:
        changed = changed.map(dict)
    plans = [jinx.pack(first, 32), jinx.pack(np.array(first["num_tokens"]), 32)]
    for plan in plans:
        with pytest.raises(MismatchError, match="the plan was made of other lengths"):
            loader(changed, plan, **({"encode": encode} if plan is plans[0] else {}))
    with pytest.raises(MismatchError, match=r"made of other lengths \(source 1\)"):
        loader([first.map(dict) if is_mapped else first, changed], jinx.pack([first, first], 32), encode=encode)


@packers
def test_a_plan_fits_the_same_lengths_in_memory(first, loader):
    plan = jinx.pack(first, 32)
    for name in ("array", "list", "function"):
        same = first.with_columns({"num_tokens": REPLACED[name](LENGTHS.tolist()), "more": range(COUNT)})
        assert len(loader(same, plan, encode=encode).plan) == len(plan)


@packers
def test_a_plan_of_a_mixture_knows_its_parts(first, second, twin, loader):
    plan = jinx.pack([first, second], 32, weights=[0.5, 1])
    for others in ([second, first], [first, twin], [first, second.shuffle(seed=2)]):
        with pytest.raises(MismatchError, match=r"the plan \(source \d\) is for other"):
            loader(others, plan, encode=encode)
    for same in ([first, second], first + second):
        assert len(loader(same, plan, encode=encode).plan) == len(plan)


@packers
def test_a_plan_of_arrays_fits_what_has_these_lengths(first, second, loader):
    plan = jinx.pack(np.array(first["num_tokens"]), 32)
    assert len(loader(first, plan, encode=encode).plan) == len(plan)
    tokens = first.with_columns({"input_ids": [[1, 2]] * COUNT, "label_mask": [[True, True]] * COUNT})
    assert len(loader(tokens, plan).plan) == len(plan)
    with pytest.raises(MismatchError, match="other lengths than the num_tokens of this dataset"):
        loader(tokens, jinx.pack(LENGTHS + 1, 32))
    with pytest.raises(MismatchError, match="in another order"):
        loader(first, jinx.pack(np.sort(LENGTHS), 32), encode=encode)
    # What encode returns need not be what the dataset says.
    assert len(loader(second, jinx.pack(np.full(COUNT, 25), 32), encode=encode).plan) == COUNT


def test_a_saved_plan_knows_its_samples(first, twin, folder):
    jinx.pack(first, 32).save(folder / "plan.jinx")
    plan = jinx.PackPlan.load(folder / "plan.jinx")
    assert len(PackedDataset(first, plan, encode=encode)) == len(plan)
    with pytest.raises(MismatchError, match="other files"):
        PackedDataset(twin, plan, encode=encode)


def test_a_plan_made_of_another_column(folder):
    with jinx.Writer(folder / "columns.jinx", indexed=["len(ids)", "num_tokens"]) as writer:
        writer.write_many({"ids": list(range(n)), "num_tokens": 3} for n in (3, 4, 5))
    ds = jinx.open(folder / "columns.jinx")
    plan = jinx.pack(ds, 8, lengths="len(ids)")
    plan.save(folder / "columns-plan.jinx")
    for one in (plan, jinx.PackPlan.load(folder / "columns-plan.jinx")):
        assert len(PackedDataset(ds, one, encode=lambda s: {"input_ids": s["ids"]})) == len(plan)


def test_a_mask_of_one_epoch_is_no_plan_for_a_loader(first):
    plan = jinx.pack(first, 32)
    with pytest.raises(InvalidError, match="a mask chose the packs of this plan"):
        PackedDataLoader(first, plan.only(np.ones(len(plan), dtype=bool)), encode=encode)
    loader = PackedDataLoader(first, plan.only({"num_tokens": 30}), encode=encode, num_workers=0)
    for _ in range(2):
        assert all(batch["num_tokens"] >= 30 for batch in loader)


MAKERS = {
    "packed": lambda ds: PackedDataLoader(ds, {"max_length": 32}, encode=encode, num_workers=0),
    "elastic": lambda ds: ElasticLoader(ds, 4, num_workers=0),
    "tokens": lambda ds: ElasticLoader(ds, tokens_per_batch=64, num_workers=0),
    "samples": lambda ds: Loader(ds, 4, shuffle=True, num_workers=0),
}
makers = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def state_after(loader, batches: int):
    iterator = iter(loader)
    for _ in range(batches):
        next(iterator)
    state = json.loads(json.dumps(loader.state_dict()))
    iterator.close()
    return state


@makers
def test_a_state_of_another_dataset_is_refused(first, twin, make):
    state = state_after(make(first), 2)
    for other, told in (
        (twin, "this state is for other files than those of this dataset"),
        (first.sort("num_tokens"), "this state is for other samples of these files, or for the same in another order"),
        (first[1:] + twin[:1], "this state is for other files"),
        (first[:59], "this state is for 60 samples, the dataset has 59"),
    ):
        loader = make(other)
        before = loader.state_dict()
        with pytest.raises(MismatchError, match=told):
            loader.load_state_dict(state)
        assert loader.state_dict() == before
    again = make(jinx.open(first.path))
    again.load_state_dict(state)
    assert again.state_dict() == state


@makers
def test_a_resorted_file_is_another_dataset(first, make, folder):
    """The same samples under the same name, in another order."""
    path = folder / "sorted.jinx"
    jinx.sort(first.path, path, by="id", overwrite=True)
    state = state_after(make(jinx.open(path)), 2)
    jinx.sort(first.path, path, by="num_tokens", overwrite=True)
    with pytest.raises(MismatchError, match="this state is for other files"):
        make(jinx.open(path)).load_state_dict(state)


@makers
def test_a_state_keeps_nothing_unknown(first, make):
    state = state_after(make(first), 2)
    for name in state:
        with pytest.raises((InvalidError, MismatchError)):
            make(first).load_state_dict({other: value for other, value in state.items() if other != name})
    for changed in ({"unknown": 1}, {"epoch": True}, {"epoch": 10**40}, {"version": 1}, {"dataset": {}}):
        with pytest.raises(InvalidError):
            make(first).load_state_dict({**state, **changed})


def test_a_plan_without_a_member_or_with_another_type_is_refused(first):
    state = ElasticLoader(first, 4, seed=1).state_dict()
    for name, told in (("weights", "weights is null"), ("mask", "mask is null")):
        plan = {other: value for other, value in state["plan"].items() if other != name}
        with pytest.raises(MismatchError, match=told):
            ElasticLoader(first, 4, seed=1).load_state_dict({**state, "plan": plan})
    with pytest.raises(MismatchError, match="seed is 1 and was true"):
        ElasticLoader(first, 4, seed=1).load_state_dict({**state, "plan": {**state["plan"], "seed": True}})
    ElasticLoader(first, 4, seed=1).load_state_dict(json.loads(json.dumps(state)))


def test_a_state_of_another_balance_is_refused(first):
    def loader(balance="auto"):
        plan = {"max_length": 400, "oversize": "drop"}
        return PackedDataLoader(first, plan, encode=encode, num_workers=0, balance=balance)

    state = loader().state_dict()
    for changed in ({}, loader(None).state_dict()["balance"]):
        with pytest.raises(InvalidError, match=r"the saved loader had balance=\{\}, this one has \{"):
            loader().load_state_dict({**state, "balance": changed})
    with pytest.raises(InvalidError, match="the saved loader had balance="):
        loader(None).load_state_dict(state)
    with pytest.raises(InvalidError, match="give a finite number of 0 or more"):
        loader({"num_tokens": -1})
    loader().load_state_dict(state)


def test_a_state_of_another_seed_is_for_a_loader_without_that_order(first):
    state = Loader(first, 4, seed=1).state_dict()
    Loader(first, 4, seed=2).load_state_dict(state)


def test_a_state_that_is_no_json_is_refused(first):
    state = ElasticLoader(first, 4).state_dict()
    with pytest.raises(MismatchError, match=r"sizes is .* and was \"b'x'\""):
        ElasticLoader(first, 4).load_state_dict({**state, "plan": {**state["plan"], "sizes": b"x"}})


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"batches": -1}, "batches is -1, not between 0 and 15"),
        ({"batches": 16}, "batches is 16, not between 0 and 15"),
        ({"batches": True}, "batches is True"),
        ({"seed": "0"}, "the saved loader had seed='0', this one has 0"),
        ({"seed": 2}, "the saved loader had seed=2, this one has 0"),
        ({"remainder": "drop"}, "the saved loader had remainder='drop', this one has None"),
        ({"epoch": 10**30}, "epoch is 1000000000000000000000000000000, not between 0 and"),
        ({"generator": b""}, "one has none, or the other way round"),
        ({"batch_size": 5}, "the saved loader had batch_size=5, this one has 4"),
        ({"shuffle": False}, "the saved loader had shuffle=False"),
    ],
)
def test_a_damaged_state_of_a_loader_is_refused(first, changed, told):
    state = Loader(first, 4, shuffle=True).state_dict()
    with pytest.raises(InvalidError, match=told):
        Loader(first, 4, shuffle=True).load_state_dict({**state, **changed})


def test_the_state_of_a_generator_is_one(first):
    def loader():
        return Loader(first, 4, shuffle=True, generator=torch.Generator().manual_seed(1), num_workers=0)

    state = loader().state_dict()
    loader().load_state_dict(state)
    for bad in (state["generator"][:5], 3):
        with pytest.raises(InvalidError, match="it holds no state of a generator"):
            loader().load_state_dict({**state, "generator": bad})


def test_an_old_state_says_so(first):
    with pytest.raises(InvalidError, match="of another loader or version"):
        Loader(first).load_state_dict({"epoch": 0, "batches": 1, "seed": 0, "generator": None, "samples": COUNT})


ADDED = {
    "array": lambda value: np.full(COUNT, value),
    "strings": lambda value: np.array([f"text {value}"] * COUNT),
    "list": lambda value: [{"value": [value, f"text {value}"]}] * COUNT,
    "arrays": lambda value: [np.full(3, value)] * COUNT,
}


@makers
@pytest.mark.parametrize("column", ADDED.values(), ids=ADDED)
@pytest.mark.parametrize("is_saved", [False, True])
def test_a_state_of_other_added_columns_is_refused(first, make, column, is_saved, tmp_path):
    def with_values(value, name):
        view = first.with_columns({"more": column(value)}).shuffle(seed=1)
        if not is_saved:
            return view
        view.save(tmp_path / name)
        return jinx.open(tmp_path / name)

    state = state_after(make(with_values(1, "then.jinx")), 2)
    with pytest.raises(MismatchError, match="other columns that a view adds to these files"):
        make(with_values(2, "now.jinx")).load_state_dict(state)
    with pytest.raises(MismatchError, match="other columns that a view adds to these files"):
        make(first.shuffle(seed=1)).load_state_dict(state)
    again = make(with_values(1, "again.jinx"))
    again.load_state_dict(state)
    assert again.state_dict() == state


def test_added_columns_below_other_views_count(first, twin, tmp_path):
    def made(value):
        first.with_columns({"below": [value] * COUNT}).save(tmp_path / "below.jinx", overwrite=True)
        below = jinx.open(tmp_path / "below.jinx")
        joined = jinx.concat([twin, below.with_columns({"above": [1] * COUNT})])
        return joined.with_columns({"called": lambda sample: sample["id"] * value, "object": [object()] * len(joined)})

    def loader(ds):
        return Loader(ds, 4, num_workers=0)

    state = loader(made(1)).state_dict()
    loader(made(1)).load_state_dict(state)
    with pytest.raises(MismatchError, match="other columns that a view adds to these files"):
        loader(made(2)).load_state_dict(state)
    # What is not shown does not count, and functions are not called.
    hidden = loader(made(1).select_columns(["id", "called"])).state_dict()
    loader(made(2).select_columns(["id", "called"])).load_state_dict(hidden)


def test_added_columns_are_the_same_however_parts_are_joined(first, twin):
    parts = [first, twin.with_columns({"more": [1] * COUNT}), first[::-1].with_columns({"more": [2] * COUNT})]
    state = Loader(jinx.concat(parts), num_workers=0).state_dict()
    for same in (parts[0] + (parts[1] + parts[2]), jinx.concat([parts[0] + parts[1], jinx.concat([parts[2]])])):
        Loader(same).load_state_dict(state)
    with pytest.raises(MismatchError):
        Loader(jinx.concat([parts[0], parts[2], parts[1]])).load_state_dict(state)


@makers
def test_the_samples_that_have_an_added_column_count(first, make, tmp_path):
    """The state of `first + other` was taken for `other + first`, whose samples have the other values."""
    other = first.with_columns({"more": [1] * COUNT})
    other.save(tmp_path / "other.jinx")
    half, rest = first[: COUNT // 2], first[COUNT // 2 :]
    for then, now in (
        ((first, other), (other, first)),
        ((first, jinx.open(tmp_path / "other.jinx")), (jinx.open(tmp_path / "other.jinx"), first)),
        ((half, rest.with_columns({"more": [1] * len(rest)})), (half.with_columns({"more": [1] * len(half)}), rest)),
    ):
        state = state_after(make(jinx.concat(then)), 2)
        with pytest.raises(MismatchError, match="other columns that a view adds to these files"):
            make(jinx.concat(now)).load_state_dict(state)
        make(jinx.concat([first[:0], *then])).load_state_dict(state)


@pytest.mark.parametrize(
    ("then", "now"), [(float("nan"), None), ([float("nan")], [None]), (1, 1.0), (True, 1), (0.0, -0.0)]
)
def test_values_that_are_alike_are_other_values(first, then, now):
    """NaN and None are both missing where samples are compared by a column."""

    def loader(value):
        return Loader(first.with_columns({"more": [value, "text"] * (COUNT // 2)}), 4, num_workers=0)

    state = loader(then).state_dict()
    loader(then).load_state_dict(state)
    with pytest.raises(MismatchError, match="other columns that a view adds to these files"):
        loader(now).load_state_dict(state)


def test_joined_columns_count_by_their_dataset(first, twin):
    def loader(value):
        table = twin.with_columns({"id": list(range(COUNT)), "more": [value] * COUNT})
        return Loader(first.with_columns(table.select_columns(["id", "more"]), on="id"), 4, num_workers=0)

    loader(1).load_state_dict(loader(1).state_dict())
    with pytest.raises(MismatchError, match="other columns that a view adds to these files"):
        loader(2).load_state_dict(loader(1).state_dict())


looped = pytest.mark.parametrize("make", [MAKERS["packed"], MAKERS["elastic"]], ids=["packed", "elastic"])


@looped
@pytest.mark.parametrize("at", [1, -1])
def test_a_loop_whose_loader_began_another_says_so(first, make, at):
    """It ended early without a word, or left the loader at the beginning of the epoch."""
    loader = make(first)
    loop = iter(loader)
    for _ in range(len(loader) if at < 0 else at):
        next(loop)
    next(iter(loader))
    with pytest.raises(InvalidError, match="another loop over this loader has begun"):
        next(loop)


@looped
def test_an_epoch_that_is_set_with_the_last_batch_is_the_next_one(first, make):
    loader = make(first)
    for number, _ in enumerate(loader):
        if number == len(loader) - 1:
            loader.set_epoch(5)
    assert loader.epoch == 5


def test_another_epoch_of_a_loader_begins_with_its_first_batch(first):
    loader = Loader(first, 4, shuffle=True, num_workers=0)
    state = state_after(loader, 3)
    assert state["batches"] == 3
    loader.set_epoch(1)
    assert loader.state_dict()["batches"] == 0
    loader.load_state_dict(state)
    loader.set_epoch(0)
    assert len(list(loader)) == COUNT // 4 - 3
    loader.load_state_dict(state)
    loader.set_epoch(1)
    assert len(list(loader)) == COUNT // 4


def test_a_look_at_the_first_batch_does_not_change_the_position(first):
    loader = Loader(first, 4, num_workers=0)
    loop = iter(loader)
    for _ in range(3):
        next(loop)
    next(iter(loader))
    next(loop)
    assert loader.state_dict()["batches"] == 4


@pytest.mark.parametrize("seeded", [True, False])
def test_a_loop_inside_a_loop_keeps_the_position_of_the_outer_one(first, seeded):
    """The state had the epoch of the inner loop and the batches of the outer one."""

    def made():
        generator = None if seeded else torch.Generator().manual_seed(3)
        return Loader(first, 4, shuffle=True, num_workers=0, generator=generator)

    whole = [batch["id"].tolist() for batch in made()]
    loader, again = made(), made()
    loop = iter(loader)
    seen = [next(loop)["id"].tolist() for _ in range(3)]
    assert len(list(loader)) == COUNT // 4
    seen.append(next(loop)["id"].tolist())
    again.load_state_dict(loader.state_dict())
    assert again.epoch == 0
    assert seen + [batch["id"].tolist() for batch in again] == whole
    list(loop)
    assert loader.epoch == 1


def test_a_loop_that_goes_on_after_another_epoch_was_set_does_not_count(first):
    loader = Loader(first, 4, shuffle=True, num_workers=0)
    loop = iter(loader)
    next(loop)
    loader.set_epoch(3)
    next(loop)
    assert (loader.epoch, loader.state_dict()["batches"]) == (3, 0)
    list(loop)
    assert (loader.epoch, len(list(loader))) == (3, COUNT // 4)


def test_a_state_of_a_sampler_is_for_a_sampler(first):
    made = [{}, {"sampler": range(COUNT)}, {"batch_sampler": [[n] for n in range(COUNT)]}]
    for number, options in enumerate(made):
        state = Loader(first, num_workers=0, **options).state_dict()
        for other, more in enumerate(made):
            if other == number:
                Loader(first, **more).load_state_dict(state)
            else:
                with pytest.raises(InvalidError, match="the saved loader had sampler="):
                    Loader(first, **more).load_state_dict(state)
