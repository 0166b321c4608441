"""The Python in README and documentation runs as it stands there, page by page, and so do the commands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import draw
import jinx

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    "docs/index.md",
    "docs/quickstart.md",
    *(f"docs/how-to/{n}.md" for n in ("read", "train", "trainers", "tables", "convert")),
]
COMMANDS = [
    "README.md",
    "docs/quickstart.md",
    *(f"docs/how-to/{n}.md" for n in ("convert", "inspect", "leave", "repair")),
]
# What a page takes for granted: the data, the import, an open dataset.
BEFORE = "import jinx\nimport numpy as np\nds = jinx.open('out.jinx')\nindices = [3, 1]\nmask = ds['width'] > 300\n"


@pytest.fixture
def workplace(tmp_path, chat_parquet, monkeypatch):
    shutil.copy(chat_parquet, tmp_path / "in.parquet")
    jinx.convert(chat_parquet, tmp_path / "out.jinx")
    jinx.convert(chat_parquet, tmp_path / "train.jinx")
    for number in (1, 2):
        shutil.copy(chat_parquet, tmp_path / f"part-{number}.parquet")
    (tmp_path / "plain.jsonl").write_text('{"a":1}\n', "utf-8")
    jinx.convert(tmp_path / "plain.jsonl", tmp_path / "rows.jsonl.gz")
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.jpg").write_bytes(draw.sample(0)["image"]["bytes"])
    (tmp_path / "llava.json").write_text('[{"image": "a.jpg", "conversations": []}]', "utf-8")
    (tmp_path / "a.jpg").write_bytes(draw.sample(0)["image"]["bytes"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_python(page, workplace):
    """Outputs that a page writes are removed first; names a page defines stay for its later blocks."""
    script = BEFORE
    for code in blocks(page, "python"):
        for out in re.findall(r'(?:Writer|convert)\((?:"[^"]*", )?"(\w+)\.jinx"', code):
            script += (
                f"import pathlib\nfor s in ('.jinx', '.binx'): pathlib.Path('{out}' + s).unlink(missing_ok=True)\n"
            )
        script += code
    (workplace / "page.py").write_text(script, "utf-8")
    done = subprocess.run([sys.executable, "page.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", COMMANDS)
def test_commands(page, workplace):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    lines = [line[2:] for text in blocks(page, "console") for line in text.splitlines() if line.startswith("$ jinx ")]
    assert lines
    for line in lines:
        command = line.split("  #")[0]
        if "| jq" in command and shutil.which("jq") is None:
            command = command.split("|")[0]
        if command.startswith("jinx convert") and "--append" not in command:
            out = Path(command.split("--")[0].split()[-1])
            for path in (out, out.with_suffix(".binx")) if out.suffix == ".jinx" else ():
                (workplace / path).unlink(missing_ok=True)
            if out.name == "out.jinx":
                shutil.copy(workplace / "in.parquet", workplace / "part-1.parquet")
        done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)
