"""Saved views whose bases moved, changed, grew, are gone or hostile; and what `verify` and `repair` say of them."""

import os
import pickle
import re
import shutil
from pathlib import Path

import pytest
import xxhash

import jinx
import samples
from jinx.errors import MismatchError

LONG = 9000


def base_of(directory: Path, name: str = "base", count: int = 20, offset: int = 0) -> Path:
    path = directory / f"{name}.jinx"
    with jinx.Writer(path, overwrite=True) as writer:
        writer.write_many({"n": i + offset, "image": bytes([i % 256]) * 90} for i in range(count))
    return path


def view_of(path: Path, name: str = "view", *, own: bool = True, start: int = 2) -> Path:
    view = jinx.open(path)[start::3]
    if own:
        view = view.with_columns({"q": [i / 2 for i in range(len(view))]})
    target = path.parent / f"{name}.jinx"
    view.save(target, overwrite=True)
    return target


def id_of(path: Path) -> str:
    return re.search(rb'"id":"([0-9a-f]{32})","sidecar"', path.read_bytes())[1].decode()


def forge(view: Path, old: bytes, new: bytes) -> None:
    """Changes a footer and makes its digest right."""
    rows, footer, trailer = re.fullmatch(rb"(?s)(.*?)(\{\"index[^\n]*)(\n\d+\n)", view.read_bytes()).groups()
    assert footer.count(old) == 1
    body, _ = footer.replace(old, new).rsplit(b',"digest"', 1)
    view.write_bytes(rows + body + b',"digest":"%s"}' % xxhash.xxh3_64_hexdigest(body).encode() + trailer)


def numbers(dataset: jinx.Dataset) -> list[int]:
    return [sample["n"] for sample in dataset]


def move(path: Path, target: Path) -> None:
    for suffix in (".jinx", ".binx"):
        path.with_suffix(suffix).rename(target.with_suffix(suffix))


WANT = list(range(2, 20, 3))


def test_a_base_that_moved_is_named_and_given(tmp_path):
    path = base_of(tmp_path)
    view = view_of(path)
    move(path, tmp_path / "moved.jinx")
    with pytest.raises(
        MismatchError, match=r"view\.jinx: the pair that this view shows is missing \(looked for .*base\.jinx"
    ):
        jinx.open(view)
    found = jinx.open(view, base=tmp_path / "moved.jinx")
    assert numbers(found) == WANT
    assert numbers(pickle.loads(pickle.dumps(found))) == WANT
    [problem] = jinx.verify(view)
    assert (problem.file, problem.cause) == (str(view), "mismatch")
    assert "is missing" in problem.what


def test_both_places_are_tried_and_the_id_decides(tmp_path):
    (tmp_path / "a").mkdir()
    view = view_of(base_of(tmp_path / "a"))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    # Next to the copy is another dataset of the same name.
    base_of(tmp_path / "b", offset=100)
    copied = tmp_path / "b" / view.name
    assert numbers(jinx.open(copied)) == WANT
    shutil.rmtree(tmp_path / "a")
    with pytest.raises(
        MismatchError, match=r"b/base\.jinx is not the dataset .* expected id [0-9a-f]{32} with 20 samples"
    ):
        jinx.open(copied)


@pytest.mark.parametrize("own", [True, False])
def test_a_base_that_changed_is_refused(tmp_path, own):
    path = base_of(tmp_path)
    view = view_of(path, own=own)
    opened = jinx.open(view)
    with jinx.Writer(path, overwrite=True) as writer:
        writer.write_many({"n": -i} for i in range(20))
    assert numbers(opened) == WANT, "what was open stays readable"
    with pytest.raises(MismatchError, match=r"view\.jinx: .*base\.jinx is not the dataset .*expected id .*, found id "):
        jinx.open(view)


def test_given_places_are_counted_and_may_be_refused(tmp_path):
    view = view_of(base_of(tmp_path))
    with pytest.raises(ValueError, match="this view has 1 bases; base= gives 2"):
        jinx.open(view, base=[tmp_path / "base.jinx"] * 2)
    with pytest.raises(MismatchError, match="base=None refuses"):
        jinx.open(view, base=None)
    with pytest.raises(MismatchError, match="missing"):
        jinx.open(view, base=tmp_path / "nothing.jinx")
    assert numbers(jinx.open(tmp_path / "base.jinx", base=None)) == list(range(20))


def test_a_base_is_never_a_view(tmp_path):
    path = base_of(tmp_path)
    view = view_of(path, own=False)
    with pytest.raises(MismatchError, match="is a saved view itself"):
        jinx.open(view, base=view)
    jinx.open(view)[1:].save(tmp_path / "second.jinx")
    view.unlink()
    assert numbers(jinx.open(tmp_path / "second.jinx")) == WANT[1:]


