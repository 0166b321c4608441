"""Names without a UTF-8 form, numbers beyond any size, and several columns in one string get a clear error."""

import pytest

import jinx

LONE = "\ud800"


@pytest.fixture
def base(tmp_path):
    with jinx.Writer(tmp_path / "base.jinx") as writer:
        for i in range(5):
            writer.write({"id": i, "s": "x", "huge": 2**130, "k": 2**126})
    return tmp_path / "base.jinx"


def test_a_column_with_lone_surrogates_does_not_exist(base, tmp_path):
    dataset = jinx.open(base)
    asked = (
        lambda: dataset[LONE],
        lambda: dataset.lengths(LONE),
        lambda: dataset.sort(LONE),
        lambda: dataset.select_columns([LONE]),
        lambda: dataset.take([0], [LONE]),
        lambda: jinx.sort(base, tmp_path / "out.jinx", by=LONE),
        lambda: jinx.dedup(base, tmp_path / "out.jinx", by=LONE),
    )
    for ask in asked:
        with pytest.raises(KeyError, match="no column"):
            ask()
    for ask in (
        lambda: dataset.filter(f"{LONE} > 2"),
        lambda: jinx.stream(base, where=f"{LONE} > 2"),
        lambda: dataset.with_columns({LONE: range(5)}),
        lambda: jinx.convert(base, tmp_path / "out.jinx", columns=[LONE]),
        lambda: jinx.convert(base, tmp_path / "out.jinx", drop=LONE),
        lambda: jinx.Writer(tmp_path / "out.jinx", indexed=[LONE]),
    ):
        with pytest.raises(ValueError, match="has lone surrogates"):
            ask()


def test_an_output_with_lone_surrogates_is_refused(base, tmp_path):
    out = f"{tmp_path}/{LONE}.jinx"
    for write in (
        lambda: jinx.Writer(out),
        lambda: jinx.sort(base, out, by="id"),
        lambda: jinx.select(base, out),
        lambda: jinx.convert(base, out),
        lambda: jinx.open(base).save(out),
        lambda: jinx.repair(base, out),
        lambda: jinx.Writer(tmp_path / "out.jinx", split=LONE),
    ):
        with pytest.raises(ValueError, match="lone surrogates"):
            write()
    assert [path.name for path in tmp_path.iterdir()] == ["base.jinx"]


@pytest.mark.parametrize(
    "name",
    ["threads", "binary_threshold", "compress_threshold", "string_threshold", "max_row_bytes", "max_value_bytes"],
)
@pytest.mark.parametrize("value", [-1, 2**70])
def test_sizes_out_of_range_are_named(tmp_path, name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        jinx.Writer(tmp_path / "out.jinx", **{name: value})


def test_other_numbers_out_of_range_are_named(base, tmp_path):
    for value in (-1, 2**70):
        with pytest.raises(ValueError, match="max_value_bytes="):
            jinx.open(base, max_value_bytes=value)
    with pytest.raises(ValueError, match="workers=-1"):
        jinx.annotate(base, tmp_path / "out.jinx", function=lambda _: 1, workers=-1)


def test_several_columns_in_one_string_are_told_to_be_a_list(base, tmp_path):
    for sort in (lambda: jinx.open(base).sort("s,-id"), lambda: jinx.sort(base, tmp_path / "out.jinx", by="s,-id")):
        with pytest.raises(KeyError, match=r"several are a list: \['s', '-id'\]"):
            sort()


def test_functions_give_the_same_keys_in_memory_and_on_disk(base, tmp_path):
    nan = float("nan")
    for keys in (
        [3, None, 1, nan, 2],
        [(1, None), (1, 2), (None, 3), (0, nan), (0, 1)],
        [("b", 1), ("a", 2), (None, 3), ("a", None), ("a", 1)],
    ):
        for reverse in (False, True):

            def key(sample, keys=keys):
                return keys[sample["id"]]

            jinx.sort(base, tmp_path / "out.jinx", by=key, descending=reverse, overwrite=True)
            on_disk = [sample["id"] for sample in jinx.open(tmp_path / "out.jinx")]
            assert [sample["id"] for sample in jinx.open(base).sort(key, reverse=reverse)] == on_disk


@pytest.mark.parametrize("returned", [None, 2**40, -1, 1.5, "x", True, [], {"num_tokens": None}, float("nan")])
def test_what_is_no_count_is_shown(base, tmp_path, returned):
    with pytest.raises(jinx.InvalidError, match=r"sample 0: the function returned num_tokens=.*; counts are"):
        jinx.annotate(base, tmp_path / "out.jinx", function=lambda _: returned)


def test_a_function_that_exits_is_an_error(base, tmp_path):
    def leave(_):
        raise SystemExit(0)

    with pytest.raises(jinx.InvalidError, match="sample 0: SystemExit in the function: 0"):
        jinx.annotate(base, tmp_path / "out.jinx", function=leave)


def test_a_function_that_ends_its_process_is_an_error(base, tmp_path, monkeypatch):
    (tmp_path / "ends_its_process.py").write_text("import os\n\ndef count(sample):\n    os._exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    from ends_its_process import count  # pyright: ignore[reportMissingImports]

    with pytest.raises(jinx.JinxError, match="the function ended it"):
        jinx.annotate(base, tmp_path / "out.jinx", function=count, workers=1)


def test_errors_of_arithmetic_name_the_column_that_causes_them(base):
    dataset = jinx.open(base)
    for expression, column in (
        ("id + huge > 3", "huge"),
        ("huge + id > 3", "huge"),
        ("id + k * 4 > 3", "k"),
        ("id < 9 and 4 * k > 3", "k"),
        ("-huge > 3", "huge"),
    ):
        with pytest.raises(jinx.InvalidError, match=f"column '{column}': an integer of more than 127 bits"):
            dataset.filter(expression)
    with pytest.raises(jinx.InvalidError, match="are for numbers"):
        dataset.filter("s + s == 'xx'")


def test_views_are_streamed(base, tmp_path):
    jinx.open(base).filter("id > 1").save(tmp_path / "view.jinx")
    assert [sample["id"] for sample in jinx.stream(tmp_path / "view.jinx")] == [2, 3, 4]
    found = list(jinx.stream([tmp_path / "view.jinx", base], columns=["id"], where="id > 3"))
    assert found == [{"id": 4}, {"id": 4}]
    assert type(found[0]) is dict


def test_lone_surrogates_are_named_everywhere(base, tmp_path):
    pytest.importorskip("matplotlib")
    from jinx.mds import MDSWriter

    (tmp_path / "keys.py").write_text(f"def lone(sample):\n    return {LONE!a}\n", "utf-8")
    plan = jinx.pack([1, 2, 3], 8)
    for call in (
        lambda: jinx.open(base, split=LONE),
        lambda: plan.plot(tmp_path / f"{LONE}.png"),
        lambda: MDSWriter(out=f"{tmp_path}/{LONE}", columns={"a": "int"}),
        lambda: jinx.rebase(f"{tmp_path}/{LONE}.jinx", base),
        lambda: jinx.sort(base, tmp_path / "out.jinx", by=lambda _: (1, LONE)),
        lambda: jinx.sort(base, tmp_path / "out.jinx", code=f"{tmp_path / 'keys.py'}:lone", workers=1),
    ):
        with pytest.raises(ValueError, match="lone surrogates") as found:
            call()
        assert not isinstance(found.value, UnicodeError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base.jinx", "keys.py"]
