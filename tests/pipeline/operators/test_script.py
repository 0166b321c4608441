"""Operators that run a user's code."""

import functools
import re
import threading
import types
from typing import Any

import numpy as np
import pytest

import jinx
import jinx_pipeline as jp
from jinx._code_digest import code_digest
from jinx_pipeline.operators import ScriptOp

SAMPLES = [{"id": 1, "tags": ["a"]}, {"id": 2, "tags": []}, {"id": 3, "tags": ["b", "c"]}]


def tag_each(sample):
    return [{"id": sample["id"], "tag": tag} for tag in sample["tags"]]


def test_a_function_changes_drops_and_multiplies():
    def grow(sample):
        if not sample["tags"]:
            return None
        sample["tags"].append("new")
        return sample

    assert ScriptOp(function=grow)(SAMPLES) == [{"id": 1, "tags": ["a", "new"]}, {"id": 3, "tags": ["b", "c", "new"]}]
    assert ScriptOp(function=tag_each)(SAMPLES) == [{"id": 1, "tag": "a"}, {"id": 3, "tag": "b"}, {"id": 3, "tag": "c"}]


def test_only_what_changed_is_written(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        for number in range(3):
            writer.write({"number": number, "image": bytes([number]) * 100, "same": "x"})
    dataset = jinx.open(tmp_path / "in.jinx")

    def double(sample):
        assert sample["same"] == "x"
        return {**sample, "number": sample["number"] * 2} if sample["number"] else sample

    batch = ScriptOp(function=double).run(jp.Batch(dataset), jp.Context())
    assert batch.changed == {"number": [0, 2, 4]}
    assert batch.to_samples()[2] == {"number": 4, "image": b"\x02" * 100, "same": "x"}
    assert batch.ids == ["0/0", "1/0", "2/0"]


def test_a_removed_column_is_gone():
    def forget(sample):
        del sample["tags"]
        return sample

    assert ScriptOp(function=forget)(SAMPLES) == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_what_a_function_may_not_return():
    with pytest.raises(TypeError, match="function: the function returned int"):
        ScriptOp(function=len)(SAMPLES)


def test_a_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "FACTOR = 10\n"
        "def process_single(sample):\n    return {**sample, 'id': sample['id'] * FACTOR}\n"
        "def columns(samples):\n    samples['n'] = [len(tags) for tags in samples.pop('tags')]\n    return samples\n",
        "utf-8",
    )
    mapper = jp.create("python_file_mapper", file_path=str(file))
    assert [sample["id"] for sample in mapper(SAMPLES)] == [10, 20, 30]
    batched = jp.create("python_file_mapper", file_path=str(file), function_name="columns", batched=True)
    assert batched(SAMPLES) == [{"id": 1, "n": 1}, {"id": 2, "n": 0}, {"id": 3, "n": 2}]
    before = mapper.digest
    file.write_text(file.read_text("utf-8").replace("10", "11"), "utf-8")
    assert mapper.digest != before
    assert [sample["id"] for sample in mapper(SAMPLES)] == [11, 22, 33]
    with pytest.raises(jp.ParameterError, match=r"has no function 'none'"):
        jp.create("python_file_mapper", file_path=str(file), function_name="none")(SAMPLES)
    with pytest.raises(jp.ParameterError, match="is not a file"):
        jp.create("python_file_mapper", file_path=str(tmp_path / "none.py"))


def test_a_digest_follows_the_body_and_what_it_closes_over():
    def add(number):
        return lambda sample: {**sample, "id": sample["id"] + number}

    assert ScriptOp(function=add(1)).digest == ScriptOp(function=add(1)).digest
    assert ScriptOp(function=add(1)).digest != ScriptOp(function=add(2)).digest
    assert code_digest(tag_each) == code_digest(tag_each)
    assert code_digest(lambda x: x + 1) != code_digest(lambda x: x + 2)


FACTOR = [1]


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, sample):
        return {**sample, "id": sample["id"] * self.factor}


