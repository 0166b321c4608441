"""Answers in a file for each process: found by all, and complete after a crash."""

import multiprocessing
import signal

import pytest

from jinx_pipeline.operators.api import answer_files
from jinx_pipeline.operators.api.answer_files import AnswerFiles


def key(number: int) -> bytes:
    return number.to_bytes(8, "big") * 2


def put(files: AnswerFiles, number: int, answer: object = None) -> None:
    files.put(key(number), {"n": number} if answer is None else answer, (3, 4), 0.5, {"model": "m"})


def found(files: AnswerFiles, numbers: range) -> list[object]:
    kept = [files.get(key(number)) for number in numbers]
    return [None if one is None else one.answer for one in kept]


@pytest.mark.parametrize("recent", [2, 50_000])
def test_what_is_put_is_found_here_and_by_others(tmp_path, monkeypatch, recent):
    monkeypatch.setattr(answer_files, "_MAX_RECENT", recent)
    files = AnswerFiles(tmp_path / "answers")
    assert files.get(key(1)) is None
    files.refresh()
    for number in range(20):
        put(files, number)
    files.sync()
    assert found(files, range(21)) == [*({"n": number} for number in range(20)), None]
    other = AnswerFiles(tmp_path / "answers")
    assert other.get(key(1)) is None
    other.refresh()
    assert found(other, range(21)) == found(files, range(21))
    assert other.get(key(1)).facts["model"] == "m"
    assert (other.spent, other.spent.tokens, other.spent.money) == (files.spent, 140, 10.0)
    put(files, 20)
    put(other, 21)
    other.refresh()
    files.refresh()
    assert found(other, range(22)) == found(files, range(22)) == [{"n": number} for number in range(22)]
    assert len(list((tmp_path / "answers").iterdir())) == 2
    assert files.spent == other.spent


def test_digests_that_share_their_first_half(tmp_path):
    files = AnswerFiles(tmp_path)
    for last in (b"a", b"b"):
        files.put(b"\xff" * 8 + last * 8, last.decode(), (0, 0), 0.0, {})
    assert [files.get(b"\xff" * 8 + last * 8).answer for last in (b"a", b"b")] == ["a", "b"]
    assert files.get(b"\xff" * 16) is None


def test_a_long_answer_and_any_text(tmp_path):
    files = AnswerFiles(tmp_path)
    put(files, 1, "x\n\u2028" * 100_000)
    put(files, 2, {"text": "ä\0"})
    other = AnswerFiles(tmp_path)
    other.refresh()
    assert found(other, range(1, 3)) == ["x\n\u2028" * 100_000, {"text": "ä\0"}]


def test_a_line_that_a_crash_cut_off_or_damaged_is_no_answer(tmp_path):
    files = AnswerFiles(tmp_path)
    for number in range(4):
        put(files, number)
    (path,) = tmp_path.iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = b"\0" * len(lines[1][:-1]) + b"\n"
    lines[2] = lines[2][:-10] + b"\0" * 9 + b"\n"
    path.write_bytes(b"".join(lines)[:-5])
    other = AnswerFiles(tmp_path)
    other.refresh()
    assert found(other, range(4)) == [{"n": 0}, None, None, None]
    with path.open("ab") as file:
        file.write(lines[3][-5:])
    other.refresh()
    assert found(other, range(4)) == [{"n": 0}, None, None, {"n": 3}]


def test_a_file_that_is_no_file_of_answers_is_not_read(tmp_path):
    (tmp_path / "other.txt").write_text("text\n")
    (tmp_path / "other.jsonl").write_text('{"text": "a"}\n{"key": "00"}\n')
    files = AnswerFiles(tmp_path)
    files.refresh()
    assert files.spent.requests == 0


def filled(folder, first, ready):
    files = AnswerFiles(folder)
    for number in range(first, first + 200):
        put(files, number)
    ready.set()
    signal.pause()


def test_a_process_that_is_killed_loses_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    readies = [context.Event() for _ in range(2)]
    workers = [context.Process(target=filled, args=(tmp_path, 100 * at, ready)) for at, ready in enumerate(readies)]
    for worker in workers:
        worker.start()
    assert all(ready.wait(60) for ready in readies)
    for worker in workers:
        worker.kill()
        worker.join()
    files = AnswerFiles(tmp_path)
    files.refresh()
    assert found(files, range(300)) == [{"n": number} for number in range(300)]


def test_a_place_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        put(AnswerFiles(tmp_path / "file"), 1)
