"""Lengths that were counted in different ways stay told apart when they are joined, and are refused."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import chat
import jinx
from jinx.errors import MismatchError

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
pytest.importorskip("PIL.Image")

from jinx.torch import ElasticLoader, PackedDataLoader, PackedDataset  # noqa: E402

COUNT, LENGTH = 20, 64
RULES = r"image rule 'fixed:tokens=4,patches=0' and 'fixed:tokens=9,patches=0'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Lengths by two image rules: as views, and as files of their own."""
    folder = tmp_path_factory.mktemp("recipes")
    chat.write_tokenizer(folder / "tokenizer")
    chat.write_chat(folder / "chat.jinx", COUNT, images=2)
    for number in (4, 9):
        out = folder / f"l{number}.jinx"
        jinx.annotate(
            folder / "chat.jinx", out, tokenizer=folder / "tokenizer", image_rule=f"fixed:{number}", tokens=True
        )
        jinx.select(jinx.open(out), folder / f"copy{number}.jinx", range(COUNT))
    return folder


def added(folder: Path, names: tuple[str, str]) -> jinx.Dataset:
    return jinx.open(folder / names[0]) + jinx.open(folder / names[1])


def pickled(folder: Path, names: tuple[str, str]) -> jinx.Dataset:
    return pickle.loads(pickle.dumps(added(folder, names)))


def saved(folder: Path, names: tuple[str, str]) -> jinx.Dataset:
    added(folder, names).shuffle(seed=1).save(folder / "saved.jinx", overwrite=True)
    return jinx.open(folder / "saved.jinx")


def saved_again(folder: Path, names: tuple[str, str]) -> jinx.Dataset:
    saved(folder, names).select_columns(["num_tokens"]).save(folder / "again.jinx", overwrite=True)
    return jinx.open(folder / "again.jinx")


def copied(folder: Path, names: tuple[str, str]) -> jinx.Dataset:
    jinx.concat([folder / name for name in names], folder / "copied.jinx", overwrite=True)
    return jinx.open(folder / "copied.jinx")


def sharded(folder: Path, names: tuple[str, str]) -> jinx.Dataset:
    jinx.concat([folder / name for name in names], folder / "sharded", overwrite=True, shard_size="4 KB")
    return jinx.open(folder / "sharded")


def viewed(folder: Path, names: tuple[str, str]) -> jinx.Dataset:
    jinx.concat([folder / name for name in names], folder / "viewed.jinx", overwrite=True, view=True)
    return jinx.open(folder / "viewed.jinx")


def view_of_a_copy(folder: Path, names: tuple[str, str]) -> jinx.Dataset:
    copied(folder, names)[::2].save(folder / "part.jinx", overwrite=True)
    return jinx.open(folder / "part.jinx")


def mapped(folder: Path, names: tuple[str, str]) -> jinx.Dataset:
    return added(folder, names).with_columns({"more": [1] * 2 * COUNT})


joined = pytest.mark.parametrize(
    "join", [added, pickled, saved, saved_again, copied, sharded, viewed, view_of_a_copy, mapped]
)
kinds = pytest.mark.parametrize("kind", ["l", "copy"])


@joined
@kinds
def test_lengths_of_two_kinds_are_not_packed(folder, join, kind):
    both = join(folder, (f"{kind}4.jinx", f"{kind}9.jinx"))
    for use in (
        lambda: jinx.pack(both, LENGTH),
        lambda: jinx.compare_packing(both, LENGTH),
        lambda: ElasticLoader(both, tokens_per_batch=LENGTH),
        lambda: PackedDataset(both, {"max_length": LENGTH}),
    ):
        with pytest.raises(
            MismatchError, match=rf"the lengths in .*\.jinx were counted in different ways: {RULES}; run"
        ):
            use()
    alike = join(folder, (f"{kind}4.jinx", f"{kind}4.jinx"))
    options = {"tokenizer": folder / "tokenizer", "image_rule": "fixed:4"}
    if "messages" not in alike.column_names:
        return
    assert len(PackedDataset(alike, {"max_length": LENGTH}, **options))
    # The plan knows nothing of how lengths were counted, the loader does.
    plan = jinx.pack(np.array(both["num_tokens"]), LENGTH)
    for bad in (options, {**options, "image_rule": "fixed:9"}, {}):
        with pytest.raises(MismatchError, match=RULES):
            PackedDataset(both, plan, **bad)


def test_both_files_are_named(folder):
    parts = [jinx.open(folder / f"l{number}.jinx") for number in (4, 9)]
    for use in (lambda: jinx.pack(parts, LENGTH), lambda: PackedDataLoader(parts, {"max_length": LENGTH})):
        with pytest.raises(MismatchError, match=r"the lengths in \S+/l4\.jinx and in \S+/l9\.jinx were counted in"):
            use()


def test_what_a_loader_counts_otherwise_is_refused_in_any_part(folder):
    alike = added(folder, ("l4.jinx", "copy4.jinx"))
    with pytest.raises(MismatchError, match="the lengths of this dataset were counted otherwise: image rule"):
        PackedDataset(alike, {"max_length": LENGTH}, tokenizer=folder / "tokenizer", image_rule="fixed:5")


@pytest.mark.parametrize("first", [0, 1])
def test_lengths_of_which_nothing_is_known_are_refused_next_to_known_ones(folder, first):
    known = jinx.open(folder / "l4.jinx")
    with jinx.Writer(folder / "unknown.jinx", indexed=["num_tokens"], overwrite=True) as writer:
        writer.write_many({**sample.to_dict(), "num_tokens": 3} for sample in jinx.open(folder / "chat.jinx"))
    unknown = jinx.open(folder / "unknown.jinx")
    parts = [known, unknown] if first else [unknown, known]
    jinx.concat(parts, folder / "mixed.jinx", overwrite=True)
    options = {"tokenizer": folder / "tokenizer", "image_rule": "fixed:4"}
    for both, name in ((parts, "unknown"), (jinx.open(folder / "mixed.jinx"), "mixed")):
        with pytest.raises(MismatchError, match=rf"/{name}\.jinx does not say how its lengths were counted"):
            PackedDataset(both, {"max_length": LENGTH}, **options)
    assert len(PackedDataset(unknown, {"max_length": LENGTH}, **options))


def test_annotated_again_the_whole_is_counted_alike(folder):
    options = {"tokenizer": folder / "tokenizer", "image_rule": "fixed:9"}
    both = viewed(folder, ("l4.jinx", "l9.jinx"))
    jinx.annotate(both, folder / "recounted.jinx", overwrite=True, **options)
    whole = jinx.open(folder / "recounted.jinx")
    copied = folder / "recounted-copy.jinx"
    jinx.select(whole, copied, range(len(whole)), overwrite=True)
    for one in (whole, jinx.open(copied)):
        assert len(PackedDataset(one, {"max_length": LENGTH}, **options))
