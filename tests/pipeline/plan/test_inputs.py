"""What identifies sources that are converted first."""

import os

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.opened_run import OpenedRun
from jinx_pipeline.plan import file_digest as module
from jinx_pipeline.plan.file_digest import file_digest
from jinx_pipeline.plan.inputs import find_input
from jinx_pipeline.recipe.model import SourceSpec
from jinx_pipeline.sample.content_identity import ReplacedError


def convert(source, target, rejects):
    jinx.convert(source, target, on_error="skip", rejects=rejects)


def samples(source, inputs) -> list:
    return [sample["n"] for sample in jinx.open(find_input(SourceSpec(str(source)), inputs, convert).path)]


def test_a_file_is_read_again_only_if_it_may_have_changed(tmp_path, monkeypatch):
    path = tmp_path / "in.jsonl"
    path.write_text('{"n": 1}\n')
    read = []
    digest = module.head_digest
    monkeypatch.setattr(module, "head_digest", lambda path, size: read.append(size) or digest(path, size))
    first = file_digest(str(path), tmp_path)
    assert file_digest(str(path), tmp_path) == first  # it was written a moment ago
    assert read == [9, 9]
    monkeypatch.setattr(module, "_SETTLED_SECONDS", -1.0)
    assert [file_digest(str(path), tmp_path) for _ in range(3)] == [first] * 3
    assert len(read) == 3
    (tmp_path / "other").write_text('{"n": 2}\n')
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    os.utime(tmp_path / "other", ns=times)
    (tmp_path / "other").replace(path)
    assert path.stat().st_mtime_ns == times[1]
    assert file_digest(str(path), tmp_path).sha256 != first.sha256
    (next(tmp_path.glob("*.digest"))).write_text("{")
    assert file_digest(str(path), tmp_path).size == 9


def test_a_file_of_lines_that_took_the_place_of_another_is_converted_anew(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"n": 1}\n')
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    assert samples(path, tmp_path / "inputs") == [1]
    path.write_text('{"n": 2}\n')
    os.utime(path, ns=times)
    assert samples(path, tmp_path / "inputs") == [2]


def test_a_file_that_took_the_place_of_another_with_its_size_and_time_is_converted_anew(tmp_path):
    path, other = tmp_path / "in.parquet", tmp_path / "other.parquet"
    for file, n in ((path, 1), (other, 2)):
        jinx.convert([{"n": n}], file)
        os.utime(file, (1, 1))
    assert path.stat().st_size == other.stat().st_size
    assert samples(path, tmp_path / "inputs") == [1]
    other.replace(path)
    assert samples(path, tmp_path / "inputs") == [2]


def test_a_damaged_conversion_is_made_again(tmp_path):
    path, inputs = tmp_path / "in.jsonl", tmp_path / "inputs"
    path.write_text('{"n": 1}\n')
    assert samples(path, inputs) == [1]
    (shard,) = inputs.glob("*/*.jinx")
    shard.unlink()
    assert samples(path, inputs) == [1]


@pytest.mark.parametrize("name", ["in.jsonl", "in.parquet"])
def test_a_source_that_changes_while_it_is_converted_is_refused(tmp_path, name):
    """The converted samples would belong to a digest of others."""
    path, inputs = tmp_path / name, tmp_path / "inputs"
    jinx.convert([{"n": 1}], path)

    def convert_another(source, target, rejects):
        jinx.convert([{"n": 2}], path, overwrite=True)
        convert(source, target, rejects)

    with pytest.raises(ReplacedError, match=f"{name} was replaced or changed during the run"):
        find_input(SourceSpec(str(path)), inputs, convert_another)
    jinx.convert([{"n": 1}], path, overwrite=True)
    assert samples(path, inputs) == [1]


@pytest.mark.parametrize("name", ["new\nline.jinx", "\u202egnp.jinx"])
def test_a_path_that_no_view_can_name_is_refused(tmp_path, name):
    jinx.convert([{"n": 1}], tmp_path / name)
    with pytest.raises(ValueError, match="the path has a control character, or one that hides how it reads; rename it"):
        samples(tmp_path / name, tmp_path)


def test_another_content_at_a_url_is_another_source(tmp_path):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe("bucket/in.jsonl", b'{"n": 1}\n')
    assert samples("memory://bucket/in.jsonl", tmp_path) == [1]
    assert samples("memory://bucket/in.jsonl", tmp_path) == [1]
    memory.pipe("bucket/in.jsonl", b'{"n": 22}\n')
    assert samples("memory://bucket/in.jsonl", tmp_path) == [22]
    memory.rm("bucket", recursive=True)
    with pytest.raises(FileNotFoundError, match=r"memory://bucket/in\.jsonl: no such file"):
        samples("memory://bucket/in.jsonl", tmp_path)


@pytest.mark.parametrize("before", [["b"], ["b", "c"]])
@pytest.mark.parametrize("change", ["a file after", "a file before", "another name", "one fewer"])
def test_a_changed_directory_of_files_that_are_converted_is_refused(tmp_path, before, change):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in before:
        (folder / f"{name}.jsonl").write_text('{"n": 1}\n')
    flow = jp.Dataset.load(folder).process(lambda sample: sample)
    flow.export(tmp_path / "out.jinx", workers=1)
    if change == "another name":
        (folder / "b.jsonl").rename(folder / "d.jsonl")
    elif change == "one fewer" and len(before) > 1:
        (folder / "b.jsonl").unlink()
    else:
        (folder / f"{'a' if change == 'a file before' else 'z'}.jsonl").write_text('{"n": 2}\n')
    with pytest.raises(jp.ChangedError, match=r"the input changed: .*in: .*start over"):
        flow.export(tmp_path / "out.jinx", workers=1)
    flow.export(tmp_path / "out.jinx", workers=1, restart=True, overwrite=True)


def test_mds_that_is_replaced_while_the_output_is_written_is_not_published(tmp_path, monkeypatch):
    rows = jp.Dataset.load(str(lines_of(tmp_path, 20)))
    rows.export(tmp_path / "in", kind="mds", workers=1)
    execute = OpenedRun._execute

    def executed(run, publications):
        execute(run, publications)
        shard = tmp_path / "in" / "shard.00000.mds"
        shard.write_bytes(shard.read_bytes())

    monkeypatch.setattr(OpenedRun, "_execute", executed)
    with pytest.raises(ReplacedError, match="was replaced or changed during the run"):
        jp.Dataset.load(str(tmp_path / "in")).export(tmp_path / "out.jinx", workers=1)
    assert not (tmp_path / "out.jinx").exists()


def lines_of(folder, count):
    path = folder / "rows.jsonl"
    path.write_text("".join(f'{{"n": {n}, "text": "row {n}"}}\n' for n in range(count)))
    return path
