"""Saved views that name their bases by a URL."""

import json
from pathlib import Path

import pytest

import jinx
import samples
from jinx import _core
from jinx._cli.program import run
from jinx._reference import reader
from jinx._saved_views.bases import Base, read_view
from jinx.errors import CorruptFileError, MismatchError, UnsupportedError

S3 = "s3://bucket/data/base%201.jinx"
VERSION = '"33a64df5"'


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return samples.write(tmp_path / "base 1.jinx", 12)


def view_of(base: Path, name: str, *, paths: bool, **places: str) -> Path:
    """A view of some samples of `base`, whose entry has these members as well."""
    [entry] = _entries_of(base, base.parent / "plain.jinx")
    kept = {key: value for key, value in entry.items() if paths or key not in ("path", "hint")}
    target = base.parent / name
    _core.Writer(
        str(target),
        overwrite=True,
        meta=None,
        arrow_schema=None,
        view={
            "bases": json.dumps([kept | places]),
            "indexes": [None],
            "positions": b"".join(i.to_bytes(8, "little") for i in (5, 3, 3, 0)),
            "drop": [],
            "num_samples": 4,
        },
    ).close()
    return target


def _entries_of(base: Path, view: Path) -> list[Base]:
    jinx.open(base)[:1].save(view, overwrite=True)
    return read_view(str(view))["base"]


def shown(view: Path) -> list[object]:
    return [samples.plain(sample) for sample in jinx.open(view)]


def expected(base: Path) -> list[object]:
    dataset = jinx.open(base)
    return [samples.plain(dataset[i]) for i in (5, 3, 3, 0)]


def test_a_file_url_alone_is_opened_by_both_readers(base):
    view = view_of(base, "v.jinx", paths=False, location=base.as_uri())
    assert "%20" in base.as_uri()
    assert shown(view) == expected(base)
    assert jinx.verify(view) == []
    [pair] = reader.open_pairs(view)
    assert pair[0]["id"] == jinx.open(base)[5]["id"]
    assert jinx.open(view).info().bases[0].location == base.as_uri()


def test_a_remote_base_that_is_not_here_says_what_is_missing(base, tmp_path):
    view = view_of(base, "v.jinx", paths=False, location=S3, version=VERSION)
    for opened in (lambda: jinx.open(view), lambda: reader.open_pairs(view)):
        with pytest.raises((UnsupportedError, reader.UnsupportedError)) as caught:
            opened()
    with pytest.raises(UnsupportedError) as caught:
        jinx.open(view)
    message = str(caught.value)
    assert message.startswith(
        f"{view}: the pair that this view shows is at {S3}; a view opens no URL that you do not name"
    )
    assert f"jinx rebase {view} PATH" in message
    [problem] = jinx.verify(view)
    assert problem.cause == "unsupported"
    assert numbers_of(jinx.open(view, base=base)) == numbers_of(expected(base))
    with pytest.raises(MismatchError):
        jinx.open(view, base=None)
    other = samples.write(tmp_path / "other.jinx", 5)
    with pytest.raises(MismatchError):
        jinx.open(view, base=other)


def numbers_of(dataset: object) -> list[object]:
    return [sample["id"] for sample in dataset]


def test_a_location_is_shown_and_kept(base, tmp_path, capsys):
    view = view_of(base, "v.jinx", paths=True, location=S3, version=VERSION)
    before = shown(view)
    assert before == expected(base)
    info = jinx.open(view).info().bases[0]
    assert (info.location, info.version) == (S3, VERSION)
    assert run(["info", str(view)]) == 0
    assert f"also at {S3}" in capsys.readouterr().out

    def kept(path: Path) -> bool:
        [entry] = read_view(str(path))["base"]
        return (entry.get("location"), entry.get("version")) == (S3, VERSION) and shown(path) == before

    id_ = read_view(str(view))["id"]
    (tmp_path / "far").mkdir()
    moved, copied = tmp_path / "far" / "v.jinx", tmp_path / "copy.jinx"
    assert run(["cp", str(view), str(copied)]) == 0
    assert run(["mv", str(view), str(moved)]) == 0
    assert kept(copied)
    assert kept(moved)
    target = tmp_path / "far" / "base.jinx"
    assert run(["mv", str(base), str(target)]) == 0
    jinx.rebase(moved, target)
    assert kept(moved)
    assert read_view(str(moved))["id"] == id_
    again = tmp_path / "again.jinx"
    jinx.open(moved).save(again)
    assert kept(again)


def test_a_view_with_a_url_alone_keeps_it_when_it_moves(base, tmp_path):
    view = view_of(base, "v.jinx", paths=False, location=S3, version=VERSION)
    moved = tmp_path / "moved.jinx"
    assert run(["mv", str(view), str(moved)]) == 0
    [entry] = read_view(str(moved))["base"]
    assert "path" not in entry
    assert entry["location"] == S3
    jinx.rebase(moved, base)
    [entry] = read_view(str(moved))["base"]
    assert (entry["path"], entry["location"]) == ("base 1.jinx", S3)
    assert shown(moved) == expected(base)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("https://me:secret@host/a.jinx", "secrets"),
        ("https://host/a.jinx?sig=secret", "secrets"),
        ("https://host/a.jinx#secret", "secrets"),
        ("/data/a.jinx", "not a URL"),
        ("ftp://host/a.jinx", "ftp:// URL"),
    ],
)
def test_urls_that_no_view_holds_are_not_written(base, url, error):
    with pytest.raises(jinx.JinxError, match=error) as caught:
        view_of(base, "v.jinx", paths=True, location=url)
    assert "secret@" not in str(caught.value)
    assert "=secret" not in str(caught.value)
    assert not isinstance(caught.value, CorruptFileError)
    assert not (base.parent / "v.jinx").exists()
