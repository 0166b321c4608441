"""Lengths and token ids are of the columns that they were counted of, and of no other values of these."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import chat
import jinx
from jinx._cli.program import run
from jinx._saved_views.meta import counted
from jinx.errors import MismatchError

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
pytest.importorskip("PIL.Image")

from jinx.torch import ElasticLoader, PackedDataLoader, PackedDataset  # noqa: E402

COUNT, LENGTH = 20, 64
OTHER = [chat.conversation(100 + i) for i in range(COUNT)]
STALE = r"the lengths in \S+ were counted before 'messages' got other values; run jinx annotate again"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Lengths with token ids: as a view, and as a file of its own."""
    folder = tmp_path_factory.mktemp("stale")
    chat.write_tokenizer(folder / "tokenizer")
    chat.write_chat(folder / "chat.jinx", COUNT)
    jinx.annotate(folder / "chat.jinx", folder / "view.jinx", tokenizer=folder / "tokenizer", tokens=True)
    jinx.convert(folder / "view.jinx", folder / "file.jinx")
    return folder


def in_memory(dataset, _folder):
    return dataset


def pickled(dataset, _folder):
    return pickle.loads(pickle.dumps(dataset))


def in_another_order(dataset, _folder):
    return dataset.shuffle(seed=1)[:10].with_columns({"more": range(10)})


def saved(dataset, folder):
    dataset.save(folder / "saved.jinx", overwrite=True)
    return jinx.open(folder / "saved.jinx")


def saved_twice(dataset, folder):
    saved(dataset, folder).select_columns(["messages", "num_tokens", "input_ids", "label_mask"]).shuffle(seed=1).save(
        folder / "twice.jinx", overwrite=True
    )
    return jinx.open(folder / "twice.jinx")


def copied(dataset, folder):
    jinx.convert(dataset, folder / "copied.jinx", overwrite=True)
    return jinx.open(folder / "copied.jinx")


def copied_from_a_view(dataset, folder):
    return copied(saved(dataset, folder), folder)


def shards(dataset, folder):
    jinx.convert(dataset, folder / "shards", overwrite=True, shard_size="4 KB")
    return jinx.open(folder / "shards")


def by_way_of_parquet(dataset, folder):
    jinx.convert(dataset.drop_columns("messages"), folder / "way.parquet", overwrite=True)
    jinx.convert(folder / "way.parquet", folder / "way.jinx", overwrite=True)
    return jinx.open(folder / "way.jinx")


def joined(dataset, _folder):
    return dataset[:10] + dataset[10:]


def concatenated(dataset, folder):
    jinx.concat([saved(dataset, folder), folder / "view.jinx"], folder / "concatenated.jinx", overwrite=True)
    return jinx.open(folder / "concatenated.jinx")


kept = pytest.mark.parametrize(
    "keep",
    [
        in_memory,
        pickled,
        in_another_order,
        saved,
        saved_twice,
        copied,
        copied_from_a_view,
        shards,
        by_way_of_parquet,
        joined,
        concatenated,
    ],
)
kinds = pytest.mark.parametrize("kind", ["view", "file"])


@kept
@kinds
def test_lengths_of_replaced_texts_are_refused(folder, tmp_path, keep, kind):
    run(["cp", str(folder / "view.jinx"), str(tmp_path / "view.jinx")])
    changed = keep(jinx.open(folder / f"{kind}.jinx").with_columns({"messages": OTHER}), tmp_path)
    ones = np.ones(len(changed), dtype=int)
    for use in (
        lambda: jinx.pack(changed, LENGTH),
        lambda: jinx.compare_packing(changed, LENGTH),
        lambda: ElasticLoader(changed, tokens_per_batch=LENGTH),
        lambda: PackedDataset(changed, {"max_length": LENGTH}),
    ):
        with pytest.raises(MismatchError, match=STALE):
            use()
    options = {} if "messages" not in changed.column_names else {"tokenizer": folder / "tokenizer"}
    for given in ({}, options):
        with pytest.raises(MismatchError, match=f"{STALE}|other lengths"):
            PackedDataLoader(changed, jinx.pack(ones, LENGTH), **given)


@pytest.mark.parametrize("keep", [in_memory, saved])
@kinds
def test_a_plan_of_replaced_texts_is_refused_for_an_encoder_of_the_user(folder, tmp_path, keep, kind):
    dataset = jinx.open(folder / f"{kind}.jinx")
    plan = jinx.pack(dataset, LENGTH)
    changed = keep(dataset.with_columns({"messages": OTHER}), tmp_path)
    same = keep(dataset.with_columns({"id": ["x"] * COUNT}), tmp_path)
    for loader in (PackedDataLoader, PackedDataset):
        with pytest.raises(MismatchError, match=STALE):
            loader(changed, plan, encode=lambda sample: {"input_ids": [1]})
        assert loader(same, plan, encode=lambda sample: {"input_ids": [1]})


