"""`jinx.split`: parts on disk."""

from collections import Counter
from pathlib import Path

import pytest

import jinx
import samples
from jinx._cli.program import run


@pytest.fixture
def base(tmp_path: Path) -> Path:
    with jinx.Writer(tmp_path / "base.jinx") as writer:
        writer.write_many(
            {**samples.sample(n), "document": f"d{n // 3}", "label": "rare" if n % 10 == 0 else "often"}
            for n in range(60)
        )
    return tmp_path / "base.jinx"


def names(directory: Path) -> list[str]:
    return sorted(one.name for one in directory.iterdir())


def numbers(part) -> list[int]:
    return jinx.open(part.path)["n"].tolist()


def test_parts_hold_every_sample_once_as_it_was(base, tmp_path):
    done = jinx.split(base, tmp_path / "parts", fractions={"train": 0.8, "test": 0.2}, seed=3)
    assert [(Path(part.path).name, part.samples) for part in done.parts] == [("train.jinx", 48), ("test.jinx", 12)]
    assert done.samples == 60
    expected = {one["n"]: samples.plain(one) for one in jinx.open(base)}
    found = [samples.plain(one) for part in done.parts for one in jinx.open(part.path)]
    assert sorted(one["n"] for one in found) == sorted(expected)
    assert all(one == expected[one["n"]] for one in found)
    assert all(numbers(part) == sorted(numbers(part)) for part in done.parts)
    assert len(jinx.open(tmp_path / "parts", split="test")) == 12
    assert all(jinx.verify(part.path) == [] for part in done.parts)


def test_a_seed_chooses_and_none_takes_the_beginning(base, tmp_path):
    first = jinx.split(base, tmp_path / "a", fractions=[0.5, 0.5], seed=1)
    again = jinx.split(base, tmp_path / "b", fractions=[0.5, 0.5], seed=1)
    other = jinx.split(base, tmp_path / "c", fractions=[0.5, 0.5], seed=2)
    plain = jinx.split(base, tmp_path / "d", fractions=[0.5, 0.5])
    assert numbers(first.parts[0]) == numbers(again.parts[0]) != numbers(other.parts[0])
    assert numbers(plain.parts[0]) == list(range(30))


def test_count_samples_and_size(base, tmp_path):
    assert [one.samples for one in jinx.split(base, tmp_path / "a", count=7).parts] == [9, 8, 9, 8, 9, 8, 9]
    assert [one.samples for one in jinx.split(base, tmp_path / "b", samples=25).parts] == [25, 25, 10]
    by_size = jinx.split(base, tmp_path / "c", size=15_000).parts
    assert len(by_size) > 2
    assert sum(one.samples for one in by_size) == 60
    # The index and the footer of each come on top.
    assert all(9_000 < one.bytes < 18_000 for one in by_size[:-1])


def test_a_part_for_each_value(base, tmp_path):
    done = jinx.split(base, tmp_path / "parts", by="meta.source")
    assert [Path(part.path).name for part in done.parts] == ["even.jinx", "odd.jinx"]
    assert all(n % 2 == 1 for n in numbers(done.parts[1]))
    flags = jinx.split(base, tmp_path / "flags", by="flag", view=True)
    assert [Path(part.path).name for part in flags.parts] == ["true.jinx", "false.jinx"]


def test_values_that_are_paths_become_names(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"source": name} for name in ("web/a", ".hidden", "", "web/a", None))
    done = jinx.split(tmp_path / "in.jinx", tmp_path / "parts", by="source")
    assert [Path(part.path).name for part in done.parts] == ["web-a.jinx", "-hidden.jinx", "-.jinx", "null.jinx"]
    assert done.missing == 1


def test_two_values_of_one_name_are_refused(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"source": name} for name in ("a/b", "a-b"))
    with pytest.raises(ValueError, match="two values of 'source', 'a/b' and 'a-b', would give the part 'a-b'"):
        jinx.split(tmp_path / "in.jinx", tmp_path / "parts", by="source")
    assert names(tmp_path) == ["in.jinx"]


def test_values_that_differ_in_case_are_two_parts_or_refused_before_writing(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"source": name} for name in ("a", "A", "caf\u00e9", "cafe\u0301", "a"))
    (tmp_path / "Probe").touch()
    if (tmp_path / "probe").exists():
        with pytest.raises(ValueError, match="the parts 'a' and 'A' would be one file on this disk"):
            jinx.split(tmp_path / "in.jinx", tmp_path / "parts", by="source")
        return
    done = jinx.split(tmp_path / "in.jinx", tmp_path / "parts", by="source")
    assert [part.samples for part in done.parts] == [2, 1, 1, 1]
    assert names(tmp_path / "parts") == ["A.jinx", "a.jinx", "cafe\u0301.jinx", "caf\u00e9.jinx"]


