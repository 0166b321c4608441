"""`jinx index`: files of positions, by command."""

from pathlib import Path

import numpy as np
import pytest

import jinx
import samples
from jinx._cli.program import run
from jinx._rewrite.positions_file import read_positions


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    samples.write(Path("base.jinx"), count=12)


def positions(path: str) -> list[int]:
    return read_positions(path).values.tolist()


def test_identity_and_the_order_of_the_options():
    assert run(["index", "identity", "base.jinx", "a.npy", "--every", "2", "--offset", "1", "--number", "3"]) == 0
    assert positions("a.npy") == [2, 4, 6]
    assert run(["index", "identity", "base.jinx", "b.json", "--every", "3", "--percentage", "0.5"]) == 0
    assert positions("b.json") == [0, 3]
    assert run(["index", "identity", "c.txt", "--number", "4"]) == 0
    assert positions("c.txt") == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["in.parquet", "in.jsonl", "in.jsonl.gz", "in.msgpack", "in", "in.mds"])
def test_every_format_is_counted_and_sorted(name):
    jinx.convert("base.jinx", name, columns=["id", "n", "meta"])
    assert run(["index", "shuffle", name, "a.npy", "--seed", "5"]) == 0
    assert positions("a.npy") == np.random.default_rng(5).permutation(12).tolist()
    assert run(["index", "sort", name, "b.npy", "--by", "-n"]) == 0
    assert positions("b.npy") == list(range(12))[::-1]
    assert [one.name for one in Path().iterdir() if one.name.startswith(".")] == []


def test_random_with_a_seed_and_without():
    for out in ("a.npy", "b.npy"):
        assert run(["index", "random", "base.jinx", "base.jinx", out, "--seed", "1"]) == 0
    assert positions("a.npy") == positions("b.npy") == np.random.default_rng(1).permutation(24).tolist()
    assert run(["index", "random", "c.npy", "--number", "1000"]) == 0
    assert sorted(positions("c.npy")) == list(range(1000)) != positions("c.npy")


def test_sort_by_a_function_of_a_file():
    Path("code.py").write_text("def key(sample):\n    return -sample['n'] % 5\n")
    assert run(["index", "sort", "base.jinx", "a.npy", "--code", "code.py:key"]) == 0
    assert positions("a.npy") == sorted(range(12), key=lambda n: -n % 5)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("code.py", "write FILE.py:FUNCTION"),
        ("none.py:key", "none.py: no such file"),
        ("code.py:other", "there is no function 'other'"),
        ("base.jinx:key", "not a Python file"),
    ],
)
def test_functions_that_there_are_not(code, said, capsys):
    Path("code.py").write_text("key = 1\n")
    assert run(["index", "sort", "base.jinx", "a.npy", "--code", code]) == 2
    assert said in capsys.readouterr().err
    assert not Path("a.npy").exists()


def test_reverse_puts_back_what_an_order_shuffled():
    assert run(["index", "shuffle", "base.jinx", "order.npy", "--seed", "3"]) == 0
    assert run(["index", "reverse", "order.npy", "back.npy"]) == 0
    assert run(["select", "base.jinx", "shuffled.jinx", "--positions", "order.npy"]) == 0
    assert run(["select", "shuffled.jinx", "again.jinx", "--positions", "back.npy"]) == 0
    assert jinx.open("again.jinx")["n"].tolist() == list(range(12))


@pytest.mark.parametrize("values", [[0, 0, 1], [1, 2], [0, 5], [-1, 0]])
def test_only_whole_orders_are_reversed(values, capsys):
    np.save("some.npy", values)
    assert run(["index", "reverse", "some.npy", "back.npy"]) == 2
    assert "every position from 0 on, each once" in capsys.readouterr().err


def test_slice_and_its_remainder():
    np.save("all.npy", np.array([5, 3, 9, 1, 7], dtype=np.uint64))
    assert run(["index", "slice", "all.npy", "a.npy", "--percentage", "0.6", "--remainder", "b.npy"]) == 0
    assert (positions("a.npy"), positions("b.npy")) == ([5, 3, 9], [1, 7])
    assert run(["index", "slice", "all.npy", "c.npy", "--number", "1", "--remainder", "b.npy"]) == 2
    assert not Path("c.npy").exists()


def test_join_knows_the_dataset_if_all_files_are_of_one():
    assert run(["index", "identity", "base.jinx", "a.npy", "--number", "2"]) == 0
    assert run(["index", "shuffle", "base.jinx", "b.json", "--seed", "1", "--number", "1"]) == 0
    assert run(["index", "join", "a.npy", "b.json", "ab.npy"]) == 0
    assert positions("ab.npy")[:2] == [0, 1]
    assert read_positions("ab.npy").origin == read_positions("a.npy").origin is not None
    np.save("foreign.npy", [3])
    assert run(["index", "join", "a.npy", "foreign.npy", "mixed.txt"]) == 0
    assert read_positions("mixed.txt").origin is None


