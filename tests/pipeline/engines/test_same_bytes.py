"""The text recipe of the benchmark, near duplicates included: the same bytes for any number of workers and kills."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jinx
import jinx_pipeline as jp
from pipeline.made import digest, lines_of, log_of, worker_pids

ROUNDS = 12 if os.environ.get("JINX_SOAK") else 2
DOCUMENTS = 3_000
PROCESS = [
    {"whitespace_normalization_mapper": {}},
    {"text_length_filter": {"min_len": 50}},
    {"words_num_filter": {"min_num": 20}},
    {"alphanumeric_filter": {"min_ratio": 0.6}},
    {"character_repetition_filter": {"rep_len": 10, "max_ratio": 0.5}},
    {"word_repetition_filter": {"rep_len": 10, "max_ratio": 0.5}},
    {"document_minhash_deduplicator": {"jaccard_threshold": 0.7}},
]


def write_documents(path: Path) -> None:
    dice = random.Random(4)
    words = ["".join(dice.choices("abcdefghij", k=dice.randrange(2, 9))) for _ in range(2_000)]
    texts: list[str] = []
    for n in range(DOCUMENTS):
        text = " ".join(dice.choices(words, k=dice.randrange(10, 120)))
        if texts and n % 9 == 0:
            text = dice.choice(texts) + " again"
        texts.append(text)
    path.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts)))


def start(folder: Path, out: str, workers: int) -> subprocess.Popen[bytes]:
    recipe = {"dataset": {"path": "in.jsonl"}, "process": PROCESS, "export": {"path": out}, "block_rows": 100}
    (folder / "recipe.yaml").write_text(json.dumps(recipe))
    command = [sys.executable, "-m", "jinx_pipeline", "run", "recipe.yaml", "--workers", str(workers)]
    environment = {**os.environ, "PYTHONPATH": str(Path(jp.__file__).parents[1])}
    return subprocess.Popen(
        [*command, "--progress", "none"], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def ended(process: subprocess.Popen[bytes]) -> None:
    error = process.communicate()[1]
    assert process.returncode == 0, error.decode()


@pytest.mark.slow
@pytest.mark.timeout(60 + 60 * ROUNDS)
def test_kills_of_workers_and_drivers_change_no_byte(tmp_path):
    write_documents(tmp_path / "in.jsonl")
    ended(start(tmp_path, "calm", 1))
    calm = digest(tmp_path / "calm")
    assert 1_500 < len(jinx.open(tmp_path / "calm")) < 2_900
    killed = 0
    for number in range(ROUNDS):
        dice = random.Random(number)
        out = f"out-{number}"
        work_dir = tmp_path / f"{out}.work"
        for share in sorted(dice.random() for _ in range(2)):
            driver = start(tmp_path, out, 4)
            while driver.poll() is None and lines_of(log_of(work_dir)) < 60 * share:
                if dice.random() < 0.05 and (pids := worker_pids(driver.pid)):
                    try:
                        os.kill(dice.choice(pids), signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                    killed += 1
                time.sleep(0.02)
            driver.send_signal(signal.SIGKILL)
            driver.communicate()
        ended(start(tmp_path, out, dice.choice((1, 2, 4))))
        assert digest(tmp_path / out) == calm
    assert killed


def test_a_column_that_is_new_in_appended_rows_has_its_place_whatever_the_blocks(tmp_path):
    """The columns of a table are in the order in which samples first have them, resumed or not."""
    lines = [json.dumps({"id": i, "text": "some text"}) for i in range(20)]
    late = json.dumps({"id": 20, "text": "more text", "late": 1})
    source = tmp_path / "in.jsonl"
    flow = jp.Dataset.load(source).process([jp.create("text_length_filter", min_len=3)])
    source.write_text("".join(f"{line}\n" for line in lines))
    flow.export(tmp_path / "resumed.parquet", workers=1)
    source.write_text("".join(f"{line}\n" for line in [*lines, late]))
    assert flow.export(tmp_path / "resumed.parquet", workers=1).resumed
    flow.export(tmp_path / "new.parquet", workers=1)
    flow.export(tmp_path / "blocks.parquet", workers=1, block_rows=3)
    new = (tmp_path / "new.parquet").read_bytes()
    assert (tmp_path / "resumed.parquet").read_bytes() == new
    assert (tmp_path / "blocks.parquet").read_bytes() == new