@kept
@kinds
def test_lengths_stay_under_other_columns(folder, tmp_path, keep, kind):
    run(["cp", str(folder / "view.jinx"), str(tmp_path / "view.jinx")])
    changed = keep(
        jinx.open(folder / f"{kind}.jinx").with_columns({"id": ["x"] * COUNT, "note": ["y"] * COUNT}), tmp_path
    )
    [way] = counted(changed)
    assert "replaced" not in way.settings
    assert len(PackedDataset(changed, {"max_length": LENGTH}))


@kinds
def test_lengths_of_texts_that_a_copy_replaced_are_refused(folder, tmp_path, kind):
    with jinx.Writer(tmp_path / "texts.jinx") as texts, jinx.Writer(tmp_path / "notes.jinx") as notes:
        texts.copy(jinx.open(folder / f"{kind}.jinx"), replace={"messages": OTHER})
        notes.copy(jinx.open(folder / f"{kind}.jinx"), replace={"note": ["y"] * COUNT})
    with pytest.raises(MismatchError, match=STALE):
        jinx.pack(jinx.open(tmp_path / "texts.jinx"), LENGTH)
    assert jinx.pack(jinx.open(tmp_path / "notes.jinx"), LENGTH)


@pytest.mark.parametrize("keep", [in_memory, saved, copied])
@kinds
def test_annotated_again_lengths_are_those_of_the_new_texts(folder, tmp_path, keep, kind):
    changed = keep(jinx.open(folder / f"{kind}.jinx").with_columns({"messages": OTHER}), tmp_path)
    jinx.annotate(changed, tmp_path / "again.jinx", tokenizer=folder / "tokenizer")
    again = jinx.open(tmp_path / "again.jinx")
    assert "input_ids" not in again.column_names
    assert again["num_tokens"].tolist() != changed["num_tokens"].tolist()
    assert len(PackedDataset(again, {"max_length": LENGTH}, tokenizer=folder / "tokenizer"))


@pytest.mark.parametrize("keep", [in_memory, saved, copied])
@kinds
def test_lengths_of_the_user_are_the_users(folder, tmp_path, keep, kind):
    own = {"messages": OTHER, "num_tokens": np.full(COUNT, 7)}
    dataset = jinx.open(folder / f"{kind}.jinx").drop_columns(["input_ids", "label_mask"]).with_columns(own)
    changed = keep(dataset, tmp_path)
    ids = {"input_ids": [np.array([1] * 7)] * COUNT, "label_mask": [np.array([True] * 7)] * COUNT}
    with_ids = keep(jinx.open(folder / f"{kind}.jinx").with_columns({**own, **ids}), tmp_path)
    assert [one.settings for one in counted(with_ids)] == [None]
    assert jinx.pack(with_ids, LENGTH).stats().tokens == 7 * COUNT
    assert next(iter(PackedDataLoader(with_ids.drop_columns("num_label_tokens"), {"max_length": 7})))["num_tokens"] == 7
    del changed


def test_token_ids_that_were_replaced_are_not_those_of_the_lengths(folder):
    view = jinx.open(folder / "view.jinx").with_columns({"input_ids": [np.array([1])] * COUNT})
    with pytest.raises(MismatchError, match=r"view\.jinx has input_ids that were not kept together with its lengths"):
        PackedDataset(view, {"max_length": LENGTH})
    assert len(PackedDataset(view, {"max_length": LENGTH}, encode=lambda s: {"input_ids": s["input_ids"]}))


def test_a_function_may_have_looked_at_every_column(folder, tmp_path):
    jinx.annotate(folder / "chat.jinx", tmp_path / "f.jinx", function=lambda sample: 5)
    view = jinx.open(tmp_path / "f.jinx")
    assert len(jinx.pack(view.with_columns({"new": range(COUNT)}), LENGTH))
    with pytest.raises(MismatchError, match="counted before 'id' got other values"):
        jinx.pack(view.with_columns({"id": range(COUNT)}), LENGTH)


def test_token_ids_known_of_some_samples_alone(folder, tmp_path):
    view = jinx.open(folder / "view.jinx")
    unknown = jinx.open(folder / "chat.jinx").with_columns(
        {name: view[name] for name in ("num_tokens", "input_ids", "label_mask")}
    )
    with pytest.raises(MismatchError, match="does not say how its lengths were counted; run jinx annotate --tokens"):
        PackedDataset([view, unknown], {"max_length": LENGTH})
    assert len(PackedDataset(unknown, {"max_length": LENGTH}))


def test_a_renamed_column_in_the_place_of_another(folder, tmp_path):
    jinx.convert(jinx.open(folder / "file.jinx").with_columns({"others": OTHER}), tmp_path / "two.jinx")
    jinx.convert(tmp_path / "two.jinx", tmp_path / "renamed.parquet", drop=["messages"], rename={"others": "messages"})
    jinx.convert(tmp_path / "renamed.parquet", tmp_path / "renamed.jinx")
    with pytest.raises(MismatchError, match=STALE):
        jinx.pack(jinx.open(tmp_path / "renamed.jinx"), LENGTH)


# Through functions, whose effect is known when they ran.


