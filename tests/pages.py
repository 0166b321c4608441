"""What the documentation tells people to type, and a directory in which all of it can run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import draw
import jinx
import train_vlm

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
PACKAGES = [Path(jinx.__file__).parents[1], ROOT / "python" / "pipeline"]
# Packages that clash with others, or are large: who runs the blocks that import them.
ELSEWHERE = {
    "streaming": "tests/drop_in/test_page.py",
    "accelerate": "tests/trainers/test_page.py",
    "lightning": "tests/trainers/test_page.py",
    "transformers": "tests/trainers/test_page.py",
    "trl": "tests/trainers/test_page.py",
}
# Commands that install, build, measure for hours or want a clone; the rest of the checks is what they run.
BENCH = ".venv/bin/python -m bench"
NOT_RUN = ("make", "export ", "pip ", "jinx-pipeline ", "git ", "cargo ", BENCH, f"OPENBLAS_NUM_THREADS=1 {BENCH}")
# What tells a command from Python.
SHELL = ("jinx ", "head ")
# What pages take for granted next to the files that `prepare` makes.
GIVEN = """
import jinx
import numpy as np
ds = jinx.open("out.jinx")
sample = ds[0]
indices = [3, 1]
mask = [True] * len(ds)
i, n, seed = 0, 2, 7
"""
TOOLS = """
def remove(name):
    import pathlib, shutil
    path = pathlib.Path(name)
    shutil.rmtree(path, ignore_errors=True)
    for file in (path, path.with_suffix(".binx")) if name.endswith(".jinx") else (path,):
        file.unlink(missing_ok=True)

def shell(line):
    import subprocess
    subprocess.run(["bash", "-c", line], check=True)
"""


def blocks(page: str, language: str = r"\w*") -> list[str]:
    """The fenced blocks of a language, those without one included if none is named."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)


def languages(page: str) -> list[str]:
    """The language of each fenced block."""
    return re.findall(r"^```(.*)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)[::2]


def commands(page: str) -> list[str]:
    """Every line behind a prompt."""
    lines = [line for text in blocks(page, "console") for line in text.splitlines()]
    found = [line[2:].split("  #")[0].rstrip() for line in lines if line.startswith("$ ")]
    return found if shutil.which("jq") else [line.split("| jq")[0] for line in found]


def in_tables(page: str) -> list[str]:
    """All code in the last column of tables, row by row."""
    rows = [line for line in (ROOT / page).read_text("utf-8").splitlines() if line.startswith("| ")]
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row.strip("| ").split(" | ")[-1])]


def runs_elsewhere(code: str) -> bool:
    """Whether the code needs a package of ELSEWHERE."""
    names = [*re.findall(r"^\s*(?:from|import) (\w+)", code, re.MULTILINE), *re.findall(r"patch_(streaming)", code)]
    return any(name in ELSEWHERE for name in names)


def prepare(directory: Path, parquet: Path) -> None:
    """Everything that pages name as given."""
    for name in ("in", "part-1", "part-2"):
        shutil.copy(parquet, directory / f"{name}.parquet")
    (directory / "hub").mkdir()
    for split in ("train", "test"):
        shutil.copy(parquet, directory / "hub" / f"{split}-00000-of-00001.parquet")
    for name in ("out", "train"):
        jinx.convert(parquet, directory / f"{name}.jinx")
    jinx.open(directory / "train.jinx")[::2].save(directory / "good.jinx")
    for name in ("shards", "shards/train"):
        jinx.convert(parquet, directory / name, output_format="mds")
    (directory / "plain.jsonl").write_text('{"a":1}\n', "utf-8")
    jinx.convert(directory / "plain.jsonl", directory / "rows.jsonl.gz")
    image = draw.sample(0)["image"]["bytes"]
    (directory / "images").mkdir()
    for name in ("a.jpg", "images/a.jpg"):
        (directory / name).write_bytes(image)
    with tarfile.open(directory / "shard-0000.tar", "w") as tar:
        for number in range(5):
            for suffix, file in (("jpg", "a.jpg"), ("json", "plain.jsonl")):
                tar.add(directory / file, f"{number:06}.{suffix}")
    train_vlm.make_tokenizer(directory / "model", jinx.open(directory / "train.jinx"))
    jinx.annotate(
        directory / "train.jinx", directory / "lengths.jinx", tokenizer=directory / "model", image_rule="fixed:16"
    )
    with jinx.Writer(directory / "sizes.jinx") as writer:
        writer.write({"num_tokens": 40, "num_images": 0})
    (directory / "llava.json").write_text('[{"image": "a.jpg", "conversations": []}]', "utf-8")


def written_by(code: str) -> list[str]:
    """What the code is about to write again: pages use the same names again and again."""
    if code.startswith(("jinx annotate", "jinx convert")) and "--append" not in code and "--part" not in code:
        return [shlex.split(code.split(" --", maxsplit=1)[0])[-1]]
    if code.startswith("jinx "):
        return []
    return re.findall(r'(?:\b(?:Writer|convert)\((?:\S.*, )?|\bout=|\.save\()"([\w./:-]+)"[,)]', code)


def run(directory: Path, codes: list[str], before: str = "", after: str = "") -> None:
    """Run Python and commands in order, as one script: names that one block defines stay for the later ones."""
    lines = [GIVEN, TOOLS, before]
    for code in codes:
        lines += [f"remove({name!r})" for name in written_by(code)]
        lines.append(f"shell({code!r})" if code.startswith(SHELL) else code)
    (directory / "page.py").write_text("\n".join([*lines, after]), "utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=directory,
        env={**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(map(str, PACKAGES))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
