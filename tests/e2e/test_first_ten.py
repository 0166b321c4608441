"""What three kinds of users type first works, line by line, as in the scripts next to this file."""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import draw

HERE = Path(__file__).parent


@pytest.fixture
def workplace(tmp_path: Path, chat_parquet: Path) -> Path:
    (tmp_path / "images" / "coco").mkdir(parents=True)
    rows = []
    for number in range(5):
        image = draw.sample(number)["image"]["bytes"]
        (tmp_path / "images" / "coco" / f"{number}.jpg").write_bytes(image)
        turns = [{"from": "human", "value": "<image>\nWhat is this?"}, {"from": "gpt", "value": "A drawing."}]
        rows.append({"id": str(number), "image": f"coco/{number}.jpg", "conversations": turns})
        with tarfile.open(tmp_path / f"wds-{number}.tar", "w") as tar:
            for suffix, data in (("jpg", image), ("json", b'{"a":1}')):
                member = tarfile.TarInfo(f"{number:06}.{suffix}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    (tmp_path / "llava_665k.json").write_text(json.dumps(rows, indent=1), "utf-8")
    (tmp_path / "hub" / "data").mkdir(parents=True)
    for name in ("train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"):
        shutil.copy(chat_parquet, tmp_path / "hub" / "data" / f"{name}.parquet")
    return tmp_path


@pytest.mark.timeout(300)
@pytest.mark.parametrize("script", sorted(path.stem for path in HERE.glob("first_ten_*.sh")))
def test_first_ten_commands(script, workplace):
    lines = [line for line in (HERE / f"{script}.sh").read_text("utf-8").splitlines() if line and line[0] != "#"]
    assert len(lines) == 10
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for line in lines:
        done = subprocess.run(
            ["bash", "-c", line], cwd=workplace, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (line, done.stderr)
        assert len(done.stdout) < 5000, line  # nothing floods the screen
        assert "Traceback" not in done.stderr


def test_the_page_of_embeddings_has_its_commands():
    page = (HERE.parents[1] / "docs" / "how-to" / "embeddings.md").read_text("utf-8")
    lines = (HERE / "first_ten_embeddings.sh").read_text("utf-8").splitlines()[1:]
    assert "\n".join(lines) in page
