"""MLDataForge refuses a saved view: it must never take the view's own columns, or nothing, for its samples."""

import shutil

import pytest

import jinx
from compat import reference

MODES = pytest.mark.parametrize(("lazy", "mmap"), reference.MODES, ids=reference.MODE_IDS)
COUNT = 9000
# With the index in the footer, and in the sidecar.
ERROR = r"in index: view|must be str"


def _save(directory, *, own, long):
    with jinx.Writer(directory / "base.jinx") as writer:
        writer.write_many({"i": i, "b": bytes([i % 256]) * 99} for i in range(COUNT))
    view = jinx.open(directory / "base.jinx").shuffle(seed=1)
    if not long:
        view = view[:5]
    if own:
        view = view.with_columns({"q": [i / 2 for i in range(len(view))]})
    return view.save(directory / "view.jinx").path


@pytest.mark.parametrize("long", [False, True], ids=["inline", "sidecar"])
@pytest.mark.parametrize("own", [False, True], ids=["rowless", "own"])
@MODES
def test_a_saved_view_is_refused(tmp_path, own, long, lazy, mmap):
    path = _save(tmp_path, own=own, long=long)
    for opened in (reference.reader, reference.shard_reader):
        with pytest.raises((ValueError, TypeError), match=ERROR), opened(path, lazy=lazy, mmap=mmap):
            pass


@MODES
def test_a_directory_that_begins_with_a_saved_view_is_refused(tmp_path, lazy, mmap):
    path = _save(tmp_path, own=True, long=False)
    shards = tmp_path / "shards"
    shards.mkdir()
    shutil.copy(path, shards / "shard-00000.jinx")
    with pytest.raises((ValueError, TypeError), match=ERROR), reference.reader(shards, lazy=lazy, mmap=mmap):
        pass