def test_a_digest_follows_objects_globals_and_what_is_called():
    import collections

    import numpy as np

    def with_table(table):
        return lambda sample: {**sample, "id": int(table[sample["id"]])}

    assert code_digest(Scaler(2)) == code_digest(Scaler(2))
    assert code_digest(Scaler(2)) != code_digest(Scaler(3))
    assert code_digest(Scaler(2).__call__) != code_digest(Scaler(3).__call__)
    assert code_digest(with_table(np.arange(3))) == code_digest(with_table(np.arange(3)))
    assert code_digest(with_table(np.arange(3))) != code_digest(with_table(np.ones(3)))
    assert code_digest(collections.Counter) == code_digest(collections.Counter)

    def scaled(sample):
        return {**sample, "id": sample["id"] * FACTOR[0]}

    before = code_digest(scaled)
    FACTOR[0] = 2
    try:
        assert code_digest(scaled) != before
    finally:
        FACTOR[0] = 1


def closing_over(value):
    return lambda sample: {**sample, "value": value}


def inheriting(value):
    class Base:
        def value(self):
            return value

    class Function(Base):
        def __call__(self, sample):
            return {**sample, "value": self.value()}

    return Function()


def of_a_metaclass(value):
    class Meta(type):
        def value(cls):
            return value

    class Made(metaclass=Meta):
        pass

    return closing_over(Made)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(inheriting, id="base class"),
        pytest.param(of_a_metaclass, id="metaclass"),
        pytest.param(lambda n: closing_over({"a": n}.get), id="method of a dict"),
        pytest.param(lambda n: closing_over(re.compile(str(n)).search), id="method of a pattern"),
        pytest.param(lambda n: closing_over(types.MappingProxyType({"a": n})), id="mapping proxy"),
        pytest.param(lambda n: closing_over([1, 2] if n == 1 else (1, 2)), id="list or tuple"),
        pytest.param(lambda n: closing_over({"a": 1, "b": 2} if n == 1 else {"b": 2, "a": 1}), id="order of a dict"),
        pytest.param(lambda n: type("Made", (), {"__call__": functools.partialmethod(min, n)})(), id="partial method"),
    ],
)
def test_a_digest_follows_values_that_are_hidden(function):
    assert code_digest(function(1)) == code_digest(function(1))
    assert code_digest(function(1)) != code_digest(function(2))


def operator_of(value, table=None):
    """An operator of a script, whose code holds a value."""

    class Base(jp.Mapper):
        table: Any = None

        def value(self):
            return value

    class Made(Base):
        def process(self, batch, ctx):
            return {"value": [self.value()] * len(batch)}

    return Made(table=table)


def test_the_digest_of_a_scripts_operator_follows_its_code_and_its_parameters():
    def large(number):
        table = np.zeros(5000, dtype=np.int64)
        table[2000] = number
        return table

    assert operator_of(1, large(1)).digest == operator_of(1, large(1)).digest
    others = [operator_of(2), *(operator_of(1, table) for table in (None, large(1), large(2), (1, 2), [1, 2], {1: 2}))]
    others += [operator_of(1, {"1": 2}), operator_of(1, {"a": 1, "b": 2}), operator_of(1, {"b": 2, "a": 1})]
    assert len({operator.digest for operator in others}) == len(others)


def test_a_function_with_a_lock_is_refused_by_name():
    with pytest.raises(TypeError, match=r"uses value, of type _thread.lock.*make it inside the function"):
        _ = ScriptOp(function=closing_over(threading.Lock())).digest


@pytest.mark.parametrize(
    ("text", "function", "what"),
    [
        ("def process_single(sample:\n", "process_single", "is not Python: SyntaxError"),
        ("def shorten(sample): ...\n", "shortn", "has no function 'shortn'.*did you mean 'shorten'"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_refused_when_the_operator_is_made(tmp_path, text, function, what):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(jp.ParameterError, match=what):
        jp.create("python_file_mapper", file_path=file, function_name=function)


def test_a_file_is_not_run_when_the_operator_is_made(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("from os.path import *\nraise RuntimeError('it ran')\n")
    made = jp.create("python_file_mapper", file_path=file, function_name="basename")
    with pytest.raises(ImportError, match=r"mine\.py cannot be loaded: RuntimeError: it ran"):
        made([{"text": "a"}])