def test_a_value_too_long_for_a_name(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"source": name} for name in ("a", "ü" * 108, "ü" * 109))
    with pytest.raises(ValueError, match="sample 2: this value of 'source' is longer than the 216 bytes"):
        jinx.split(tmp_path / "in.jinx", tmp_path / "parts", by="source")
    for kind in ("jinx", "jsonl", "msgpack", "mds"):
        done = jinx.split(jinx.open(tmp_path / "in.jinx")[:2], tmp_path / kind, by="source", output_format=kind)
        assert [part.samples for part in done.parts] == [1, 1]
    with pytest.raises(ValueError, match="a name has at most 216 bytes"):
        jinx.split(tmp_path / "in.jinx", tmp_path / "parts", count=2, prefix="p" * 216)


@pytest.mark.parametrize("more", [{}, {"stratify": "label"}, {"seed": 5}, {"stratify": "label", "seed": 5}])
@pytest.mark.parametrize("rule", [{"fractions": [0.7, 0.3]}, {"count": 3}, {"samples": 20}, {"size": 20_000}])
def test_groups_stay_together(base, tmp_path, rule, more):
    done = jinx.split(base, tmp_path / "parts", group="document", **rule, **more)
    places: dict[str, set[int]] = {}
    for i, part in enumerate(done.parts):
        for name in jinx.open(part.path)["document"]:
            places.setdefault(name, set()).add(i)
    assert len(places) == 20
    assert all(len(parts) == 1 for parts in places.values())
    assert sum(part.samples for part in done.parts) == 60
    assert max(part.samples for part in done.parts) <= 45


def test_strata_have_their_shares(base, tmp_path):
    done = jinx.split(base, tmp_path / "parts", fractions={"train": 0.5, "test": 0.5}, stratify="label", seed=1)
    for part in done.parts:
        assert Counter(jinx.open(part.path)["label"]) == {"rare": 3, "often": 27}


def test_views_show_what_copies_hold(base, tmp_path):
    rule = {"fractions": {"train": 0.9, "test": 0.1}, "seed": 4, "where": "n >= 10"}
    copies = jinx.split(base, tmp_path / "copies", **rule)
    views = jinx.split(base, tmp_path / "views", **rule, view=True)
    for copy, view in zip(copies.parts, views.parts, strict=True):
        assert numbers(view) == numbers(copy)
        assert jinx.open(view.path).info().bases[0].path == str(base)
    # A view knows its base from its own place, which was another while it was written.
    (tmp_path / "moved").mkdir()
    for name in ("base.jinx", "base.binx", "views"):
        (tmp_path / name).rename(tmp_path / "moved" / name)
    assert len(jinx.open(tmp_path / "moved" / "views" / "test.jinx")) == 5


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "mds"])
def test_parts_of_other_formats(base, tmp_path, kind):
    source = jinx.open(base).select_columns(["id", "n", "label"])
    done = jinx.split(source, tmp_path / "parts", count=2, output_format=kind)
    found = [row["n"] for part in done.parts for row in jinx.stream(part.path)]
    assert found == list(range(60))


def test_shards_in_parts(base, tmp_path):
    done = jinx.split(base, tmp_path / "parts", count=2, shard_size=8000)
    assert all(part.shards > 2 and Path(part.path).is_dir() for part in done.parts)
    assert [n for part in done.parts for n in numbers(part)] == list(range(60))


def test_several_inputs_of_several_formats(base, tmp_path):
    jinx.convert(jinx.open(base).select_columns(["n", "label"]), tmp_path / "more.parquet")
    done = jinx.split([base, tmp_path / "more.parquet"], tmp_path / "parts", samples=100)
    assert [part.samples for part in done.parts] == [100, 20]
    assert numbers(done.parts[1]) == list(range(40, 60))
    assert names(tmp_path) == ["base.binx", "base.jinx", "more.parquet", "parts"]


