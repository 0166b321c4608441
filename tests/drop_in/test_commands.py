"""Each row of the table of commands, run as it stands there: MLDataForge's command, ours, and equal outputs."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jinx
from jinx._cli.program import run

# Importing MLDataForge's commands takes long, for the first test.
pytestmark = pytest.mark.timeout(300)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "from-mldataforge.md"
COMMANDS = 39
LEFT, RIGHT = range(14), range(14, 30)
TEXT = "Words that shrink when they are compressed, over and over again. "


def rows() -> list[tuple[str, list[str]]]:
    """MLDataForge's command and ours, from the page."""
    found = []
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [re.findall("`([^`]+)`", cell) for cell in line.strip("|").split(" | ")]
        if len(cells) == 2 and cells[0] and cells[0][0].startswith("mdf "):
            found.append((cells[0][0], cells[1]))
    return found


@pytest.fixture(scope="module")
def mdf():
    """Its command line. Importing it replaces Streaming's reader for the whole process."""
    from streaming.base.format import _readers

    before = _readers["mds"]
    commands = pytest.importorskip("mldataforge.commands")
    utils = pytest.importorskip("mldataforge.utils")
    utils.CFG["progress"] = False
    yield commands.cli
    _readers["mds"] = before


def commands_of(group: Any, names: tuple[str, ...] = ()) -> list[str]:
    if hasattr(group, "commands"):
        return [one for name, command in group.commands.items() for one in commands_of(command, (*names, name))]
    return [" ".join(names)]


def sample(i: int, *, binary: bool) -> dict[str, Any]:
    found = {
        "id": f"sample {i}",
        "n": i * 7 - 50,
        "score": i * 37 % 31,
        "weight": i / 8,
        "text": TEXT * (i % 5 + 1),
        "tags": ["even" if i % 2 == 0 else "odd", str(i)],
    }
    return {**found, "data": bytes(range(256)) * (i % 3 + 1)} if binary else found


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, mdf) -> dict[bool, Path]:
    """The files that the page names, as MLDataForge writes them; one directory for rows with bytes, one without."""
    from mldataforge import utils

    found = {}
    for binary in (False, True):
        place = tmp_path_factory.mktemp("binary" if binary else "plain")
        for name, numbers in (("a", LEFT), ("b", RIGHT)):
            samples = [sample(i, binary=binary) for i in numbers]
            utils.save_jinx(samples, str(place / f"{name}.jinx"), binary_threshold=256)
            if not binary:
                utils.save_jsonl(samples, str(place / f"{name}.jsonl"))
            utils.save_msgpack(samples, str(place / f"{name}.msgpack"))
            utils.save_parquet(samples, str(place / f"{name}.parquet"))
            # Its conversions of MDS fail at floats, which come back as numpy's.
            without = [{key: value for key, value in one.items() if key != "weight"} for one in samples]
            utils.save_mds(without, str(place / f"{name}.mds"), pigz=False, shard_size=1 << 26)
        count = len(LEFT) + len(RIGHT)
        order = np.random.default_rng(9).permutation(count).astype(np.uint64)
        for name, values in (("order", order), ("one", order[:7]), ("two", order[5:])):
            np.save(place / f"{name}.npy", values)
        tokens = [{"tokens": np.arange(i % 4 + 1), "mask": np.ones(i % 4 + 1, dtype=bool)} for i in range(10)]
        utils.save_jinx(tokens, str(place / "tokens.jinx"))
        config = PAGE.read_text("utf-8").partition("```text\n")[2].partition("```")[0]
        (place / "shuffle.yaml").write_text(config, "utf-8")
        found[binary] = place
    return found


def read(path: Path) -> Any:
    """Everything in an output."""
    return (mds if path.is_dir() else READERS[path.suffix])(path)


def msgpack_rows(path: Path) -> list[Any]:
    with path.open("rb") as file:
        return list(msgpack.Unpacker(file, raw=False))


def positions(path: Path) -> list[int]:
    with path.open("rb") as file:
        values = np.load(file)
    assert values.dtype == np.uint64
    return values.tolist()


def arrow(path: Path) -> dict[str, list[Any]]:
    table = pa.ipc.open_file(path).read_all()
    return {name: flat(table[name].to_pylist()) for name in table.column_names}


def flat(values: list[Any]) -> list[Any]:
    """Their export has a row for each element of an array, ours one for each sample."""
    return [one for value in values for one in (value if isinstance(value, list) else [value])]


def mds(directory: Path) -> list[dict[str, Any]]:
    from streaming import LocalDataset

    return [{**one} for one in LocalDataset(str(directory))]


READERS = {
    ".jinx": lambda path: jinx.open(path).to_list(),
    ".jsonl": lambda path: [json.loads(line) for line in path.read_text("utf-8").splitlines()],
    ".msgpack": msgpack_rows,
    ".parquet": lambda path: pq.read_table(path).to_pylist(),
    ".npy": positions,
    ".arrow": arrow,
}
NAMES = [f"out{suffix}" for suffix in ("", ".mds", *READERS)]


def outputs(place: Path) -> dict[str, Any]:
    """What a command made, by name; the parts of a split joined."""
    found: dict[str, Any] = {}
    for name in [*NAMES, "rest.npy"]:
        path = place / name
        if path.exists():
            found["out.arrow" if name == "out" else name] = read(path / "fullshard.arrow" if name == "out" else path)
    if (place / "parts").exists():
        parts = sorted(one for one in (place / "parts").iterdir() if one.suffix != ".binx")
        found["parts"] = [each for part in parts for each in read(part)]
    return found


def test_the_page_has_every_command(mdf):
    listed = commands_of(mdf)
    assert len(listed) == COMMANDS
    first = [words[1:] for words in (shlex.split(theirs) for theirs, _ in rows())]
    there = {name for name in listed if any(words[: len(name.split())] == name.split() for words in first)}
    assert set(listed) - there == set()


def stage(place: Path, source: Path) -> Path:
    place.mkdir()
    for one in source.iterdir():
        (place / one.name).symlink_to(one)
    return place


@pytest.mark.parametrize(("theirs", "ours"), rows(), ids=[theirs for theirs, _ in rows()])
def test_both_write_the_same(theirs, ours, mdf, inputs, tmp_path, monkeypatch, capsys):  # noqa: PLR0917 - fixtures
    source = inputs["jsonl" not in theirs and "pipeline" not in theirs]
    left, right = stage(tmp_path / "theirs", source), stage(tmp_path / "ours", source)
    (left / "parts").mkdir()
    words = shlex.split(theirs)[1:]
    monkeypatch.chdir(left)
    mdf.main(words, prog_name="mdf", standalone_mode=False)
    monkeypatch.chdir(right)
    for line in ours:
        program, *words = shlex.split(line)
        if program == "jinx":
            assert run(words) == 0, capsys.readouterr().err
        else:
            packages = str(Path(jinx.__file__).resolve().parents[1])
            subprocess.run([sys.executable, *words], check=True, env={**os.environ, "PYTHONPATH": packages})
    if not any((left / "parts").iterdir()):
        (left / "parts").rmdir()
    expected = outputs(left)
    if theirs.startswith("mdf split msgpack"):  # writes JSON lines there
        expected = {"parts": [{**one, "data": one["data"].encode("latin-1")} for one in expected["parts"]]}
    assert expected
    assert outputs(right) == expected
    if (right / "out.npy").exists():  # theirs reads what ours wrote
        from mldataforge.utils import load_index

        assert load_index(right / "out.npy").tolist() == expected["out.npy"]
