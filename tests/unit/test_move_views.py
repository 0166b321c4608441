"""Views and their datasets on the move: rebase, mv, cp, rm."""

from pathlib import Path

import numpy as np
import pytest

import jinx
import samples
from jinx import _core
from jinx._cli.program import run
from jinx._saved_views.bases import read_view


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return samples.write(tmp_path / "data" / "a.jinx", 12)


@pytest.fixture
def view(base: Path, tmp_path: Path) -> Path:
    """With a column whose values go to a sidecar."""
    (tmp_path / "views").mkdir()
    out = tmp_path / "views" / "v.jinx"
    arrays = [np.full(300, n, dtype=np.int16) for n in range(4)]
    jinx.open(base)[[5, 3, 3, 0]].with_columns({"array": arrays, "q": [1, 2, 3, 4]}).save(out)
    assert out.with_suffix(".binx").exists()
    return out


def paths(view: Path) -> list[tuple[str, str]]:
    return [(one["path"], one["hint"]) for one in read_view(str(view))["base"]]


def shown(view: Path) -> list[object]:
    return [samples.plain(sample) for sample in jinx.open(view)]


def without_hints(view: Path) -> None:
    """Only the relative path still leads somewhere."""
    import json

    _core.view_set_paths(
        str(view), read_view(str(view))["id"], json.dumps([[path, "/no/such/place"] for path, _ in paths(view)])
    )


def command(*words: object) -> None:
    assert run([str(word) for word in words]) == 0


def test_a_base_that_moved_is_found_again(base, view, tmp_path):
    before = shown(view)
    (tmp_path / "far" / "away").mkdir(parents=True)
    new = tmp_path / "far" / "away" / "b.jinx"
    command("mv", base, new)
    with pytest.raises(jinx.MismatchError, match=r"looked for .*a\.jinx.*jinx rebase"):
        jinx.open(view)
    assert len(jinx.open(view, base=new)) == 4
    jinx.rebase(view, new)
    assert paths(view) == [("../far/away/b.jinx", str(new))]
    assert shown(view) == before
    assert jinx.open(view).info().bases[0].path == str(new)


def test_rebase_on_the_command_line(base, view, tmp_path, capsys):
    before, identity = shown(view), read_view(str(view))["id"]
    command("mv", base, tmp_path / "b.jinx")
    command("rebase", view, tmp_path / "b.jinx")
    assert shown(view) == before
    assert read_view(str(view))["id"] == identity
    assert run(["rebase", str(view)]) == 2
    assert "NEW" in capsys.readouterr().err


def test_rebase_takes_a_relative_path(base, view, tmp_path, monkeypatch):
    command("mv", base, tmp_path / "b.jinx")
    monkeypatch.chdir(tmp_path)
    jinx.rebase("views/v.jinx", "b.jinx")
    assert paths(view) == [("../b.jinx", str(tmp_path / "b.jinx"))]


def test_rebase_renames_some_of_several(base, tmp_path):
    other = samples.write(tmp_path / "b.jinx", 3)
    view = tmp_path / "v.jinx"
    jinx.concat([jinx.open(base)[1:], jinx.open(other)]).save(view)
    before = shown(view)
    base.parent.rename(tmp_path / "moved")
    jinx.rebase(view, {base: tmp_path / "moved" / "a.jinx"})
    assert [path for path, _ in paths(view)] == ["moved/a.jinx", "b.jinx"]
    assert shown(view) == before
    jinx.rebase(view, [tmp_path / "moved" / "a.jinx", other])
    assert shown(view) == before
    with pytest.raises(KeyError, match=r"shows nothing at .*c\.jinx; it shows .*moved/a\.jinx, .*b\.jinx"):
        jinx.rebase(view, {tmp_path / "c.jinx": other})
    with pytest.raises(ValueError, match="shows 2 datasets; 1 paths"):
        jinx.rebase(view, other)


def test_rebase_refuses_other_datasets_and_changes_nothing(base, view, tmp_path):
    same_length = tmp_path / "b.jinx"
    with jinx.Writer(same_length) as writer:
        writer.write_many({"id": str(n)} for n in range(12))
    before = view.read_bytes()
    for place, says in [
        (same_length, "is not the dataset that this view was saved over: expected id"),
        (samples.write(tmp_path / "c.jinx", 3), "with 3 samples"),
        (tmp_path / "gone.jinx", "is missing"),
        (samples.write(tmp_path / "dir", 12, shard_size="2kB"), "irectory"),
    ]:
        with pytest.raises((jinx.JinxError, OSError), match=says):
            jinx.rebase(view, place)
        assert view.read_bytes() == before
    with pytest.raises(jinx.MismatchError, match="not a saved view"):
        jinx.rebase(base, same_length)
    with pytest.raises(FileNotFoundError):
        jinx.rebase(tmp_path / "none.jinx", base)


