"""Media files that are replaced between a run that stopped and its resume: no result of the other file stays."""

import pytest
from PIL import Image

import jinx
import jinx_pipeline as jp

pytestmark = pytest.mark.filterwarnings("ignore::jinx_pipeline.BadRowsWarning")


def stops(sample):
    if sample["n"] == 5:
        raise ValueError("stop here")
    return sample


def draw(folder, number, width):
    Image.new("RGB", (width, 10)).save(folder / f"{number}.png")


@pytest.fixture
def place(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, "image": f"{n}.png"} for n in range(8))
    for n in range(8):
        draw(tmp_path, n, 10)
    return tmp_path


def export(place, more=(), *, stops_at=None):
    shape = jp.create("image_shape_filter", min_width=1)
    flow = jp.Dataset.load(place / "in.jinx", images="image").process([shape, *more, stops])
    return flow.export(place / "out.jinx", workers=1, block_rows=2, stop_after_bad=stops_at)


def widths(place):
    return [sample["__dj__stats__"]["image_width"][0] for sample in jinx.open(place / "out.jinx")]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_replaced_image_is_read_again(place, is_replaced):
    with pytest.raises(jp.StoppedError):
        export(place, stops_at=0)
    if is_replaced:
        draw(place, 1, 20)
    result = export(place)
    assert (result.resumed, result.rows_out) == (True, 7)
    assert widths(place) == ([10, 20, 10, 10, 10, 10, 10] if is_replaced else [10] * 7)
    assert not list(place.glob("out.jinx.work/runs/*/parts/*.media"))


def test_a_removed_image_is_a_bad_row(place):
    with pytest.raises(jp.StoppedError):
        export(place, stops_at=0)
    (place / "1.png").unlink()
    assert [bad.row for bad in export(place).bad_rows] == [1, 5]


def test_what_others_depend_on_is_not_read_again(place):
    """The order is decided already, by what the filter kept."""
    with pytest.raises(jp.StoppedError):
        export(place, ["shuffle"], stops_at=0)
    draw(place, 1, 20)
    with pytest.raises(RuntimeError, match=r"1\.png was replaced or changed during the run; restore it and run again"):
        export(place, ["shuffle"])
