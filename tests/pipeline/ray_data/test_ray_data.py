"""JINX as a source and a sink of Ray Data, on a Ray that the tests start."""

import os

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from pipeline.made import rows_of, write_input

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements/ray.txt")
pytest.importorskip("ray.data", reason="Ray Data is not installed: requirements/ray.txt")

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.usefixtures("cluster"),
    pytest.mark.filterwarnings("ignore"),  # Ray Data's own
]


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_input(tmp_path_factory.mktemp("data") / "in.jinx", rows=120)


def read(*args, **more):
    from jinx_pipeline.ray_data import JinxDatasource

    return ray.data.read_datasource(JinxDatasource(*args, **more), override_num_blocks=4)


def test_what_is_read_is_written_again(data, tmp_path):
    from jinx_pipeline.ray_data import JinxDatasink

    for out in (tmp_path / "one.jinx", tmp_path / "shards"):
        read(data).write_datasink(JinxDatasink(out))
        assert rows_of(out) == rows_of(data)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one.binx", "one.jinx", "shards"]


def test_columns_and_references(data, tmp_path):
    from jinx_pipeline.ray_data import JinxDatasink, load_blobs

    found = read(data, columns=["image", "n"], blobs="references").random_shuffle(seed=3)
    taken = found.take(1)[0]
    assert list(taken) == ["image", "n"]
    assert taken["image"] == {"jinx": [str(data)], "row": taken["n"]}
    loaded = found.map_batches(load_blobs, batch_format="pyarrow", fn_kwargs={"columns": ["image"]})
    loaded.write_datasink(JinxDatasink(tmp_path / "out.jinx"))
    by_number = sorted(rows_of(tmp_path / "out.jinx"), key=lambda one: one["n"])
    assert by_number == [{"image": row["image"], "n": row["n"]} for row in rows_of(data)]


def test_references_alone(data):
    from jinx_pipeline.ray_data import load_blobs

    found = read(data, columns=["image"], blobs="references")
    assert found.take(2) == [{"image": {"jinx": [str(data)], "row": row}} for row in range(2)]
    loaded = found.map_batches(load_blobs, batch_format="pyarrow", fn_kwargs={"columns": ["image"]})
    assert [sample["image"] for sample in loaded.take_all()] == [row["image"] for row in rows_of(data)]


def test_operators_run_on_batches(data):
    found = read(data).map_batches(jp.ops.TextLengthFilter(max_len=60)).take_all()
    assert [item["n"] for item in found] == [row["n"] for row in rows_of(data) if len(row["text"]) <= 60]


def test_a_ray_dataset_is_an_input_of_a_pipeline(tmp_path):
    made = Dataset.load(ray.data.range(50)).process([lambda sample: sample if sample["id"] % 2 else None])
    made.export(tmp_path / "out.jinx", workers=1)
    assert [row["id"] for row in rows_of(tmp_path / "out.jinx")] == list(range(1, 50, 2))


def test_a_task_that_is_retried_writes_its_rows_once(data, tmp_path):
    """The task fails after its part is complete, as if its node had died before the answer came."""
    from jinx_pipeline.ray_data import JinxDatasink

    marker = tmp_path / "died"

    class Fragile(JinxDatasink):
        def write(self, blocks, ctx):
            done = super().write(blocks, ctx)
            if ctx.task_idx == 1 and not marker.exists():
                marker.touch()
                os._exit(1)
            return done

    read(data).write_datasink(Fragile(tmp_path / "out.jinx"))
    assert marker.exists()
    assert rows_of(tmp_path / "out.jinx") == rows_of(data)


def test_a_write_that_fails_leaves_nothing(data, tmp_path):
    from jinx_pipeline.ray_data import JinxDatasink

    out = tmp_path / "out.jinx"

    def broken(batch):
        raise ValueError("broken on purpose")

    with pytest.raises(Exception, match="broken on purpose"):
        read(data).map_batches(broken).write_datasink(JinxDatasink(out))
    assert list(tmp_path.iterdir()) == []
    with jinx.Writer(out) as made:
        made.write({"a": 1})
    with pytest.raises(FileExistsError, match="to replace it: overwrite"):
        JinxDatasink(out)


def test_an_empty_dataset_and_wrong_arguments(data, tmp_path):
    from jinx_pipeline.ray_data import JinxDatasink, JinxDatasource

    empty = read(data).filter(lambda row: False)
    empty.write_datasink(JinxDatasink(tmp_path / "empty.jinx"))
    assert len(jinx.open(tmp_path / "empty.jinx")) == 0
    with pytest.raises((KeyError, ValueError, AttributeError), match="nothing_like_it"):
        JinxDatasource(data, columns=["nothing_like_it"])
    with pytest.raises(ValueError, match="'bytes' or 'references'"):
        JinxDatasource(data, blobs="views")
    with pytest.raises(FileNotFoundError):
        JinxDatasource(tmp_path / "nowhere.jinx")
