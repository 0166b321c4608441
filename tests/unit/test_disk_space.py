"""Room on the disk is looked at before writing."""

import errno
from types import SimpleNamespace

import pytest

from jinx._disk_space import free_bytes, require_space


def test_it_is_the_room_of_the_file_system_that_will_hold_the_output(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    asked = []

    def statvfs(path):
        asked.append(path)
        return SimpleNamespace(f_bavail=3, f_frsize=1000)

    monkeypatch.setattr("os.statvfs", statvfs)
    assert free_bytes(str(tmp_path / "new" / "deeper" / "out.jinx")) == 3000
    assert free_bytes(str(tmp_path / "link" / "out.jinx")) == 3000
    assert asked == [str(tmp_path), str(tmp_path / "elsewhere")]


def test_too_little_room_is_said_with_both_sizes(tmp_path, monkeypatch):
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(f_bavail=2, f_frsize=500))
    require_space(str(tmp_path / "out.jinx"), 1000)
    with pytest.raises(OSError, match=r"about 1\.0 kB are needed here, and 1\.0 kB are free") as caught:
        require_space(str(tmp_path / "out.jinx"), 1001)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(tmp_path / "out.jinx")
