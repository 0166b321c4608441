"""Files that change under an open dataset, belong to others, or lie on odd file systems and under odd names."""

import errno
import os
import shutil
import signal
import subprocess
import sys

import pytest

import jinx
from fault.rows import digest, rows, stored

READ_AFTER_CUT = """
import os, sys
import jinx
path, io, cut = sys.argv[1:]
ds = jinx.open(path, io=io)
first = dict(ds[0])
os.truncate(cut, 100)
wrong = []
for number in range(len(ds)):
    try:
        sample = dict(ds[number])
        if sample["id"] != f"1-{number}":
            wrong.append(number)
    except (jinx.JinxError, OSError) as error:
        assert "shorter" in str(error) or "checksum" in str(error), error
        wrong.append(type(error).__name__)
print(*sorted({str(one) for one in wrong}))
"""


def write(path, version=1, **options):
    with jinx.Writer(path, **options) as writer:
        writer.write_many(rows(version))
    return path


def read_after_cut(path, io, cut, environment):
    words = [sys.executable, "-c", READ_AFTER_CUT, str(path), io, str(cut)]
    return subprocess.run(words, env=environment, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("part", [".jinx", ".binx"])
def test_a_file_cut_under_a_reader_is_an_error_with_pread(part, directory, child_environment):
    path = write(directory / "a.jinx")
    done = read_after_cut(path, "pread", path.with_suffix(part), child_environment)
    assert (done.returncode, done.stdout) == (0, "TruncatedFileError\n"), done.stderr[-1000:]


def test_a_mapped_file_cut_under_a_reader_ends_in_an_error_or_the_documented_signal(directory, child_environment):
    path = write(directory / "a.jinx")
    done = read_after_cut(path, "mmap", path, child_environment)
    assert done.returncode in {0, -signal.SIGBUS}, done.stderr[-1000:]
    # Media are read, not mapped: a cut sidecar is an error in this mode, too.
    path = write(directory / "b.jinx")
    done = read_after_cut(path, "mmap", path.with_suffix(".binx"), child_environment)
    assert (done.returncode, done.stdout) == (0, "TruncatedFileError\n"), done.stderr[-1000:]


@pytest.mark.parametrize("io", ["mmap", "pread"])
def test_bytes_that_change_under_a_reader_never_give_a_wrong_row(io, directory):
    path = write(directory / "a.jinx")
    dataset = jinx.open(path, io=io, verify="full")
    assert digest(dataset) == digest(rows(1))
    with path.open("r+b") as file:
        file.write(b'{"id":"x"')
    with pytest.raises(jinx.CorruptFileError, match="checksum"):
        dict(dataset[0])
    assert dataset[1]["id"] == "1-1"


def test_the_sidecar_of_another_dataset_is_refused(directory):
    one, other = write(directory / "a.jinx", 1), write(directory / "b.jinx", 2)
    shutil.copy(other.with_suffix(".binx"), one.with_suffix(".binx"))
    with pytest.raises(jinx.MismatchError):
        jinx.open(one)
    assert jinx.verify(one)
    one.with_suffix(".binx").unlink()
    with pytest.raises(jinx.MismatchError):
        jinx.open(one)["blob"]


def test_a_pair_that_was_copied_under_another_name_opens(directory):
    path = write(directory / "a.jinx")
    (directory / "elsewhere").mkdir()
    for part in (".jinx", ".binx"):
        shutil.copy(path.with_suffix(part), directory / "elsewhere" / f"other{part}")
    assert stored(directory / "elsewhere" / "other.jinx") == digest(rows(1))
    assert jinx.verify(directory / "elsewhere" / "other.jinx") == []


NAMES = {
    "blanks": b"a  b .jinx",
    "no UTF-8": b"\xff\xfe\x80.jinx",
    "newline": b"a\nb.jinx",
    "dash": b"--help.jinx",
    "quotes": b"'\"$(x)`.jinx",
    "unicode": "näme 日本 \U0001f600.jinx".encode(),
    "dots": b"a.b.jinx.jinx",
    "long": b"x" * 200 + b".jinx",
    "pattern": b"a[1]*?.jinx",
}


@pytest.mark.parametrize("name", NAMES)
def test_odd_names_are_written_read_verified_and_replaced(name, directory):
    path = os.path.join(os.fsencode(directory), NAMES[name])  # noqa: PTH118 - bytes
    for version in (1, 2):
        with jinx.Writer(os.fsdecode(path), overwrite=True) as writer:
            writer.write_many(rows(version))
        assert digest(jinx.open(os.fsdecode(path), verify="full")) == digest(rows(version))
    assert jinx.verify(os.fsdecode(path)) == []
    assert len(os.listdir(directory)) == 2  # noqa: PTH208


def test_names_that_no_file_can_have_are_one_clear_error(directory):
    for name in ("x" * 300 + ".jinx", "a\0b.jinx", "x" * 250 + ".jinx"):
        with pytest.raises((jinx.JinxError, OSError, ValueError)):
            jinx.Writer(directory / name)
        with pytest.raises((jinx.JinxError, OSError, ValueError)):
            jinx.open(directory / name)
    deep = directory
    while len(str(deep)) < 5000:
        deep = deep / ("d" * 200)
    with pytest.raises(OSError, match=r"too long|Errno") as caught:
        jinx.open(deep / "a.jinx")
    assert caught.value.errno in {errno.ENAMETOOLONG, errno.ENOENT, None}


def test_another_locale_and_another_clock_change_nothing(directory, child_environment):
    expected = write(directory / "a.jinx")
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[2]); time.time = lambda: -1e9; time.time_ns = lambda: -10**18;"
        "import jinx; from fault.rows import rows, digest\n"
        "with jinx.Writer(sys.argv[1]) as w: w.write_many(rows(1))\n"
        "assert digest(jinx.open(sys.argv[1], verify='full')) == digest(rows(1)); assert not jinx.verify(sys.argv[1])"
    )
    for number, locale in enumerate(("C", "POSIX", "tr_TR.UTF-8", "de_DE.ISO-8859-1")):
        path = directory / f"{number}" / "a.jinx"
        path.parent.mkdir()
        environment = {**child_environment, "LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0", "TZ": "Asia/Kolkata"}
        words = [sys.executable, "-c", code, str(path), child_environment["PYTHONPATH"].split(":")[0]]
        subprocess.run(words, env=environment, check=True)
        assert path.read_bytes() == expected.read_bytes()
        assert path.with_suffix(".binx").read_bytes() == expected.with_suffix(".binx").read_bytes()
        # A clock that was wrong when the files were written.
        os.utime(path, (0, 2**33))
        assert stored(path) == digest(rows(1))