def test_join_refuses_positions_of_two_datasets(capsys):
    samples.write(Path("other.jinx"), count=3)
    for name in ("base", "other"):
        assert run(["index", "identity", f"{name}.jinx", f"{name}.npy"]) == 0
    assert run(["index", "join", "base.npy", "other.npy", "both.npy"]) == 2
    assert "positions of different datasets" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["identity", "a.npy"], "Name the inputs, or give --number"),
        (["identity"], "where to?"),
        (["sort", "a.npy", "--by", "n"], "sort needs inputs"),
        (["sort", "base.jinx", "a.npy"], "Give one of --by and --code"),
        (["sort", "base.jinx", "a.npy", "--by", "m"], "m"),
        (["reverse", "a.npy"], "give one file and the output"),
        (["join", "a.npy"], "join what?"),
        (["identity", "base.jinx", "a.npy", "--percentage", "50"], "where 0.5 is one half"),
        (["identity", "base.jinx", "a.npy", "--percentage", "0.5", "--number", "1"], "contradict each other"),
        (["identity", "base.jinx", "a.npy", "--every", "0"], "'--every': 0 is not at least 1"),
        (["identity", "base.jinx", "there.npy"], "exists"),
    ],
)
def test_what_cannot_be_done(words, said, capsys):
    Path("there.npy").touch()
    assert run(["index", *words]) == 2
    assert said in capsys.readouterr().err
    assert not Path("a.npy").exists()


def test_split_of_the_inputs():
    Path("both").mkdir()
    for name in ("train", "test"):
        samples.write(Path("both", f"{name}.jinx"), count=4, split=name)
    assert run(["index", "identity", "both", "a.npy", "--number", "9"]) == 0
    assert len(positions("a.npy")) == 8
    assert run(["index", "shuffle", "both", "b.npy", "--split", "train"]) == 0
    assert sorted(positions("b.npy")) == [0, 1, 2, 3]
    assert run(["select", "both", "c.jinx", "--positions", "b.npy", "--split", "train"]) == 0
    chosen = jinx.open("both", split="train").select(positions("b.npy"))
    assert list(jinx.open("c.jinx")["id"]) == list(chosen["id"])
    jinx.select("both", "d.jinx", [3], split="test")
    assert jinx.open("d.jinx")[0]["id"] == jinx.open("both", split="test")[3]["id"]
    assert jinx.open("both").info().split is None


def test_a_split_that_is_not_there(capfd):
    Path("both").mkdir()
    for name in ("train", "test"):
        samples.write(Path("both", f"{name}.jinx"), count=4, split=name)
    Path("none").mkdir()
    with pytest.raises(jinx.MismatchError, match=r'no split "tset" here; there are: test, train'):
        jinx.open("both", split="tset")
    assert run(["index", "random", "both", "a.npy", "--split", "tset"]) != 0
    assert "there are: test, train" in capfd.readouterr().err
    for name in ("a", "b"):
        samples.write(Path("none", f"{name}.jinx"), count=1)
    with pytest.raises(jinx.MismatchError, match="belong to no split"):
        jinx.open("none", split="train")


def test_the_help_of_every_command(capsys):
    from jinx._cli.index import index

    for name in index.commands:
        assert run(["index", name, "--help"]) == 0
        assert capsys.readouterr().out.split("Examples:\n")[1].count("jinx index") == 2
    assert sorted(index.commands) == ["identity", "join", "random", "reverse", "shuffle", "slice", "sort"]


def test_neither_inputs_nor_each_other_are_replaced(capsys):
    jinx.convert("base.jinx", "lines.jsonl")
    for words in (["identity", "lines.jsonl", "lines.jsonl"], ["shuffle", "lines.jsonl", "./lines.jsonl"]):
        before = Path(words[-1]).read_bytes()
        assert run(["index", *words, "--overwrite"]) == 2
        assert "also an input" in capsys.readouterr().err
        assert Path(words[-1]).read_bytes() == before
    assert run(["index", "identity", "all.npy", "--number", "4"]) == 0
    assert run(["index", "slice", "all.npy", "some.npy", "--remainder", "./some.npy", "--percentage", "0.5"]) == 2
    assert "the other output too" in capsys.readouterr().err
    assert not Path("some.npy").exists()


def test_a_position_beyond_memory_is_no_order(capsys):
    np.save("far.npy", np.array([0, 2**60], dtype=np.uint64))
    assert run(["index", "reverse", "far.npy", "back.npy"]) == 2
    assert "only an order of all samples" in capsys.readouterr().err
    assert run(["index", "random", "many.npy", "--number", str(2**60)]) != 0
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_error_of_the_function_names_the_sample(capsys):
    Path("code.py").write_text("def key(sample):\n    return 1 / (sample['n'] - 3)\n")
    assert run(["index", "sort", "base.jinx", "a.npy", "--code", "code.py:key"]) != 0
    assert "ZeroDivisionError in the key function at sample 3" in capsys.readouterr().err
    assert run(["index", "identity", "base.jinx", ""]) != 0
    assert "empty name" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["x.jinx"], ["x.BINX"], ["a.npy", "--remainder", "x.jinx"]])
def test_positions_never_take_the_name_of_a_dataset(arguments, capsys):
    Path("in.txt").write_text("0\n1\n")
    assert run(["index", "slice", "in.txt", *arguments]) == 2
    assert "the name of a dataset's file" in capsys.readouterr().err
    assert sorted(one.name for one in Path().iterdir()) == ["base.binx", "base.jinx", "in.txt"]
