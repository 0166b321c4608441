"""`append` adds the samples of a run to an output that is there: readers see the old version or the new one."""

import json
import os
import shutil
import signal

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline import ChangedError
from jinx_pipeline.cli.program import run as command
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.runlog.ledger import Ledger
from jinx_pipeline.runlog.records import Built, Published, Publishing
from pipeline.made import rows_of

OPTIONS = {"workers": 1, "block_rows": 40}


def write_lines(path, first, last, mode="w"):
    with path.open(mode) as file:
        file.writelines(json.dumps({"n": n, "text": f"text {n}"}) + "\n" for n in range(first, last))
    return path


def write_shards(path, first, last):
    with jinx.Writer(path, shard_size=400) as writer:
        writer.write_many({"n": n, "text": f"text {n}"} for n in range(first, last))


def flow_of(data, *more):
    return Dataset.load(data).process([jp.ops.TextLengthFilter(min_len=1), *more])


def numbers(path):
    return [row["n"] for row in rows_of(path)]


def append(data, out, number, *more, **options):
    options = {"append": True, "work_dir": f"{out}-{number}.work", **OPTIONS, **options}
    return flow_of(data, *more).export(out, **options)


def killed_at(kind, call, *, is_recorded=False):
    """Call a function in a process that is killed where it records a fact of a kind: before that, or after it."""
    child = os.fork()
    if child == 0:
        real = Ledger.record

        def record(self, what):
            if isinstance(what, kind) and not is_recorded:
                os.kill(os.getpid(), signal.SIGKILL)
            real(self, what)
            if isinstance(what, kind):
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            Ledger.record = record
            call()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_samples_are_appended_to_an_output_of_any_origin(tmp_path):
    out = tmp_path / "out"
    write_shards(out, 0, 50)
    with jinx.open(out) as before:
        for number, (first, last) in enumerate([(50, 150), (150, 160)]):
            done = append(write_lines(tmp_path / f"{number}.jsonl", first, last), out, number)
            assert (done.rows_in, done.rows_out, done.ok) == (last - first, last - first, True)
            assert numbers(out) == list(range(last))
        assert [sample["n"] for sample in before] == list(range(50))  # what a reader has open stays whole
    assert not jinx.verify(out)
    again = append(tmp_path / "1.jsonl", out, 1)
    assert (again.resumed, numbers(out)) == (True, list(range(160)))


def test_without_an_output_there_is_a_first_version(tmp_path):
    done = append(write_lines(tmp_path / "in.jsonl", 0, 90), tmp_path / "out", 0)
    assert (done.rows_out, numbers(tmp_path / "out")) == (90, list(range(90)))


def test_a_grown_input_appends_its_new_samples_after_those_of_others(tmp_path):
    out, data, other = tmp_path / "out", write_lines(tmp_path / "in.jsonl", 0, 50), tmp_path / "other.jsonl"
    append(data, out, 0)
    append(write_lines(other, 1000, 1010), out, 1)
    write_lines(data, 50, 70, "a")
    done = append(data, out, 0)
    assert (done.rows_in, done.rows_out) == (70, 70)
    assert numbers(out) == [*range(50), *range(1000, 1010), *range(50, 70)]


def test_what_was_appended_is_never_written_again(tmp_path):
    out, data = tmp_path / "out", write_lines(tmp_path / "in.jsonl", 0, 50)
    write_shards(out, 900, 905)
    by_number = jp.create("sort", by=["-n"])
    append(data, out, 0, by_number)
    old = numbers(out)
    write_lines(data, 50, 60, "a")
    with pytest.raises(ValueError, match="samples that this run has appended would change"):
        append(data, out, 0, by_number)
    assert numbers(out) == old


def test_what_cannot_be_appended_to_is_refused_before_the_run(tmp_path, capsys):
    data = write_lines(tmp_path / "in.jsonl", 0, 50)
    (tmp_path / "out").mkdir()
    write_lines(tmp_path / "out" / "notes.jsonl", 0, 1)
    with pytest.raises(ValueError, match=r"samples are appended to a directory of shards with a jinx\.json"):
        flow_of(data).export(tmp_path / "out", append=True, **OPTIONS)
    with pytest.raises(ValueError, match="append is for a directory of JINX shards"):
        flow_of(data).export(tmp_path / "out.jinx", append=True, **OPTIONS)
    with pytest.raises(ValueError, match="choose one"):
        flow_of(data).export(tmp_path / "new", append=True, overwrite=True, **OPTIONS)
    (tmp_path / "r.yaml").write_text(
        f"dataset: {data}\nprocess: [text_length_filter: {{min_len: 1}}]\nexport: {tmp_path}/new\n"
    )
    words = ["run", str(tmp_path / "r.yaml"), "--progress", "none"]
    assert command([*words, "--append", "--overwrite"]) == 2
    assert "--append adds to an existing output" in capsys.readouterr().err
    assert command([*words, "--append"]) == 0
    assert numbers(tmp_path / "new") == list(range(50))