def test_samples_without_a_key(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, **({"document": n // 4} if n % 2 else {"document": None})} for n in range(16))
    rule = {"fractions": [0.5, 0.5], "group": "document"}
    kept = jinx.split(tmp_path / "in.jinx", tmp_path / "kept", **rule)
    assert (kept.missing, kept.samples) == (8, 16)
    dropped = jinx.split(tmp_path / "in.jinx", tmp_path / "dropped", **rule, missing="drop")
    assert (dropped.missing, dropped.samples) == (8, 8)
    with pytest.raises(KeyError, match="8 samples have no document, for instance sample 0"):
        jinx.split(tmp_path / "in.jinx", tmp_path / "failed", **rule, missing="fail")
    assert not (tmp_path / "failed").exists()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({}, "none was given"),
        ({"count": 2, "samples": 2}, "count and samples were given"),
        ({"fractions": [0.5, 0.4]}, "add up to 1"),
        ({"fractions": {"a": 1.5, "b": -0.5}}, "add up to 1"),
        ({"count": 0}, "count=0 is not at least 1"),
        ({"count": 20_000}, "more than 10,000 parts"),
        ({"by": "label", "seed": 1}, "seed has no meaning with by"),
        ({"count": 2, "group": "document", "missing": "ignore"}, "missing='ignore' is not known"),
        ({"size": "big"}, "'big' is not a size"),
        ({"fractions": {"a/b": 1.0}}, "cannot be named 'a/b'"),
        ({"count": 2, "view": True, "compression": "zstd"}, "compression is for copies"),
        ({"count": 2, "missing": "drop"}, "missing='drop' has no meaning without by, stratify or group"),
        ({"fractions": {"a": 1.0}, "prefix": "q"}, "prefix='q' is for numbered parts"),
        ({"by": "label", "prefix": "q"}, "prefix='q' is for numbered parts"),
        ({"count": 2, "seed": -1}, "seed=-1 is not at least 0"),
    ],
)
def test_impossible_rules_are_refused_and_leave_nothing(base, tmp_path, rule, message):
    with pytest.raises(ValueError, match=message):
        jinx.split(base, tmp_path / "parts", **rule)
    assert names(tmp_path) == ["base.binx", "base.jinx"]


@pytest.mark.parametrize(
    ("name", "said"), [("parts.jinx", "one jinx file"), ("parts.jsonl.gz", "one jsonl file"), ("-", "standard output")]
)
def test_parts_are_no_single_file(base, tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=said):
        jinx.split(base, name, count=2)
    assert names(tmp_path) == ["base.binx", "base.jinx"]


def test_columns_that_do_not_exist_are_refused(base, tmp_path):
    for rule in ({"by": "labl"}, {"count": 2, "group": "labl"}, {"count": 2, "stratify": "meta.sorce"}):
        with pytest.raises(KeyError, match=r"labl|sorce"):
            jinx.split(base, tmp_path / "parts", **rule)


def test_an_existing_directory_is_replaced_only_when_asked_and_only_if_it_holds_datasets(base, tmp_path):
    jinx.split(base, tmp_path / "parts", count=3)
    with pytest.raises(FileExistsError, match="overwrite"):
        jinx.split(base, tmp_path / "parts", count=2)
    jinx.split(base, tmp_path / "parts", count=2, overwrite=True)
    assert sorted(one.name for one in (tmp_path / "parts").glob("*.jinx")) == ["part-0000.jinx", "part-0001.jinx"]
    (tmp_path / "parts" / "thesis.tex").write_text("precious")
    with pytest.raises(ValueError, match=r"thesis\.tex.*nothing is removed"):
        jinx.split(base, tmp_path / "parts", count=2, overwrite=True)
    with pytest.raises(ValueError, match=r"parts holds the input .*part-0000\.jinx"):
        jinx.split(tmp_path / "parts" / "part-0000.jinx", tmp_path / "parts", count=2, overwrite=True)


def test_an_empty_dataset(tmp_path):
    jinx.Writer(tmp_path / "in.jinx").close()
    for i, rule in enumerate(({"count": 2}, {"fractions": [0.5, 0.5]}, {"samples": 3}, {"size": 10})):
        done = jinx.split(tmp_path / "in.jinx", tmp_path / str(i), **rule)
        assert [part.samples for part in done.parts] == [0] * len(done.parts)


def test_the_command(base, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["split", "base.jinx", "parts", "--fractions", "train=0.9,test=0.1", "--group", "document", "--seed", "1"]
    assert run(words) == 0
    said = capsys.readouterr().err
    assert "parts: 60 samples, " in said
    assert "parts/train.jinx: 54 samples" in said
    assert run(["split", "base.jinx", "halves", "--fractions", "0.5,0.5", "--json"]) == 0
    assert '"samples": 60' in capsys.readouterr().out
    assert run(["split", "base.jinx", "x", "--fractions", "a=b"]) == 2
    assert "write train=0.9,test=0.1" in capsys.readouterr().err
    assert run(["split", "base.jinx"]) == 2


def test_a_part_cannot_be_named_twice(base, tmp_path, capsys):
    assert run(["split", str(base), str(tmp_path / "parts"), "--fractions", "train=0.5,train=0.5"]) == 2
    assert "'train' is given twice" in capsys.readouterr().err
    assert not (tmp_path / "parts").exists()
