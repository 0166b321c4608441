"""Faces, watermarks and distorted lenses in videos."""

from io import BytesIO

import numpy as np
import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.video.video_undistort_mapper import undistortion_map

av = pytest.importorskip("av")
pytest.importorskip("cv2")
pytest.importorskip("PIL.Image")
images = pytest.importorskip("make_media.images")
videos = pytest.importorskip("make_media.videos")

SIZE = (192, 144)
BACKGROUND = images.pixels(192, 144) // 2 + 60


def of_faces(frames, shown):
    """A video in which the frames of `shown` have a face."""
    return videos.video(frames, size=SIZE, draw=lambda n: images.face() if n in shown else BACKGROUND)


def pictures(data, layout="gray"):
    with av.open(BytesIO(data)) as container:
        return np.stack([frame.to_ndarray(format=layout) for frame in container.decode(video=0)]).astype(float)


def made(name, data, sample=None, **parameters):
    [row] = jp.create(name, **parameters)([{"videos": [data], **(sample or {})}])
    return row["videos"][0]


def test_share_of_frames_with_a_face():
    some, none = of_faces(8, range(2)), of_faces(4, ())
    samples = [{"videos": [some, none]}, {"videos": []}]
    ratio = jp.create("video_face_ratio_filter", threshold=0.25, any_or_all="any")
    marked = ratio(samples, keep_stats=True, drop=False)
    assert marked[0]["__dj__stats__"] == {"video_face_exist": [0.25, 0.0]}
    assert ratio(samples) == samples  # a sample without videos stays
    assert jp.create("video_face_ratio_filter", threshold=0.25)(samples) == samples[1:]
    every_fourth = jp.create("video_face_ratio_filter", detect_interval=4)(samples, keep_stats=True, drop=False)
    assert every_fourth[0]["__dj__stats__"] == {"video_face_exist": [0.5, 0.0]}


def test_faces_are_blurred():
    data = of_faces(4, range(4))
    before, after = pictures(data), pictures(made("video_face_blur_mapper", data, blur_type="box", radius=20))
    assert np.abs(after - before)[:, 60:90, 70:120].mean() > 10
    assert np.abs(after - before)[:, :5].mean() < 2
    none = of_faces(4, ())
    assert made("video_face_blur_mapper", none) is none


def test_faces_of_rotated_videos():
    data = videos.video(3, size=SIZE[::-1], rotation=90, draw=lambda n: np.rot90(images.face(), -1).copy())
    [marked] = jp.create("video_face_ratio_filter")([{"videos": [data]}], keep_stats=True, drop=False)
    assert marked["__dj__stats__"] == {"video_face_exist": [1.0]}
    change = np.abs(pictures(made("video_face_blur_mapper", data, blur_type="box", radius=20)) - pictures(data))
    assert np.rot90(change, 1, axes=(1, 2))[:, 60:90, 70:120].mean() > 10


def test_cascades_that_are_none(tmp_path):
    (tmp_path / "cascade.xml").write_text("<x/>", "utf-8")
    for path, problem in (("nowhere.xml", "no such file"), (str(tmp_path / "cascade.xml"), "not a cascade")):
        with pytest.raises(jp.ParameterError, match=problem):
            jp.create("video_face_blur_mapper", cv_classifier=path)


def marked_frame(number):
    """A moving ramp with a white mark in the upper left corner."""
    frame = np.repeat(((np.arange(192) + 5 * number) % 128 // 2 + 40).astype(np.uint8)[None, :], 144, 0)
    frame[8:14, 8:26] = 250
    return np.stack([frame] * 3, axis=2)


@pytest.mark.parametrize("method", ["pixel_value", "pixel_diversity"])
def test_watermarks_are_painted_over(method):
    data = videos.video(12, size=SIZE, draw=marked_frame)
    after = pictures(made("video_remove_watermark_mapper", data, roi_strings=["0,0,0.2,0.2"], detection_method=method))
    assert pictures(data)[:, 8:14, 8:26].mean() > 200
    assert after[:, 8:14, 8:26].mean() < 130
    assert np.abs(after - pictures(data))[:, 60:].mean() < 2


def test_regions_of_each_sample():
    data = videos.video(12, size=SIZE, draw=marked_frame)
    after = made("video_remove_watermark_mapper", data, {"box": "(0, 0, 40, 30)"}, roi_type="pixel", roi_key="box")
    assert pictures(after)[:, 8:14, 8:26].mean() < 130
    with pytest.raises(ValueError, match="not a region"):
        made("video_remove_watermark_mapper", data, {"box": "all"}, roi_key="box")
    with pytest.raises(jp.ParameterError, match="not a region"):
        jp.create("video_remove_watermark_mapper", roi_strings=["1,2,3"])
    with pytest.raises(jp.ParameterError, match="two frames"):
        jp.create("video_remove_watermark_mapper", detection_method="pixel_diversity", frame_num=1)


CAMERA = [[150.0, 0, 96], [0, 150.0, 72], [0, 0, 1]]


def test_a_lens_without_distortion_changes_nothing():
    x, y = undistortion_map({"intrinsics": CAMERA, "xi": 0}, 192, 144)
    rows, columns = np.mgrid[:144, :192]
    assert np.abs(x - columns).max() < 1e-4
    assert np.abs(y - rows).max() < 1e-4


def test_the_map_of_a_bent_lens():
    calibration = {"intrinsics": [CAMERA] * 3, "xi": [0.5, 0.5], "dist_coeffs": [-0.1, 0.01, 0.002, -0.001]}
    x, y = undistortion_map(calibration, 192, 144)
    assert (x[72, 96], y[72, 96]) == pytest.approx((96, 72))
    # By the formulas of Mei's model, for one pixel.
    ray = np.array([(150 - 96) / 150, (40 - 72) / 150, 1.0])
    ray /= np.linalg.norm(ray)
    px, py = ray[0] / (ray[2] + 0.5), ray[1] / (ray[2] + 0.5)
    square = px**2 + py**2
    radial = 1 - 0.1 * square + 0.01 * square**2
    qx = px * radial + 2 * 0.002 * px * py - 0.001 * (square + 2 * px**2)
    qy = py * radial + 0.002 * (square + 2 * py**2) - 2 * 0.001 * px * py
    assert (x[40, 150], y[40, 150]) == pytest.approx((150 * qx + 96, 150 * qy + 72), abs=1e-3)


def test_undistorted_videos(tmp_path):
    data = videos.video(6, size=SIZE)
    meta = {"camera_calibration": [{"intrinsics": CAMERA, "xi": [0.0]}]}
    undistort = jp.create("video_undistort_mapper", crf=10, output_video_dir=str(tmp_path / "made"))
    rows = undistort([{"videos": [data], "__dj__meta__": meta}, {"videos": [], "__dj__meta__": {}}])
    assert videos.numbers(rows[0]["undistorted_video"][0]) == list(range(6))
    assert rows[0]["videos"] == [data]
    assert "undistorted_video" not in rows[1]
    with pytest.raises(ValueError, match="0 calibrations for 1 videos"):
        undistort([{"videos": [data], "__dj__meta__": {}}])
    with pytest.raises(ValueError, match="has no xi"):
        undistort([{"videos": [data], "__dj__meta__": {"camera_calibration": [{"intrinsics": CAMERA}]}}])
    with pytest.raises(ValueError, match="it is 3 x 3"):
        undistortion_map({"intrinsics": [1, 2], "xi": 0}, 4, 4)
