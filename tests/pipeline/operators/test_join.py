"""join as an operator."""

import pytest

import jinx
import jinx_pipeline as jp


def write(path, samples):
    with jinx.Writer(path) as writer:
        for sample in samples:
            writer.write(sample)
    return str(path)


OTHER = [{"key": 1, "caption": "one"}, {"key": "b", "caption": "bee", "image": b"x"}, {"key": None, "caption": "none"}]
SAMPLES = [{"id": 1.0}, {"id": "b"}, {"id": "1"}, {"id": None}, {}, {"id": True}, {"id": 1}]


@pytest.fixture
def other(tmp_path):
    return write(tmp_path / "other.jinx", OTHER)


def test_left_and_inner(other):
    left = jp.ops.Join(path=other, on={"id": "key"})(SAMPLES)
    assert [item["caption"] for item in left] == ["one", "bee", None, None, None, None, "one"]
    assert [item["image"] for item in left] == [None, b"x", None, None, None, None, None]
    inner = jp.ops.Join(path=other, on={"id": "key"}, how="inner", columns=["caption"], prefix="other_")(SAMPLES)
    assert inner == [
        {"id": 1.0, "other_caption": "one"},
        {"id": "b", "other_caption": "bee"},
        {"id": 1, "other_caption": "one"},
    ]
    assert jp.ops.Join(path=other, on={"id": "key"})([]) == []


def test_several_keys_and_any_partitions_agree(tmp_path):
    pairs = [{"a": at % 7, "b": f"{at % 5}", "n": at} for at in range(35)]
    path = write(tmp_path / "pairs.jinx", pairs)
    samples = [{"a": at % 9, "b": f"{at % 6}"} for at in range(200)]
    operator = jp.ops.Join(path=path, on=["a", "b"])
    wanted = {(pair["a"], pair["b"]): pair["n"] for pair in pairs}
    expected = [wanted.get((sample["a"], sample["b"])) for sample in samples]
    assert [sample["n"] for sample in operator(samples)] == expected
    tables = [operator.signatures(part, jp.Context()) for part in jp.Batch(samples).slices(30)]
    other_tables = operator.signatures_of_other(jp.Context())
    for most in (1000, 70, 9):
        decision = operator.decided(tables, "", other_tables, memory=256 * most)
        assert [None if row < 0 else row for row in decision.keys.array().tolist()] == expected
        assert decision.counts == {"unmatched": expected.count(None), "duplicates": 0}


def test_rows_with_the_same_key(tmp_path):
    path = write(tmp_path / "twice.jinx", [{"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 1, "n": 3}])
    with pytest.raises(ValueError, match=r"samples 0 and 2 of .* have the same key; duplicates: first"):
        jp.ops.Join(path=path, on="id")([{"id": 2}])
    assert jp.ops.Join(path=path, on="id", duplicates="first")([{"id": 1}]) == [{"id": 1, "n": 1}]


def test_the_message_about_equal_keys_is_the_same_for_any_partitions(tmp_path):
    path = write(tmp_path / "twice.jinx", [{"id": at % 20} for at in range(60)])
    operator = jp.ops.Join(path=path, on="id", columns=[])
    tables = [operator.signatures(jp.Batch([{"id": 3}]), jp.Context())]
    for most in (60, 30, 20, 9):
        with pytest.raises(ValueError, match=r"samples 0 and 20 of .* have the same key, and 39 more like them"):
            operator.decided(tables, "", operator.signatures_of_other(jp.Context()), memory=256 * most)


def test_names_with_dots_and_names_of_roles(tmp_path):
    path = write(tmp_path / "dots.jinx", [{"a.b": 1, "c.d": "one", "text": "new"}])
    operator = jp.ops.Join(path=path, on={"id": '"a.b"'})
    assert operator([{"id": 1}]) == [{"id": 1, "c.d": "one", "text": "new"}]
    assert list(map(jp.Roles(text="body").column, operator.writes)) == ["c.d", "text"]
    assert jp.ops.Join(path=path, on='"a.b"', columns=["c.d"])([{"a.b": 1}]) == [{"a.b": 1, "c.d": "one"}]


def test_numbers_inside_of_lists_are_compared_by_their_values(tmp_path):
    path = write(tmp_path / "lists.jinx", [{"id": [1], "n": 1}])
    assert [sample["n"] for sample in jp.ops.Join(path=path, on="id")([{"id": [1]}, {"id": [1.0]}])] == [1, 1]


def test_a_column_that_the_samples_have_is_never_replaced(other):
    with pytest.raises(ValueError, match="join adds the column 'caption', which the samples have; name others"):
        jp.ops.Join(path=other, on={"id": "key"})([{"id": 1, "caption": "mine"}])


def test_what_is_refused(other, tmp_path):
    for parameters, what in (
        ({"path": str(tmp_path / "nothing.jinx"), "on": "id"}, "no such file"),
        ({"path": other, "on": []}, "on is empty"),
        ({"path": other, "on": "id"}, "has no column 'id'; there are: key, caption, image"),
        ({"path": other, "on": {"id": "key"}, "columns": ["capton"]}, "has no column 'capton'"),
        ({"path": other, "on": "key", "columns": ["caption", "caption"]}, "columns has 'caption' twice"),
        ({"path": other, "on": '"key'}, "is not a path at character 0"),
        ({"path": other, "on": "key", "how": "outer"}, "'left' or 'inner'"),
    ):
        with pytest.raises(jp.ParameterError, match=what):
            jp.create("join", **parameters)


def test_another_state_of_the_other_dataset_is_another_operator(other, tmp_path):
    before = jp.ops.Join(path=other, on={"id": "key"}).digest
    assert jp.ops.Join(path=other, on={"id": "key"}).digest == before
    with jinx.Writer(other, overwrite=True) as writer:
        writer.write_many([*OTHER[:2], {"key": None, "caption": "NONE"}])
    assert jp.ops.Join(path=other, on={"id": "key"}).digest != before