@pytest.mark.parametrize("what", ["a pipe", "a directory", "a device", "text", "nothing in it"])
def test_something_else_in_place_of_a_base(tmp_path, what):
    path = base_of(tmp_path)
    view = view_of(path)
    path.unlink()
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a directory":
        path.mkdir()
    elif what == "a device":
        path.symlink_to("/dev/zero")
    else:
        path.write_text("text\n" if what == "text" else "")
    with pytest.raises((jinx.JinxError, OSError)) as raised:
        jinx.open(view)
    assert "base.jinx" in str(raised.value)


@pytest.mark.parametrize("new", ["file", "directory", "dangling link"])
@pytest.mark.parametrize("kind", ["pair", "lines", "mds", "directory"])
def test_what_cannot_be_the_base_is_passed_over(tmp_path, kind, new):
    """It is one mismatch, also of `verify`, and the next place is looked at."""
    name = {"pair": "base.jinx", "lines": "base.jsonl"}.get(kind, "base")
    (tmp_path / "there").mkdir()
    path, moved = tmp_path / "there" / name, tmp_path / name
    options = {"output_format": "mds"} if kind == "mds" else {}
    jinx.convert([{"n": 1}, {"n": 2}], path, **options)
    view = tmp_path / "view.jinx"
    jinx.open(path).select([1]).save(view)
    path.rename(moved)
    if new == "file":
        path.write_text("no dataset")
    elif new == "directory":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    if (kind, new) == ("pair", "file"):
        return  # the error says that the file is damaged
    found = f"{name} is not the dataset|there is no .jinx file|is missing"
    with pytest.raises(MismatchError, match=found):
        jinx.open(view)
    assert [problem.cause for problem in jinx.verify(view)] == ["mismatch"]
    assert numbers(jinx.open(view, base=moved)) == [2]
    # Seen from elsewhere, the first place holds something else and the second one the dataset.
    (tmp_path / "elsewhere" / "there").mkdir(parents=True)
    path.rename(tmp_path / "elsewhere" / "there" / name)
    moved.rename(path)
    for file in tmp_path.glob("view.*"):
        file.rename(tmp_path / "elsewhere" / file.name)
    assert numbers(jinx.open(tmp_path / "elsewhere" / "view.jinx")) == [2]


def test_a_directory_that_only_grew_is_still_the_base(tmp_path):
    shards = tmp_path / "shards"
    with jinx.Writer(shards, shard_size=500) as writer:
        writer.write_many({"n": i, "b": bytes(99)} for i in range(20))
    view = jinx.open(shards)[::-2]
    view.save(tmp_path / "view.jinx")
    with jinx.Writer(shards, append=True) as writer:
        writer.write_many({"n": i} for i in range(20, 30))
    assert len(jinx.open(shards)) == 30
    assert numbers(jinx.open(tmp_path / "view.jinx")) == list(range(19, 0, -2))
    assert jinx.verify(tmp_path / "view.jinx") == []
    with jinx.Writer(shards, overwrite=True, shard_size=500) as writer:
        writer.write_many({"n": i} for i in range(20))
    with pytest.raises(MismatchError, match="shards is not the dataset"):
        jinx.open(tmp_path / "view.jinx")


@pytest.mark.parametrize("count", [20, LONG])
def test_a_rowless_view_that_replaces_another_has_another_id(tmp_path, count):
    """With 9000 positions they are in the sidecar."""
    path = base_of(tmp_path, count=count)
    ds = jinx.open(path)
    ds[1:].save(tmp_path / "view.jinx")
    assert (tmp_path / "view.binx").exists() == (count == LONG)
    old = jinx.open(tmp_path / "view.jinx")
    pickled = pickle.dumps(old)
    first = id_of(tmp_path / "view.jinx")
    ds[1:][::-1].save(tmp_path / "view.jinx", overwrite=True)
    assert id_of(tmp_path / "view.jinx") != first
    assert numbers(old) == list(range(1, count))
    assert numbers(jinx.open(tmp_path / "view.jinx")) == list(range(count - 1, 0, -1))
    with pytest.raises(MismatchError, match="the view changed since"):
        pickle.loads(pickled)


@pytest.mark.parametrize("is_pickled", [False, True])
def test_a_view_that_is_replaced_while_it_is_opened_is_one_of_the_two(tmp_path, monkeypatch, is_pickled):
    """Id, positions, line offsets and bases are those of one file, whatever has its name in the meantime."""
    one, other = base_of(tmp_path), lines_of(tmp_path)
    view = view_of(one)
    text = pickle.dumps(jinx.open(view))
    footer_of, replaced = jinx._saved_views.open.footer_of, []

    def replace_once(file):
        footer = footer_of(file)
        if not replaced:
            replaced.append(view_of(other, start=5))
        return footer

    monkeypatch.setattr(jinx._saved_views.open, "footer_of", replace_once)
    assert numbers(pickle.loads(text) if is_pickled else jinx.open(view)) == WANT
    assert replaced
    assert numbers(jinx.open(view)) == list(range(5, 20, 3))
    with pytest.raises(MismatchError, match="the view changed since"):
        pickle.loads(text)


