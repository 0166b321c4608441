"""Saved views show what the view in memory shows, over every kind of dataset."""

import json
import multiprocessing
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jinx
import jinx.mds
import samples
from jinx._cli.program import run
from jinx._saved_views.bases import read_view

COUNT = 20


def pair(directory: Path) -> jinx.Dataset:
    return jinx.open(samples.write(directory / "pair.jinx", COUNT))


def without_sidecar(directory: Path) -> jinx.Dataset:
    return jinx.open(samples.write(directory / "inline.jinx", COUNT, sidecar=False))


def directory(place: Path) -> jinx.Dataset:
    return jinx.open(samples.write(place / "shards", COUNT, shard_size="2kB"))


def several_pairs(directory: Path) -> jinx.Dataset:
    return jinx.open([samples.write(directory / f"{n}.jinx", COUNT // 2) for n in range(2)])


def lines(directory: Path) -> jinx.Dataset:
    text = "".join(json.dumps({"id": f"s{n:03d}", "n": n, "meta": {"width": n * 2}}) + "\n" for n in range(COUNT))
    (directory / "lines.jsonl").write_text(text, "utf-8")
    return jinx.open(directory / "lines.jsonl")


def mds(directory: Path) -> jinx.Dataset:
    columns = {"id": "str", "n": "int", "image": "bytes"}
    with jinx.mds.MDSWriter(out=str(directory / "mds"), columns=columns, size_limit=700) as writer:
        for n in range(COUNT):
            writer.write({"id": f"s{n:03d}", "n": n, "image": bytes([n]) * n})
    return jinx.open(directory / "mds")


def mixed(place: Path) -> jinx.Dataset:
    return jinx.concat([pair(place)[::2], lines(place)[3:9], mds(place)[[7, 7]], directory(place)[-4:]])


SOURCES = [pair, without_sidecar, directory, several_pairs, lines, mds, mixed]
KINDS = {
    "pair": ["pair"],
    "without_sidecar": ["pair"],
    "directory": ["directory"],
    "several_pairs": ["pair", "pair"],
    "lines": ["jsonl"],
    "mds": ["mds"],
    "mixed": ["pair", "jsonl", "mds", "directory"],
}


def plain(ds: jinx.Dataset) -> list[Any]:
    return [samples.plain(sample) for sample in ds.to_list()]


def saved(view: jinx.Dataset, out: Path) -> jinx.Dataset:
    done = view.save(out)
    assert (done.path, done.samples, done.shards) == (str(out), len(view), 1)
    return jinx.open(out)


def number(sample: Any) -> float:
    return sample["n"] + 0.5


@pytest.mark.parametrize("source", SOURCES)
def test_a_saved_view_shows_the_same(source: Callable[[Path], jinx.Dataset], tmp_path):
    whole = source(tmp_path)
    view = whole.shuffle(seed=1)[:11]
    view = view.with_columns({"extra": np.arange(11), "half": number, "n": [f"n{n}" for n in view["n"]]})
    opened = saved(view, tmp_path / "v.jinx")
    assert plain(opened) == plain(view)
    # Typed columns follow the others in the file.
    assert opened.column_names == [*(name for name in view.column_names if name != "extra"), "extra"]
    assert {**opened.schema, "half": "function"} == view.schema
    assert [base["kind"] for base in read_view(str(tmp_path / "v.jinx"))["base"]] == KINDS[source.__name__]
    assert opened["extra"].tolist() == list(range(11))
    assert opened.sort("-extra")["half"].tolist() == view["half"].tolist()[::-1]
    # Again from what was opened, and everything as it is.
    assert plain(saved(opened[::-1], tmp_path / "w.jinx")) == plain(view)[::-1]
    assert plain(saved(whole, tmp_path / "x.jinx")) == plain(whole)
    assert plain(saved(jinx.concat([opened, whole]), tmp_path / "y.jinx")) == plain(view) + plain(whole)


@pytest.mark.parametrize("source", SOURCES)
def test_info_names_what_a_view_shows(source, tmp_path):
    whole = source(tmp_path)
    opened = saved(whole[[3, 1, 1]].with_columns({"extra": ["a", "b", "c"]}), tmp_path / "v.jinx")
    info = opened.info()
    assert (info.path, info.samples, info.own_columns) == (str(tmp_path / "v.jinx"), 3, ["extra"])
    assert [base.kind for base in info.bases] == KINDS[source.__name__]
    assert sum(base.selected for base in info.bases) == 2
    assert info.samples_in_files == sum(base.samples for base in info.bases)
    assert all(Path(base.path).exists() and base.bytes > 0 for base in info.bases)
    assert info.has_positions
    assert info.bytes == (tmp_path / "v.jinx").stat().st_size
    assert {column.name: column.type for column in info.columns}["extra"] == "str"
    assert json.loads(json.dumps(info.to_dict())) == info.to_dict()


def test_a_view_of_everything_stores_no_positions(tmp_path):
    opened = saved(pair(tmp_path), tmp_path / "v.jinx")
    info = opened.info()
    assert not info.has_positions
    assert info.own_columns == []
    assert info.bases[0].selected == info.samples == COUNT
    assert info.bases[0].id == jinx.open(tmp_path / "pair.jinx").info().ids[0]


ONE_0 = Path(__file__).resolve().parents[2] / "spec" / "vectors" / "1_0"


@pytest.mark.parametrize(
    "name", sorted(path.name for path in ONE_0.iterdir() if path.suffix == ".jinx" or path.is_dir())
)
def test_views_over_files_of_1_0(name, tmp_path):
    whole = jinx.open(ONE_0 / name)
    if not len(whole):
        assert saved(whole, tmp_path / "v.jinx").info().bases[0].id
        return
    view = whole[::-1].with_columns({"a new one": range(len(whole))})
    opened = saved(view, tmp_path / "v.jinx")
    assert repr(plain(opened)) == repr(plain(view))  # NaN
    assert opened.column_names == view.column_names


def test_chosen_columns_become_hidden_ones(tmp_path):
    whole = pair(tmp_path)
    view = whole.select_columns(["n", "image"])[3:6]
    opened = saved(view, tmp_path / "v.jinx")
    assert sorted(read_view(str(tmp_path / "v.jinx"))["drop"]) == sorted(set(whole.column_names) - {"n", "image"})
    assert sorted(opened.column_names) == ["image", "n"]
    assert plain(opened) == [{name: sample[name] for name in opened.column_names} for sample in plain(view)]
    with pytest.raises(KeyError, match="no column 'score'"):
        opened["score"]
    assert saved(opened.drop_columns("n"), tmp_path / "w.jinx").column_names == ["image"]


def test_decoding_is_not_saved(tmp_path):
    view = pair(tmp_path).decode({"image": "pil"})
    assert saved(view, tmp_path / "v.jinx")[1]["image"] == samples.sample(1)["image"]


def test_functions_applied_are_refused_with_what_to_do(tmp_path):
    for view in (pair(tmp_path).map(lambda sample: {"x": 1}), jinx.open(tmp_path / "pair.jinx").with_transform(dict)):
        with pytest.raises(TypeError, match=r"ds\.with_columns"):
            view.save(tmp_path / "v.jinx")
    assert not (tmp_path / "v.jinx").exists()


def test_wrong_names_and_existing_files(tmp_path):
    ds = pair(tmp_path)
    with pytest.raises(ValueError, match="suffix in lower case"):
        ds.save(tmp_path / "v.JINX")
    ds[:3].save(tmp_path / "v.jinx")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        ds[:4].save(tmp_path / "v.jinx")
    assert len(jinx.open(tmp_path / "v.jinx")) == 3
    ds[:4].save(tmp_path / "v.jinx", overwrite=True)
    assert len(jinx.open(tmp_path / "v.jinx")) == 4
    with pytest.raises(ValueError, match="a dataset of no files"):
        jinx.Dataset([]).save(tmp_path / "w.jinx")


def test_an_error_while_saving_leaves_nothing(tmp_path):
    view = pair(tmp_path).with_columns({"bad": lambda sample: 1 / (15 - sample["n"])})
    with pytest.raises(BaseException) as raised:  # noqa: PT011
        view.save(tmp_path / "v.jinx")
    assert raised.type is ZeroDivisionError
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pair.binx", "pair.jinx"]


def test_replacing_a_view_leaves_those_that_are_open(tmp_path):
    ds = pair(tmp_path)
    opened = saved(ds[:5].with_columns({"a": range(5)}), tmp_path / "v.jinx")
    ds[5:].save(tmp_path / "v.jinx", overwrite=True)
    assert opened["a"].tolist() == list(range(5))
    assert opened[4]["n"] == 4
    assert jinx.open(tmp_path / "v.jinx")[0]["n"] == 5


NAMES = ["with.dots", "with space", "größe", "日本", "a[0]", "'quoted'", '"double"', "len(x)", "-n", "$bytes", ""]


def test_columns_of_any_name(tmp_path):
    view = pair(tmp_path).with_columns({name: [f"{name}{n}" for n in range(COUNT)] for name in NAMES})[2:5]
    opened = saved(view, tmp_path / "v.jinx")
    assert plain(opened) == plain(view)
    assert opened.column_names == view.column_names
    assert opened.drop_columns(NAMES).column_names == view.drop_columns(NAMES).column_names
    again = saved(opened.drop_columns(["with.dots", "größe"]), tmp_path / "w.jinx")
    assert again.column_names == [name for name in view.column_names if name not in {"with.dots", "größe"}]


@pytest.mark.parametrize("name", ["with space", "größe", "日本", "a'b", "[x]*"])
def test_paths_of_any_name(name, tmp_path):
    (tmp_path / name).mkdir()
    (tmp_path / f"{name} views").mkdir()
    view = pair(tmp_path / name)[3:]
    assert plain(saved(view, tmp_path / f"{name} views" / f"{name}.jinx")) == plain(view)
    (tmp_path / name).rename(tmp_path / "elsewhere")
    jinx.rebase(tmp_path / f"{name} views" / f"{name}.jinx", tmp_path / "elsewhere" / "pair.jinx")
    assert len(jinx.open(tmp_path / f"{name} views" / f"{name}.jinx")) == COUNT - 3


def test_opening_by_a_relative_path(tmp_path, monkeypatch):
    pair(tmp_path)[:3].save(tmp_path / "v.jinx")
    monkeypatch.chdir(tmp_path)
    opened = jinx.open("v.jinx")
    assert opened.path == "v.jinx"
    assert repr(opened).startswith("Dataset('v.jinx', 3 samples)")
    monkeypatch.chdir("/")
    assert opened[2]["n"] == 2
    assert pickle.loads(pickle.dumps(opened))[2]["n"] == 2


def test_a_directory_that_grew(tmp_path):
    view = directory(tmp_path)[::3]
    before = plain(saved(view, tmp_path / "v.jinx"))
    with jinx.Writer(tmp_path / "shards", append=True) as writer:
        writer.write(samples.sample(99))
    assert plain(jinx.open(tmp_path / "v.jinx")) == before


@pytest.mark.parametrize("source", [pair, directory, lines, mds])
def test_a_base_that_changed_is_refused(source, tmp_path):
    source(tmp_path)[:3].save(tmp_path / "v.jinx")
    if source is lines:
        (tmp_path / "lines.jsonl").write_text('{"n":1}\n' * COUNT, "utf-8")
    elif source is mds:
        import shutil

        shutil.rmtree(tmp_path / "mds")
        with jinx.mds.MDSWriter(out=str(tmp_path / "mds"), columns={"n": "int"}) as writer:
            for n in range(COUNT):
                writer.write({"n": n})
    else:
        path = tmp_path / ("shards" if source is directory else "pair.jinx")
        with jinx.Writer(path, overwrite=True) as writer:
            writer.write_many({"n": n} for n in range(COUNT))
    with pytest.raises(jinx.MismatchError, match=r"v\.jinx: .* expected id \w+.* found .*"):
        jinx.open(tmp_path / "v.jinx")


def test_bases_can_be_named_or_refused(tmp_path):
    view = pair(tmp_path)[2:4]
    view.save(tmp_path / "v.jinx")
    with pytest.raises(jinx.MismatchError, match="saved view, which reads other files"):
        jinx.open(tmp_path / "v.jinx", base=None)
    (tmp_path / "pair.jinx").rename(tmp_path / "b.jinx")
    (tmp_path / "pair.binx").rename(tmp_path / "b.binx")
    opened = jinx.open(tmp_path / "v.jinx", base=tmp_path / "b.jinx")
    assert opened[0]["n"] == 2
    assert pickle.loads(pickle.dumps(opened[1:]))[0]["n"] == 3
    with pytest.raises(ValueError, match="this view has 1 bases; base= gives 2"):
        jinx.open(tmp_path / "v.jinx", base=["a", "b"])


# Processes.


def test_an_opened_view_pickles_as_its_path(tmp_path):
    many = jinx.concat([pair(tmp_path)] * 50)
    opened = saved(many.shuffle(1).with_columns({"x": range(len(many))}), tmp_path / "v.jinx")
    text = pickle.dumps(opened)
    assert len(text) < 2000
    again = pickle.loads(text)
    assert again["x"].tolist() == list(range(len(many)))
    assert again[7]["n"] == opened[7]["n"]
    many[:5].save(tmp_path / "v.jinx", overwrite=True)
    with pytest.raises(jinx.MismatchError, match="the view changed since this dataset was pickled"):
        pickle.loads(text)


def test_a_view_that_is_replaced_while_it_is_unpickled_shows_the_rows_of_its_id(tmp_path, monkeypatch):
    import jinx._saved_views.open as opening

    path, base = tmp_path / "v.jinx", pair(tmp_path)
    text, real = pickle.dumps(saved(base.select([1, 2, 3]), path)), opening.footer_of

    def replaced_after(file):
        footer = real(file)
        base.select([5, 6, 0]).save(path, overwrite=True)
        return footer

    monkeypatch.setattr(opening, "footer_of", replaced_after)
    assert [sample["n"] for sample in pickle.loads(text)] == [1, 2, 3]
    monkeypatch.undo()
    assert [sample["n"] for sample in jinx.open(path)] == [5, 6, 0]


def ids(opened: jinx.Dataset) -> list[str]:
    return [sample["id"] + str(sample["x"]) for sample in opened]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_read_a_view(method, tmp_path):
    opened = saved(mixed(tmp_path).with_columns({"x": number})[::-1], tmp_path / "v.jinx")
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(ids, [opened, opened[3:]]) == [ids(opened), ids(opened[3:])]


@pytest.mark.torch
@pytest.mark.parametrize("source", [pair, mixed])
def test_loaders_over_a_view(source, tmp_path):
    data = pytest.importorskip("torch.utils.data", exc_type=ImportError)
    import jinx.torch

    opened = saved(source(tmp_path).shuffle(2).with_columns({"x": number}), tmp_path / "v.jinx").select_columns(
        ["n", "x"]
    )
    expected = [sample["n"] for sample in opened]
    for loader in (
        data.DataLoader(opened, batch_size=4, num_workers=2, collate_fn=list),
        jinx.torch.Loader(opened, batch_size=4, collate_fn=list),
    ):
        batches = [sample for batch in loader for sample in batch]
        assert [sample["n"] for sample in batches] == expected
        assert [sample["x"] for sample in batches] == [n + 0.5 for n in expected]


def test_a_view_does_not_replace_its_own_samples(tmp_path):
    path = tmp_path / "in.jinx"
    with jinx.Writer(path) as writer:
        writer.write({"n": 1})
    before = path.read_bytes()
    with pytest.raises(ValueError, match="also an input"):
        jinx.open(path)[:1].save(path, overwrite=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("option", ["--save", "--plot", "--json"])
def test_a_plan_does_not_replace_what_it_is_for(tmp_path, option):
    path = tmp_path / "in.jinx"
    with jinx.Writer(path) as writer:
        writer.write({"num_tokens": 1})
    before = path.read_bytes()
    assert run(["pack", str(path), option, str(path)] + ["--overwrite"] * (option == "--save")) == 2
    assert path.read_bytes() == before


def test_views_of_empty_datasets(tmp_path):
    empty = [tmp_path / "a.jinx", tmp_path / "b.jinx", tmp_path / "c"]
    for path in empty:
        jinx.convert([], path)
    for one, rewritten in enumerate(
        (
            lambda out: jinx.shuffle(empty[0], out, view=True),
            lambda out: jinx.sort(empty[1], out, by="n", view=True),
            lambda out: jinx.select(empty[2], out, view=True),
            lambda out: jinx.concat(empty, out, view=True),
            lambda out: jinx.split(empty[0], out.with_suffix(""), count=1, view=True),
        )
    ):
        out = tmp_path / f"v{one}.jinx"
        assert rewritten(out).samples == 0
        if not out.exists():
            out = tmp_path / f"v{one}" / "part-0000.jinx"
        assert len(jinx.open(out)) == 0
        assert jinx.verify(out) == []


@pytest.mark.parametrize("form", ["jinx", "jsonl"])
@pytest.mark.parametrize("how", ["save", "split", "select", "again"])
def test_a_column_that_a_part_hides_stays_hidden_where_a_view_shows_that_part_alone(tmp_path, form, how):
    sources = []
    for name in "ab":
        jinx.convert([{"n": f"{name}{i}", "hidden": i} for i in range(3)], tmp_path / f"{name}.{form}")
        sources.append(jinx.open(tmp_path / f"{name}.{form}"))
    both = sources[0].drop_columns("hidden") + sources[1]
    view = tmp_path / "view.jinx"
    if how == "save":
        both[:3].save(view)
    elif how == "split":
        jinx.split(both, tmp_path / "parts", count=2, view=True)
        view = tmp_path / "parts" / "part-0000.jinx"
    elif how == "select":
        jinx.select(both, view, [0, 1, 2], view=True)
    else:
        both.save(tmp_path / "both.jinx")
        jinx.open(tmp_path / "both.jinx")[:3].save(view)
    assert jinx.open(view).to_list() == [{"n": "a0"}, {"n": "a1"}, {"n": "a2"}]
    assert not jinx.verify(view)


def test_what_has_no_utf8_form_is_named(tmp_path):
    base = tmp_path / "a\udcff.jinx"
    jinx.convert([{"n": 1}], base)
    with pytest.raises(ValueError, match=r"the path of a dataset .* has lone surrogates"):
        jinx.open(base).save(tmp_path / "view.jinx")
    assert not (tmp_path / "view.jinx").exists()
    with pytest.raises(ValueError, match=r"the column .* has lone surrogates"):
        jinx.open(base).with_columns({"\ud800": [1]})


@pytest.mark.parametrize("name", ["a.jinx", "shards"])
def test_a_dataset_that_was_replaced_is_refused_when_a_view_of_it_is_saved(name, tmp_path):
    def write(first: int) -> None:
        with jinx.Writer(tmp_path / name, overwrite=True) as writer:
            writer.write_many({"id": (number + first) % 90 + 10} for number in range(90))

    write(0)
    dataset = jinx.open(tmp_path / name)
    dataset.filter("id > 50").save(tmp_path / "view.jinx")
    before = (tmp_path / "view.jinx").read_bytes()
    write(3)
    with pytest.raises(jinx.MismatchError, match="the dataset was replaced after it was opened"):
        dataset.save(tmp_path / "view.jinx", overwrite=True)
    assert (tmp_path / "view.jinx").read_bytes() == before
