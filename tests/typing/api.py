"""The public API as type checkers see it; pyright checks this file strictly, nobody runs it."""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import jinx


def reading() -> None:
    ds = jinx.open("train.jinx", decode={"image": "pil"}, columns=["image", "score"])
    assert_type(ds, jinx.Dataset)
    assert_type(len(ds), int)
    assert_type(ds[10:20], jinx.Dataset)
    assert_type(ds.shuffle(1).sort("-score").select([1, 2]), jinx.Dataset)
    assert_type(ds.filter(ds["score"] > 1), jinx.Dataset)
    train, rest = ds.split(0.9, seed=1)
    assert_type(train, jinx.Dataset)
    assert_type(rest.shard(num_shards=2, index=0, remainder="drop"), jinx.Dataset)
    assert_type(ds.lengths("image"), npt.NDArray[np.int64])
    assert_type(ds.to_list(), list[dict[str, Any]])
    assert_type(ds.column_names, list[str])
    assert_type(jinx.concat([train, rest]), jinx.Dataset)
    sample: jinx.LazyDict = ds[42]
    assert_type(dict(sample), dict[str, Any])
    assert_type({**sample}, dict[str, Any])


def writing(picture: bytes) -> None:
    with jinx.Writer("out.jinx", shard_size="512MB", media={"image": "Image"}) as writer:
        assert_type(writer, jinx.Writer)
        writer.write({"image": picture, "messages": [{"role": "user"}], "array": np.zeros(3)})
        writer.write_many([{"n": 1}, jinx.open("a.jinx")[0]])
    assert_type(jinx.convert("in.parquet", "out.jinx"), jinx.WriteResult)
    assert_type(jinx.verify("out.jinx"), list[jinx.Problem])
    for row in jinx.stream("in.parquet", columns=["id"]):
        assert_type(row, dict[str, Any])


def words(sample: jinx.LazyDict) -> int:
    return len(sample["text"].split())


def annotating() -> None:
    moved = {"train.jinx": Path("moved.jinx")}
    ds = jinx.open("train.jinx")
    view = ds.with_columns({"score": [1.0, None], "words": words})
    assert_type(view, jinx.Dataset)
    assert_type(view.with_columns({"id": ["a"], "caption": ["b"]}, on="id", missing="drop"), jinx.Dataset)
    assert_type(view.save("view.jinx", overwrite=True), jinx.WriteResult)
    assert_type(jinx.open("view.jinx", base=["moved.jinx"]).info().bases, list[jinx.BaseInfo])
    jinx.open("view.jinx", base=None)
    jinx.rebase("view.jinx", "moved.jinx")
    jinx.rebase("view.jinx", moved)
    with jinx.Writer("out.jinx") as writer:
        writer.copy(view, np.arange(3), replace={"score": np.zeros(3)}, drop="words")


def failing() -> None:
    try:
        jinx.open("a.jinx")
    except jinx.CorruptFileError as error:
        raise ValueError(str(error)) from error
    except jinx.JinxError:
        raise