def lines_of(directory: Path) -> Path:
    path = directory / "lines.jsonl"
    path.write_text("".join(f'{{"n": {i}}}\n' for i in range(20)), "utf-8")
    return path


def test_json_lines_that_changed_are_refused(tmp_path):
    path = lines_of(tmp_path)
    view = view_of(path)
    assert numbers(jinx.open(view)) == WANT
    assert jinx.verify(view) == []
    status = path.stat()
    path.write_text(path.read_text("utf-8").replace('"n": 11', '"n": 12'), "utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    # Size and time are the same: only the hash tells.
    assert len(jinx.open(view)) == len(WANT)
    [problem] = jinx.verify(view)
    assert (problem.file, problem.cause) == (str(path), "mismatch")
    path.touch()
    with pytest.raises(MismatchError, match=r"lines\.jsonl is not the dataset"):
        jinx.open(view)


def test_columns_that_json_lines_do_not_list(tmp_path):
    """Names are in the rows only, and one of them first appears far below."""
    path = tmp_path / "lines.jsonl"
    rows = [{"n": i, "x": 1, **({"late": i} if i == 3000 else {})} for i in range(3001)]
    jinx.convert(rows, path)
    own = jinx.open(path).with_columns({"q": list(range(3001))})
    assert own.column_names == ["n", "x", "q"]
    both = jinx.concat([own, own])
    assert both.column_names == ["n", "x", "q"]
    for number, view in enumerate(
        [own, own.drop_columns("x"), jinx.open(path).drop_columns("x").with_columns({"q": own["q"]})]
    ):
        first, second = (tmp_path / f"{name}{number}.jinx" for name in ("first", "second"))
        view.save(first)
        jinx.open(first)[::-1].save(second)
        assert jinx.open(first).to_list() == view.to_list()
        assert jinx.open(second).to_list() == view[::-1].to_list()
    assert jinx.open(tmp_path / "second0.jinx")[0] == {"n": 3000, "x": 1, "late": 3000, "q": 3000}


def test_markers_are_part_of_what_a_view_shows(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"n": {"$bytes": "AA=="}}\n', "utf-8")
    ids = []
    for markers in (False, True):
        jinx.open(path, markers=markers)[:1].save(tmp_path / "view.jinx", overwrite=True)
        view = jinx.open(tmp_path / "view.jinx")
        assert view[0]["n"] == (b"\0" if markers else {"$bytes": "AA=="})
        ids.append(id_of(tmp_path / "view.jinx"))
    assert ids[0] != ids[1]


@pytest.mark.parametrize("text", ["", "\n", "\n\n"])
def test_verify_takes_an_empty_base_of_json_lines(text, tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text(text, "utf-8")
    jinx.open(path).save(tmp_path / "view.jinx")
    assert jinx.verify(tmp_path / "view.jinx") == []
    path.write_text('{"n":1}\n', "utf-8")
    assert jinx.verify(tmp_path / "view.jinx")


def test_verify_names_the_file_and_sample_of_a_damaged_base(tmp_path):
    path = base_of(tmp_path)
    view = view_of(path)
    assert jinx.verify(view) == []
    data = bytearray(path.with_suffix(".binx").read_bytes())
    data[64 + 128 * 5] ^= 1
    path.with_suffix(".binx").write_bytes(data)
    [problem] = jinx.verify(view)
    assert (problem.file, problem.sample, problem.column, problem.cause) == (str(path), 5, "image", "corrupt")


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_a_damaged_position_never_shows_another_sample(tmp_path, io):
    path = base_of(tmp_path, count=LONG)
    jinx.open(path)[1:].save(tmp_path / "view.jinx")
    side = tmp_path / "view.binx"
    data = bytearray(side.read_bytes())
    at = data.index((77).to_bytes(8, "little") + (78).to_bytes(8, "little"))
    data[at] ^= 1
    side.write_bytes(data)
    view = jinx.open(tmp_path / "view.jinx", io=io)
    with pytest.raises(jinx.CorruptFileError, match="positions"):
        view[76]
    assert jinx.open(tmp_path / "view.jinx", io=io, verify="none")[76]["n"] == 76
    assert any("positions" in problem.what for problem in jinx.verify(tmp_path / "view.jinx"))


def test_verify_compares_the_id_with_what_the_view_shows(tmp_path):
    path = base_of(tmp_path)
    view = view_of(path, own=False)
    other = view_of(path, "other", own=False, start=1)
    forge(view, id_of(view).encode(), id_of(other).encode())
    assert numbers(jinx.open(view)) == WANT
    [problem] = jinx.verify(view)
    assert (problem.file, problem.cause) == (str(view), "corrupt")
    assert problem.what.startswith("the content's id is ")


def test_a_row_shows_no_column_that_its_footer_does_not_list(tmp_path):
    view = view_of(base_of(tmp_path))
    forge(view, b'{"path":["q"],"kinds"', b'{"path":["z"],"kinds"')
    for lazy in (True, False):
        found = jinx.open(view, lazy=lazy)
        assert [dict(sample) for sample in found] == [{"n": n, "image": bytes([n]) * 90} for n in WANT]
    assert jinx.verify(view)


def test_repair_refuses_a_view(tmp_path):
    view = view_of(base_of(tmp_path))
    for damage in (False, True):
        if damage:
            data = bytearray(view.read_bytes())
            data[2] ^= 1
            view.write_bytes(data)
        with pytest.raises(jinx.UnsupportedError, match=r"this is a saved view: .*save the view again"):
            jinx.repair(view)
        assert not (tmp_path / "view.repaired.jinx").exists()


def test_a_shard_is_never_a_view(tmp_path):
    shards = tmp_path / "shards"
    shards.mkdir()
    view_of(base_of(tmp_path))
    for name, number in (("base", 0), ("view", 1)):
        for suffix in (".jinx", ".binx"):
            if (tmp_path / f"{name}{suffix}").exists():
                shutil.copy(tmp_path / f"{name}{suffix}", shards / f"shard-0000{number}{suffix}")
    with pytest.raises(jinx.UnsupportedError, match="saved view"):
        jinx.open(shards)


def test_an_encoding_that_the_base_does_not_state(tmp_path, vectors):
    path = tmp_path / "old.jinx"
    path.write_bytes((vectors / "1_0" / "inline_hex.jinx").read_bytes().replace(b'"encoding":"hex",', b""))
    old = jinx.open(path, encoding="hex")
    old[::-1].save(tmp_path / "view.jinx")
    found = jinx.open(tmp_path / "view.jinx", encoding="hex")
    assert samples.plain(found.to_list()) == samples.plain(old.to_list()[::-1])
    assert samples.plain(pickle.loads(pickle.dumps(found))[0]) == samples.plain(old[-1])


def test_names_that_a_view_cannot_hold(tmp_path):
    directory = tmp_path / "a\x1b[2Jb"
    directory.mkdir()
    path = base_of(directory)
    with pytest.raises(ValueError, match=r"the hint of a base .* contains a control character"):
        jinx.open(path)[:1].save(directory / "view.jinx")
    assert not (directory / "view.jinx").exists()


def test_the_samples_of_one_split(tmp_path):
    shards = tmp_path / "shards"
    shards.mkdir()
    for number, split in enumerate(["train", "test", "train"]):
        with jinx.Writer(shards / f"shard-0000{number}.jinx", split=split) as writer:
            writer.write_many({"n": 10 * number + i} for i in range(3))
    train = jinx.open(shards, split="train")
    train[::2].save(tmp_path / "view.jinx")
    assert numbers(jinx.open(tmp_path / "view.jinx")) == numbers(train)[::2] == [0, 2, 21]


def test_every_kind_of_value_comes_back(tmp_path):
    path = samples.write(tmp_path / "base.jinx")
    view = jinx.open(path).shuffle(seed=3).drop_columns("flag")
    view.with_columns({"n": [{"deep": [b"x" * i]} for i in range(len(view))]}).save(tmp_path / "view.jinx")
    found = jinx.open(tmp_path / "view.jinx")
    assert found.column_names == [name for name in view.column_names if name != "n"] + ["n"]
    want = [{**{k: v for k, v in s.items() if k != "n"}, "n": {"deep": [b"x" * i]}} for i, s in enumerate(view)]
    assert samples.plain(found.to_list()) == samples.plain(want)
    assert jinx.verify(tmp_path / "view.jinx") == []


def test_views_in_a_list_of_files_are_told_how_to_join(tmp_path):
    jinx.convert([{"n": n} for n in range(5)], tmp_path / "a.jinx")
    opened = jinx.open(tmp_path / "a.jinx")
    opened[:2].save(tmp_path / "v1.jinx")
    opened[3:].save(tmp_path / "v2.jinx")
    both = [tmp_path / "v1.jinx", tmp_path / "v2.jinx"]
    for path in (both, [tmp_path / "a.jinx", *both], tmp_path / "v*.jinx"):
        with pytest.raises(jinx.UnsupportedError, match=r"v1.jinx: this is a saved view, .*jinx.concat\("):
            jinx.open(path)
    assert jinx.concat([jinx.open(path) for path in both])["n"].tolist() == [0, 1, 3, 4]
    assert len(jinx.open(both[:1])) == 2
