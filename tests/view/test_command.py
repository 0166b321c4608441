"""`jinx view` as a command: everything that `jinx.open` reads, and what it refuses before it prints an address."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

import bucket
import jinx
from view_data import write

SAMPLES = 120


@contextmanager
def viewer(*arguments: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The address of a running `jinx view`, and its process."""
    command = [sys.executable, "-m", "jinx", "view", *arguments, "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process
        finally:
            process.terminate()


def refused(*arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "jinx", "view", *arguments, "--no-open"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout == ""
    return ended.returncode, ended.stderr.strip()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("paths")
    samples = write(folder / "train.jinx", SAMPLES)
    return folder, samples


def test_every_kind_of_path_is_shown(data: tuple[Path, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, samples = data
    ds = jinx.open(folder / "train.jinx")
    for name in ("train.jsonl", "mds/"):
        jinx.convert(folder / "train.jinx", f"{folder}/{name}")
    (folder / "shards").mkdir()
    for number, start in enumerate(range(0, SAMPLES, 50)):
        with jinx.Writer(folder / "shards" / f"part-{number}.jinx") as writer:
            writer.write_many(dict(ds[i]) for i in range(start, min(start + 50, SAMPLES)))
    ds[::-1].save(folder / "view.jinx")
    with bucket.served(folder) as store:
        store.is_open = True  # to readers that know no S3
        for name, value in {**store.environment, "JINX_CACHE": "off"}.items():
            monkeypatch.setenv(name, value)
        paths = [
            *(str(folder / name) for name in ("train.jinx", "train.jsonl", "mds", "shards", "view.jinx")),
            *(store.url("train.jinx"), store.url("shards"), store.http_url("train.jinx")),
        ]
        with viewer(*paths) as (url, _):
            infos = ask(url, "about")["datasets"]
            assert [info["path"] for info in infos] == paths
            assert len({info["name"] for info in infos}) == len(paths)
            for number, path in enumerate(paths):
                own = samples[::-1] if path.endswith("view.jinx") else samples
                check(url, number, path, own, [sample["image"] for sample in ds], is_reversed=own is not samples)


def ask(url: str, address: str, **asked: Any) -> Any:
    with urlopen(f"{url}{address}?{urlencode(asked)}", timeout=60) as answer:
        return json.loads(answer.read())


def rows(url: str, number: int, **asked: Any) -> list[dict[str, Any]]:
    while not (answer := ask(url, f"{number}/rows", count=200, **asked))["complete"]:
        pass
    return answer["rows"]


def check(
    url: str, number: int, path: str, samples: list[dict[str, Any]], images: list[bytes], *, is_reversed: bool
) -> None:
    """Rows, filter, order, search, pictures and Python code of a dataset are those of a list."""
    assert [row["row"]["id"] for row in rows(url, number)] == [sample["id"] for sample in samples], path
    asked = {"where": "score > 0.3", "find": "boat", "sort": "-score"}
    kept = [sample for sample in samples if sample["score"] > 0.3 and "boat" in sample["caption"]]
    expected = [sample["id"] for sample in sorted(kept, key=lambda sample: -sample["score"])]
    assert expected
    assert [row["row"]["id"] for row in rows(url, number, **asked)] == expected, path
    place = json.dumps(rows(url, number)[3]["row"]["image"]["path"])
    with urlopen(f"{url}{number}/media/3?{urlencode({'path': place})}", timeout=60) as answer:
        assert answer.read() == images[-4 if is_reversed else 3], path
    names: dict[str, Any] = {}
    exec(ask(url, f"{number}/python", **asked)["python"], names)
    assert names["ds"]["id"] == expected, path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--where", "scor > 1"], "no column 'scor'; did you mean 'score'?"),
        (["--where", "score >"], "column 8 of the expression, at its end: a value is missing"),
        (["--sort", "-scor"], "no column 'scor'; did you mean 'score'?"),
        (["--columns", "id,captoin"], "'captoin'"),
        (["--tags", "a,b,c,d,e,f,g,h,i,j"], "--tags names 10, and there are 9 keys for them"),
        (["--idle", "soon"], "'soon' is not a time; write 30m or 8h"),
    ],
)
def test_what_the_page_could_not_show_is_refused(
    data: tuple[Path, list[dict[str, Any]]], arguments: list[str], message: str
) -> None:
    code, told = refused(str(data[0] / "train.jinx"), *arguments)
    assert code in {1, 2}
    assert message in told
    assert "Traceback" not in told


def test_it_ends_when_no_one_has_used_it(data: tuple[Path, list[dict[str, Any]]]) -> None:
    with viewer(str(data[0] / "train.jinx"), "--idle", "1s") as (url, process):
        assert url.startswith("http://127.0.0.1:")
        assert process.wait(60) == 0