def _written(dataset, folder, out):
    jinx.convert(dataset, folder / out, shard_size="4 KB" if out == "shards" else None)
    if out.endswith(".parquet"):
        jinx.convert(folder / out, folder / "back.jinx")
        out = "back.jinx"
    return jinx.open(folder / out)


@pytest.mark.parametrize("out", ["out.jinx", "shards", "out.parquet"])
@kinds
def test_lengths_stay_under_functions_that_change_other_columns(folder, tmp_path, kind, out):
    source = jinx.open(folder / f"{kind}.jinx")
    [way] = counted(source)
    made = _written(source.map(lambda sample: {"note": len(sample["messages"])}, remove_columns="id"), tmp_path, out)
    assert [one.settings for one in counted(made)] == [way.settings]
    assert len(PackedDataset(made, {"max_length": LENGTH}, tokenizer=folder / "tokenizer"))


@pytest.mark.parametrize("out", ["out.jinx", "shards", "out.parquet"])
@kinds
def test_lengths_are_stale_where_a_function_has_changed_one_text(folder, tmp_path, kind, out):
    source = jinx.open(folder / f"{kind}.jinx")
    last = source[COUNT - 1]["id"]
    change = lambda sample: {"messages": OTHER[0]} if sample["id"] == last else None  # noqa: E731
    made = _written(source.map(change), tmp_path, out)
    with pytest.raises(MismatchError, match=STALE):
        jinx.pack(made, LENGTH)


@kinds
def test_lengths_of_a_function_are_the_users(folder, tmp_path, kind):
    made = _written(jinx.open(folder / f"{kind}.jinx").map(lambda sample: {"num_tokens": 7}), tmp_path, "out.jinx")
    [way] = counted(made)
    assert "num_tokens" not in way.settings["counts"]
    assert jinx.pack(made, LENGTH).stats().tokens == 7 * COUNT


# Through other formats, and by keys.


def test_parquet_and_arrow_keep_how_lengths_were_counted(folder, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    [way] = counted(jinx.open(folder / "view.jinx"))
    for name, source in (
        ("view", jinx.open(folder / "view.jinx")),
        ("file", folder / "file.jinx"),
        ("path", folder / "view.jinx"),
    ):
        out = tmp_path / f"{name}.parquet"
        jinx.convert(source, out)
        assert b"jinx.annotate" in pq.read_schema(out).metadata
        jinx.convert(out, tmp_path / f"{name}.jinx")
        jinx.convert(pq.read_table(out), tmp_path / f"{name}-arrow.jinx")
        for back in (f"{name}.jinx", f"{name}-arrow.jinx"):
            opened = jinx.open(tmp_path / back)
            assert [one.settings for one in counted(opened)] == [way.settings]
            assert b"jinx.annotate" not in (opened.to_arrow(["messages"]).schema.metadata or {})
    jinx.convert(folder / "view.jinx", tmp_path / "directory", output_format="parquet")
    jinx.convert(tmp_path / "directory", tmp_path / "directory.jinx", input_format="parquet")
    assert [one.settings for one in counted(jinx.open(tmp_path / "directory.jinx"))] == [way.settings]


def test_several_parquet_files_keep_several_ways(folder, tmp_path):
    jinx.annotate(folder / "chat.jinx", tmp_path / "f.jinx", function=lambda sample: 5)
    for name in ("f.jinx", "v.jinx"):
        source = tmp_path / name if name == "f.jinx" else folder / "view.jinx"
        jinx.convert(jinx.open(source).select_columns(["id", "num_tokens"]), tmp_path / f"{name}.parquet")
    jinx.convert([tmp_path / "f.jinx.parquet", tmp_path / "v.jinx.parquet"], tmp_path / "both.jinx")
    with pytest.raises(MismatchError, match="counted in different ways"):
        jinx.pack(jinx.open(tmp_path / "both.jinx"), LENGTH)


def test_lengths_that_are_joined_keep_how_they_were_counted(folder, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    view, plain = jinx.open(folder / "view.jinx"), jinx.open(folder / "chat.jinx").shuffle(seed=3)
    [way] = counted(view)
    lengths = view.select_columns(["id", "num_tokens", "num_label_tokens", "input_ids", "label_mask"])
    jinx.convert(lengths, tmp_path / "lengths.parquet")
    for table in (lengths, pq.read_table(tmp_path / "lengths.parquet")):
        joined = plain.with_columns(table, on="id")
        for one in (joined, pickle.loads(pickle.dumps(joined)), saved(joined, tmp_path), copied(joined, tmp_path)):
            assert [found.settings for found in counted(one)] == [way.settings]
        whole = saved(joined, tmp_path)
        assert len(PackedDataset(whole, {"max_length": LENGTH}, tokenizer=folder / "tokenizer"))
        stale = plain.with_columns(table, on="id").with_columns({"messages": OTHER})
        with pytest.raises(MismatchError, match=STALE):
            jinx.pack(saved(stale, tmp_path), LENGTH)
    with_notes = plain.with_columns({"id": list(range(COUNT)), "note": ["x"] * COUNT}, on="id")
    assert [found.settings for found in counted(with_notes)] == [None]
