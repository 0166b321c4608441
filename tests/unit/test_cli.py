"""The command line: what is printed, and the exit codes."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jinx
import samples
from jinx._cli.program import COMMANDS, run


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def cli(capfdbinary):
    def call(*words: object) -> Outcome:
        code = run([str(word) for word in words])
        out, err = capfdbinary.readouterr()
        return Outcome(code, out.decode(), err.decode())

    return call


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return samples.write(tmp_path / "a.jinx", 20)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"n": i, "t": f"é{i}"}) + "\n" for i in range(12)), "utf-8")
    return path


def jinx_command(*words: object, **options):
    return subprocess.run([sys.executable, "-m", "jinx", *map(str, words)], capture_output=True, check=False, **options)


def test_every_command_explains_itself_with_two_examples(cli):
    assert "jinx convert in.parquet out.jinx --sidecar" in cli("--help").out
    for name in COMMANDS:
        done = cli(name, "--help")
        assert done.code == 0
        examples = done.out.split("Examples:\n")[1]
        assert sum(1 for line in examples.splitlines() if "jinx" in line) == 2
        assert COMMANDS[name][1]


def test_every_command_is_in_the_reference(repository):
    page = (repository / "docs" / "reference" / "cli.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"| [`jinx {name}`](#jinx-{name}) |" not in page] == []


def test_help_imports_little_more_than_click():
    def imported(code: str) -> set[str]:
        words = [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"]
        return set(subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1].split())

    of_help = imported("from jinx._cli.program import run; run(['--help'])")
    roots = {name.partition(".")[0] for name in of_help - imported("import click")}
    assert "jinx" in roots
    assert not roots & {"numpy", "pyarrow", "torch", "PIL", "fsspec", "json", "asyncio", "concurrent"}


def test_version(cli):
    assert jinx.__version__ in cli("--version").out


def test_head(cli, path):
    rows = [json.loads(line) for line in cli("head", path, "-n", 3).out.splitlines()]
    assert [row["n"] for row in rows] == [0, 1, 2]
    assert set(rows[1]["image"]) == {"$bytes"}
    assert rows[2]["messages"] == samples.sample(2)["messages"]
    rows = [json.loads(line) for line in cli("head", path, "--no-binary", "--columns", "image,n").out.splitlines()]
    assert len(rows) == 10
    assert set(rows[0]) == {"image", "n"}
    assert "bytes" in rows[1]["image"]


def test_cat(cli, path, lines):
    assert [json.loads(line)["n"] for line in cli("cat", path).out.splitlines()] == list(range(20))
    assert cli("cat", lines, "--columns", "t").out.splitlines()[3] == '{"t":"é3"}'


def test_head_of_other_formats(cli, chat_parquet, lines):
    row = json.loads(cli("head", chat_parquet, "-n", 1, "--no-binary").out)
    assert row["id"].startswith("drawing")
    assert len(cli("head", lines).out.splitlines()) == 10


def test_head_of_what_python_alone_can_hold(cli, tmp_path):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write({"nan": float("nan"), "inf": float("inf"), "big": 1 << 80, "deep": [{"b": b"\x00" * 99}]})
    row = json.loads(
        cli("head", tmp_path / "a.jinx").out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON")
    )
    assert row["big"] == 1 << 80


def test_info(cli, path):
    text = cli("info", path).out
    for word in ("samples      20", "image", "kB", "checksums", "columns", "float or None", "ndarray"):
        assert word in text
    assert json.loads(cli("info", path, "--json").out)["samples"] == 20


def test_convert(cli, lines, tmp_path):
    done = cli("convert", lines, tmp_path / "out.jinx", "--sidecar", "--limit", 5, "--columns", "n", "--rename", "n=m")
    assert done.code == 0, done.err
    assert "5 samples" in done.err
    assert [dict(sample) for sample in jinx.open(tmp_path / "out.jinx")] == [{"m": i} for i in range(5)]
    done = cli("convert", tmp_path / "out.jinx", tmp_path / "back.jsonl", "--json")
    assert json.loads(done.out)["samples"] == 5
    assert (tmp_path / "back.jsonl").read_text() == "".join(f'{{"m":{i}}}\n' for i in range(5))


def test_convert_proposes_the_right_command(cli, lines, path):
    assert "jinx convert" in cli("convert", lines).err
    assert "rows.jinx" in cli("convert", lines).err
    assert "a.parquet" in cli("convert", path).err
    done = cli("convert", lines, path)
    assert (done.code, "--overwrite" in done.err) == (2, True)
    assert len(jinx.open(path)) == 20
    assert cli("convert", lines, path, "--overwrite").code == 0
    assert len(jinx.open(path)) == 12


def test_convert_from_standard_input(lines, tmp_path):
    with lines.open("rb") as file:
        done = jinx_command("convert", "-", tmp_path / "out.jinx", "--input-format", "jsonl", stdin=file)
    assert done.returncode == 0, done.stderr
    assert len(jinx.open(tmp_path / "out.jinx")) == 12


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["convret"], 2, "did you mean 'convert'"),
        (["head", "b.jinx"], 2, "did you mean 'a.jinx'"),
        (["head"], 2, "PATH"),
        (["head", "a.jinx", "--columns", "scroe"], 2, "did you mean 'score'"),
        (["convert"], 2, "jinx convert IN OUT"),
        (["convert", "a.jinx", "x.jinx", "--rename", "n"], 2, "old=new"),
        (["convert", "a.jinx", "x.parquet", "--shard-size", "huge"], 2, "not a size"),
        (["convert", "a.jinx", "x.foo"], 2, "its suffix names no format"),
        (["convert", "a.jinx", "missing/x.jinx"], 2, "no such directory"),
        (["convert", "a.jinx", "OUT.JINX"], 2, "OUT.jinx"),
        (["convert", "a.jinx", "x.jinx", "--columns", "scroe"], 2, "did you mean 'score'"),
        (["convert", "a.jinx", "x.jinx", "--indexed", "scroe"], 2, "did you mean 'score'"),
        (["get", "a.jinx", "99", "image"], 2, "99"),
        (["get", "a.jinx", "0", "messages.role"], 2, "'messages' is a list"),
        (["get", "a.jinx", "0", "meta.widht"], 2, "did you mean 'width'? in 'meta'"),
        (["get", "a.jinx", "0", "id.x"], 2, "'id' is str"),
        (["convert", "a.jinx", "x.tar", "--drop", "scroe"], 2, "did you mean 'score'"),
        (["convert", "a.jinx", "x.tar.zst"], 2, "choose by the suffix"),
        (["convert", "a.jinx", "x.jinx", "--compression", "sample::zstd"], 2, "only MDS"),
        (["info", "tables"], 1, "it holds a Parquet file; run: jinx convert tables tables-jinx"),
        (["convert", "tables/data", "x.jinx", "--indexed", "scroe"], 2, "did you mean 'score'"),
        (["repair", "a.binx"], 1, "the sidecar of a JINX file"),
        (["get", "a.jinx", "0", "imge"], 2, "did you mean 'image'"),
        (["info", "broken.jinx"], 1, "broken.jinx"),
        (["info", "--nonsense", "a.jinx"], 2, "nonsense"),
    ],
)
def test_errors_are_one_line_with_the_right_code(cli, path, monkeypatch, words, code, says):  # noqa: PLR0917 - a table
    monkeypatch.chdir(path.parent)
    Path("broken.jinx").write_bytes(path.read_bytes()[:-100])
    if words[1:] and words[1].startswith("tables"):
        Path("tables/data").mkdir(parents=True)
        jinx.convert(jinx.open(path).drop_columns("array"), "tables/data/0.parquet")
    done = cli(*words)
    assert done.code == code
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("jinx: ")
    assert says in done.err


def test_debug_shows_the_traceback(path):
    path.write_bytes(path.read_bytes()[:-100])
    done = jinx_command("info", path, "--debug")
    assert b"Traceback" in done.stderr
    assert done.returncode == 1


def test_a_closed_pipe_ends_silently(tmp_path):
    path = samples.write(tmp_path / "big.jinx", 20_000, only_indexed=[])
    cat = subprocess.Popen([sys.executable, "-m", "jinx", "cat", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert cat.stdout is not None
    assert cat.stderr is not None
    cat.stdout.readline()
    cat.stdout.close()
    assert cat.stderr.read() == b""
    cat.stderr.close()
    assert cat.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_old_output_and_nothing_else(tmp_path, number):
    out = tmp_path / "out.jsonl"
    out.write_text("old\n", "utf-8")
    words = ("convert", "-", out, "--input-format", "jsonl", "--overwrite", "--progress", "plain")
    command = [sys.executable, "-m", "jinx", *map(str, words)]
    # Under nohup, SIGHUP is ignored, and what is ignored is inherited.
    outside = signal.signal(number, signal.SIG_DFL)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    signal.signal(number, outside)
    with process:
        assert process.stdin is not None
        assert process.stderr is not None
        deadline = time.monotonic() + 30
        while len(list(tmp_path.iterdir())) == 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(number)
        errors = process.stderr.read()  # its input has not ended
        assert process.wait() == 130
    assert errors.strip() == b"jinx: interrupted"
    assert [file.name for file in tmp_path.iterdir()] == ["out.jsonl"]
    assert out.read_text("utf-8") == "old\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [("cat",), ("info",), ("get", "0", "image")])
def test_a_full_disk_is_named(path, words):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "jinx", words[0], path, *words[1:]], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"jinx: <standard output>: No space left on device; make room, or write elsewhere\n"


def test_head_takes_a_bare_number(cli, path):
    assert len(cli("head", "-3", path).out.splitlines()) == 3


def test_media_in_a_struct_are_written_as_files(tmp_path):
    path = tmp_path / "a.jinx"
    jinx.convert([{"image": {"bytes": b"\xff\xd8\xff", "path": None}, "all": [b"x"]}], path)
    assert jinx_command("get", path, 0, "image").stdout == b"\xff\xd8\xff"
    assert json.loads(jinx_command("get", path, 0, "all").stdout) == [{"$bytes": "eA=="}]
    assert jinx_command("extract", path, tmp_path / "files", "--column", "image").returncode == 0
    assert (tmp_path / "files" / "0.jpg").read_bytes() == b"\xff\xd8\xff"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{}\n[{"a": 1}]', "jq -c"),
        ('{\n"a": 1}', "one whole object"),
        ('{"a": NaN}', '{"$float":"nan"}'),
        ('{"a": 1e999}', "1e999 is too large"),
    ],
)
def test_lines_that_are_no_json_say_what_to_do(cli, tmp_path, text, says):
    (tmp_path / "a.jsonl").write_text(text, "utf-8")
    done = cli("convert", tmp_path / "a.jsonl", tmp_path / "a.jinx")
    assert (done.code, len(done.err.splitlines())) == (1, 1)
    assert "a.jsonl: line " in done.err
    assert says in done.err


def test_verify(cli, path):
    done = cli("verify", path)
    assert (done.code, "intact" in done.out) == (0, True)
    sidecar = path.with_suffix(".binx")
    data = bytearray(sidecar.read_bytes())
    data[200] ^= 1
    sidecar.write_bytes(data)
    done = cli("verify", path)
    assert done.code == 1
    assert re.search(rf"^{re.escape(str(path))}: sample 1, column image: ", done.out)
    assert json.loads(cli("verify", path, "--json").out)[0]["file"] == str(path)


def test_repair(cli, path, tmp_path):
    text = path.read_bytes()
    lines = text.split(b"\n")
    (tmp_path / "dead.jinx").write_bytes(b"\n".join(lines[:10]) + b"\n" + lines[10][:20])
    (tmp_path / "dead.binx").write_bytes(path.with_suffix(".binx").read_bytes())
    dry = cli("repair", tmp_path / "dead.jinx", "--dry-run").out
    assert "10 samples would be kept" in dry
    assert "line 11:" in dry
    done = cli("repair", tmp_path / "dead.jinx", "--out", tmp_path / "whole.jinx")
    assert done.code == 0, done.err
    assert "10 samples kept" in done.out
    assert jinx.open(tmp_path / "whole.jinx")["n"].tolist() == list(range(10))


def test_names_that_were_not_indexed_are_said(cli, lines, tmp_path):
    (tmp_path / "dicts.jsonl").write_text('{"d": {"n": 1}}\n', "utf-8")
    done = cli("convert", tmp_path / "dicts.jsonl", tmp_path / "c.jinx", "--indexed", "d,d.n,d.x")
    assert "'d' was not indexed" in done.err
    assert "'d.x' was not indexed" in done.err
    assert "'d.n' was not indexed" not in done.err
    assert done.code == 0
    refused = cli("convert", lines, tmp_path / "n.jinx", "--indexed", "nope")
    assert "no sample that was written has the column 'nope'" in refused.err
    assert refused.code == 2
    assert not (tmp_path / "n.jinx").exists()


def test_clean(cli, tmp_path):
    assert "nothing to clean" in cli("clean", tmp_path).out


def test_get(path):
    done = jinx_command("get", path, 4, "image")
    assert done.stdout == samples.sample(4)["image"]
    assert jinx_command("get", path, -1, "id").stdout == b"s019"
    assert json.loads(jinx_command("get", path, 3, "messages").stdout) == samples.sample(3)["messages"]
    assert jinx_command("get", path, 3, "meta.width").stdout == b"6\n"
    assert jinx_command("get", path, 3, "messages.0.role").stdout == samples.sample(3)["messages"][0]["role"].encode()
    assert json.loads(jinx_command("get", path, 1, "array").stdout) == [[1, 2, 3], [4, 5, 6]]


def test_extract(cli, path, tmp_path):
    done = cli("extract", path, tmp_path / "out", "--column", "image", "--limit", 12)
    assert "12 files" in done.err
    assert (tmp_path / "out" / "04.jpg").read_bytes() == samples.sample(4)["image"]
    assert len(list((tmp_path / "out").iterdir())) == 12
    done = cli("extract", path, tmp_path / "out", "--column", "image", "--limit", 12)
    assert done.code == 2
    assert (
        cli("extract", path, tmp_path / "ids", "--column", "id").code,
        (tmp_path / "ids" / "00.txt").read_text(),
    ) == (0, "s000")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(cli, shell):
    assert "_JINX_COMPLETE" in cli("completion", shell).out


def test_paths_complete():
    environment = {**os.environ, "_JINX_COMPLETE": "bash_complete", "COMP_WORDS": "jinx info a", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", "from jinx._cli import main; import sys; sys.argv[0] = 'jinx'; main()"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["file,a"]


def test_progress_lines(monkeypatch):
    from jinx._cli import progress

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.ProgressBar("samples", "auto") as bar:
        bar.started -= 10
        bar.last -= 10
        bar(1000, 5_000_000, 10_000_000)
    assert "50% 1,000 samples, 5.0 MB, 0.5 MB/s" in screen.getvalue().replace("500.0 kB/s", "0.5 MB/s").replace(
        "499.9 kB/s", "0.5 MB/s"
    )
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    for mode in ("plain", "none"):
        with progress.ProgressBar("samples", mode) as bar:
            bar(1, 1, None)
            bar.last -= 61
            bar(1000, 5, None)
    assert log.getvalue().count("\n") == 1
    assert progress.natural_seconds(3725) == "1 h 2 min"


def test_convert_reports_what_it_left_out_and_what_is_large(cli, tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text('{"n":1}\nbroken\n{"n":2}\n', "utf-8")
    done = cli("convert", tmp_path / "a.jsonl", tmp_path / "a.jinx", "--on-error", "skip")
    assert done.code == 0
    assert f"1 sample was skipped; see {tmp_path}/a.jinx.rejected.jsonl" in done.err
    monkeypatch.setattr("jinx._cli.convert.BIG_PAIR_BYTES", 10)
    done = cli("convert", tmp_path / "a.jinx", tmp_path / "b.jinx")
    assert "in one pair: a directory (a name without .jinx) can be resumed" in done.err


def test_an_interrupted_conversion_says_how_to_resume(tmp_path):
    source, out = tmp_path / "a.jsonl", tmp_path / "out"
    source.write_text("".join(json.dumps({"n": n, "t": "x" * 500}) + "\n" for n in range(400_000)), "utf-8")
    command = [sys.executable, "-m", "jinx", "convert", str(source), str(out), "--shard-size", "200kB"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / ".out.tmp" / ".progress.json.tmp").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate()
    assert process.returncode == 130
    assert f"resume with: jinx convert {source} {out} --resume" in error
    assert not out.exists()
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert (done.returncode, len(jinx.open(out))) == (0, 400_000)
    assert not (tmp_path / ".out.tmp").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["merge", "rows"], "no such file"),
        (["convert", "a.jsonl", "x.jinx", "--part", "3"], "write NUMBER/COUNT"),
        (["convert", "a.jsonl", "x", "--part", "2/2"], "write NUMBER/COUNT"),
        (["convert", "a.jsonl", "x.jinx", "--resume"], "directory of shards can be resumed"),
        (["convert", "a.jsonl", "x.jinx", "--embed", "imge"], "did you mean 'image'"),
        (
            ["convert", "a.jsonl", "x.jinx", "--embed", "image", "--root", "nowhere"],
            "nowhere: no such directory",
        ),
        (["convert", "a.jsonl", "x.jinx", "--embed", "image"], "'a.png' is not in"),
        (["convert", "a.jsonl", "x.jinx", "--media-dir", "m"], "JINX keeps them in its sidecar"),
        (["convert", "a.jsonl", "x.zip"], "names no format"),
    ],
)
def test_new_options_fail_in_one_line(cli, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"image":"a.png"}\n', "utf-8")
    done = cli(*words)
    assert done.code in {1, 2}
    assert says in done.err
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "x") == ["a.jsonl"]


@pytest.mark.parametrize(
    "words",
    ["cat a.jinx", "get a.jinx 0 image", "info a.jinx", "verify a.jinx", "--help", "convert a.jinx b.jsonl --json"],
)
def test_closed_standard_output_is_one_line(path, words):
    command = f"exec {sys.executable} -m jinx {words} >&-"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=path.parent, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"jinx: <standard output>: Bad file descriptor\n"


def test_closed_standard_streams_are_no_place_for_data(path):
    command = f"exec {sys.executable} -m jinx convert a.jinx b.jsonl <&- >&- 2>&-"
    assert subprocess.run(["/bin/sh", "-c", command], cwd=path.parent, check=False).returncode == 0
    assert len(jinx.open(path.with_name("b.jsonl"))) == 20


@pytest.mark.parametrize("words", ["convert {} out.jsonl --limit", "head {} -n", "extract {} out --column n --limit"])
def test_counts_beyond_64_bits_are_one_line(cli, path, words):
    done = cli(*words.format(path).split(), 2**70)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert f"{2**70} is not in the range" in done.err


def test_get_takes_quoted_names(cli, tmp_path):
    jinx.convert([{"meta": {"a.b": {"c": "found"}}}], tmp_path / "a.jinx")
    assert cli("get", tmp_path / "a.jinx", 0, 'meta."a.b".c').out == "found"


def test_interrupted_while_it_starts():
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    @staticmethod\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'jinx._cli.program':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted)\n"
        "from jinx._cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "jinx: interrupted\n")


def test_an_early_end_of_data_is_no_interruption(monkeypatch, tmp_path):
    from jinx._cli import convert

    def fails(**_):
        raise EOFError("the file ends early")

    monkeypatch.setattr(convert.convert, "callback", fails)
    with pytest.raises(EOFError, match="the file ends early"):
        run(["convert", "a.jinx", str(tmp_path / "b.jinx")])