@pytest.mark.parametrize("verb", ["rebase", "mv", "cp"])
def test_a_view_that_another_process_replaces_meanwhile_stays_as_that_wrote_it(verb, base, view, tmp_path, monkeypatch):
    new, set_paths = tmp_path / "w.jinx", _core.view_set_paths
    target = view if verb == "rebase" else new

    def set_paths_late(*arguments):
        jinx.open(base)[[7, 8]].save(target, overwrite=True)
        set_paths(*arguments)

    monkeypatch.setattr(_core, "view_set_paths", set_paths_late)
    code = run(["rebase", str(view), str(base)] if verb == "rebase" else [verb, str(view), str(new)])
    assert code != 0
    assert [sample["n"] for sample in jinx.open(target)] == [7, 8]
    assert jinx.verify(target) == []


def test_a_view_that_is_being_written_is_not_rebased(base, view):
    before = view.read_bytes()
    with jinx.Writer(view, overwrite=True) as writer:
        writer.write({"n": 1})
        with pytest.raises(OSError, match="another process is writing this"):
            jinx.rebase(view, base)
        assert view.read_bytes() == before
    assert jinx.open(view).to_list() == [{"n": 1}]


@pytest.mark.parametrize("verb", ["mv", "cp"])
def test_a_view_that_moves_finds_its_base(verb, base, view, tmp_path):
    before = shown(view)
    (tmp_path / "x" / "y").mkdir(parents=True)
    new = tmp_path / "x" / "y" / "w.jinx"
    command(verb, view, new)
    assert paths(new) == [("../../data/a.jinx", str(base))]
    without_hints(new)
    assert shown(new) == before
    assert new.with_suffix(".binx").exists()
    assert view.exists() is (verb == "cp")
    assert view.with_suffix(".binx").exists() is (verb == "cp")


@pytest.mark.parametrize("order", [("view", "base"), ("base", "view")])
@pytest.mark.parametrize("verb", ["mv", "cp"])
def test_a_view_and_its_base_move_together(verb, order, base, view, tmp_path):
    before = shown(view)
    new = tmp_path / "new"
    new.mkdir()
    command(verb, *({"view": view, "base": base}[one] for one in order), new)
    assert paths(new / "v.jinx") == [("a.jinx", str(new / "a.jinx"))]
    assert shown(new / "v.jinx") == before
    if verb == "cp":
        assert paths(view) == [("../data/a.jinx", str(base))]


@pytest.mark.parametrize("verb", ["mv", "cp"])
def test_a_view_does_not_replace_what_it_shows(verb, base, view, tmp_path, capsys):
    with jinx.Writer(tmp_path / "shards", shard_size=1) as writer:
        writer.write_many({"id": i} for i in range(3))
    jinx.open(tmp_path / "shards")[:1].save(tmp_path / "views" / "of_shards.jinx")
    before = shown(view)
    for source, target in (
        (view, base),
        (tmp_path / "views" / "of_shards.jinx", tmp_path / "shards" / "shard-00001.jinx"),
    ):
        assert run([verb, "--overwrite", str(source), str(target)]) != 0
        assert "an input, which is never changed" in capsys.readouterr().err
    assert shown(view) == before
    assert len(jinx.open(base)) == 12
    assert [sample["id"] for sample in jinx.open(tmp_path / "shards")] == [0, 1, 2]


def test_a_view_moves_after_its_base_did(base, tmp_path):
    view = tmp_path / "data" / "v.jinx"
    jinx.open(base)[:3].save(view)
    (tmp_path / "new").mkdir()
    command("mv", base, tmp_path / "new")
    command("mv", view, tmp_path / "new" / "v.jinx")
    assert paths(tmp_path / "new" / "v.jinx") == [("a.jinx", str(tmp_path / "new" / "a.jinx"))]


def test_a_view_of_a_directory_moves_with_it(tmp_path):
    shards, view = samples.write(tmp_path / "shards", 20, shard_size="2kB"), tmp_path / "v.jinx"
    jinx.open(shards).shuffle(1).save(view)
    before = shown(view)
    (tmp_path / "new").mkdir()
    command("mv", view, shards, tmp_path / "new")
    assert paths(tmp_path / "new" / "v.jinx") == [("shards", str(tmp_path / "new" / "shards"))]
    assert shown(tmp_path / "new" / "v.jinx") == before


def test_a_view_whose_base_is_gone_still_moves(base, view, tmp_path):
    command("rm", base)
    command("mv", view, tmp_path / "w.jinx")
    assert paths(tmp_path / "w.jinx") == [("data/a.jinx", str(base))]


def test_a_view_replaces_another(base, view, tmp_path):
    before, other = shown(view), tmp_path / "other.jinx"
    jinx.open(base)[:1].save(other)
    assert run(["mv", str(view), str(other)]) != 0
    command("mv", "--overwrite", view, other)
    assert shown(other) == before
    assert not view.exists()


def test_what_cannot_be_read_moves_as_any_file(base, tmp_path):
    base.write_bytes(base.read_bytes()[:-9])
    command("mv", base, tmp_path / "b.jinx")
    assert (tmp_path / "b.jinx").exists()


def test_rm_takes_the_view_alone(base, view):
    command("rm", view)
    assert sorted(path.name for path in view.parent.iterdir()) == []
    assert jinx.verify(base) == []


def test_help_says_what_rm_and_mv_do_about_views(capsys):
    for verb, says in [("rm", "not looked for"), ("mv", "jinx rebase"), ("cp", "jinx convert")]:
        command(verb, "--help")
        assert says in " ".join(capsys.readouterr().out.split())