def test_the_same_work_dir_refuses_another_input(tmp_path):
    out = tmp_path / "out"
    append(write_lines(tmp_path / "a.jsonl", 0, 5), out, 0)
    with pytest.raises(ChangedError, match="use another work_dir"):
        append(write_lines(tmp_path / "b.jsonl", 5, 9), out, 0)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_killed_before_each_record_the_output_is_the_old_or_the_new_one(tmp_path):
    out, data = tmp_path / "out", write_lines(tmp_path / "in.jsonl", 50, 130)
    write_shards(out, 0, 50)
    real, kills = Ledger.record, 0
    while kills < 20:
        child = os.fork()
        if child == 0:
            seen = 0

            def record(self, what):
                nonlocal seen
                if seen:
                    os.kill(os.getpid(), signal.SIGKILL)
                seen += 1
                real(self, what)

            try:
                Ledger.record = record
                append(data, out, 0)
                os._exit(0)
            finally:
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert numbers(out) in (list(range(50)), list(range(130)))
        if status == 0:
            break
        assert status == -signal.SIGKILL
        kills += 1
    assert kills
    assert append(data, out, 0).rows_out == 80
    assert numbers(out) == list(range(130))
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "out", "out-0.work"}


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("shard_size", [None, 400])
@pytest.mark.parametrize(
    ("kind", "is_recorded"), [(Publishing, True), (Built, False), (Built, True), (Published, False)]
)
def test_a_run_that_was_interrupted_appends_once_after_what_others_have_appended(
    tmp_path, kind, is_recorded, shard_size
):
    out, data, other = tmp_path / "out", write_lines(tmp_path / "in.jsonl", 50, 130), tmp_path / "other.jsonl"
    write_shards(out, 0, 50)
    killed_at(kind, lambda: append(data, out, 0, shard_size=shard_size), is_recorded=is_recorded)
    append(write_lines(other, 1000, 1010), out, 1)
    done = append(data, out, 0, shard_size=shard_size)
    assert (done.rows_in, done.rows_out) == (80, 80)
    ours, theirs = [*range(50, 130)], [*range(1000, 1010)]
    was_there = kind is Published  # the output was complete at its path
    assert numbers(out) == [*range(50), *((ours + theirs) if was_there else (theirs + ours))]
    assert not jinx.verify(out)
    write_lines(data, 130, 140, "a")
    assert append(data, out, 0, shard_size=shard_size).rows_out == 90
    assert numbers(out)[-10:] == list(range(130, 140))
    assert {path.name for path in tmp_path.iterdir()} == {
        "in.jsonl", "other.jsonl", "out", "out-0.work", "out-1.work",
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_call_without_append_changes_nothing_for_the_next_one(tmp_path):
    out, data = tmp_path / "out", write_lines(tmp_path / "in.jsonl", 50, 60)
    killed_at(Publishing, lambda: append(data, out, 0))
    write_shards(out, 0, 50)
    with pytest.raises(FileExistsError, match="has appeared while this run made it"):
        append(data, out, 0, append=False)
    append(data, out, 0)
    assert numbers(out) == list(range(60))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_decision_may_change_before_anything_is_appended(tmp_path):
    out, data = tmp_path / "out", write_lines(tmp_path / "in.jsonl", 0, 50)
    by_number = jp.create("sort", by=["-n"])
    killed_at(Publishing, lambda: append(data, out, 0, by_number))
    write_lines(data, 50, 60, "a")
    append(data, out, 0, by_number)
    assert numbers(out) == list(range(59, -1, -1))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_an_output_that_is_damaged_meanwhile_is_refused_by_name(tmp_path):
    out, data = tmp_path / "out", write_lines(tmp_path / "in.jsonl", 50, 60)
    write_shards(out, 0, 50)
    killed_at(Publishing, lambda: append(data, out, 0))
    manifest = (out / "jinx.json").read_bytes()
    (out / "jinx.json").unlink()
    with pytest.raises(ValueError, match=r"out: samples are appended to a directory of shards"):
        append(data, out, 0)
    (out / "jinx.json").write_bytes(manifest)
    append(data, out, 0)
    assert numbers(out) == list(range(60))


def test_an_output_that_lacks_what_was_appended_is_refused(tmp_path):
    out, data = tmp_path / "out", write_lines(tmp_path / "in.jsonl", 0, 50)
    append(data, out, 0)
    shutil.rmtree(out)
    write_shards(out, 900, 910)
    with pytest.raises(FileExistsError, match="lacks samples that this run has appended; start over with restart"):
        append(data, out, 0)
    append(data, out, 0, restart=True)
    assert numbers(out) == [*range(900, 910), *range(50)]


def test_a_file_is_no_directory_of_shards(tmp_path):
    with jinx.Writer(tmp_path / "one.jinx") as writer:
        writer.write({"n": 1})
    (tmp_path / "one.jinx").rename(tmp_path / "out")
    with pytest.raises(ValueError, match="samples are appended to a directory of shards"):
        append(write_lines(tmp_path / "in.jsonl", 0, 5), tmp_path / "out", 0)
