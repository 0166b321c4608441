"""Segments, depth and poses are those of transformers for the same model."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import jinx_pipeline as jp
from jinx_pipeline.models.segmentation import boxes_of, overlaps
from jinx_pipeline.operators.video.frames import sampled_frames, upright
from jinx_pipeline.sample.media import Media
from pipeline.operators.images import encoded, photo
from pipeline.operators.tiny_models import save_depth, save_sam, save_vitpose, save_yolos

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

IMAGES = [encoded(photo(width, height, width)) for width, height in ((40, 30), (64, 64), (30, 80))]


@pytest.fixture(scope="module")
def video():
    return videos.video(frames=6, size=(48, 32), cuts=())


def frames_of(data, method, count):
    return [upright(frame).convert("RGB") for frame in sampled_frames(Media(data, jp.Roles()), "test", method, count)]


def facts(name, samples, **parameters):
    return [sample["__dj__meta__"] for sample in jp.create(name, **parameters)(samples)]


@pytest.mark.parametrize(("conf", "iou"), [(0.0, 1.0), (0.0, 0.4), (1.0, 0.5)])
def test_the_boxes_of_segments(tmp_path, conf, iou):
    path = save_sam(tmp_path)
    samples = [{"images": IMAGES[:2]}, {"images": []}, {"images": IMAGES[2:]}]
    found = facts("image_segment_mapper", samples, model_path=path, conf=conf, iou=iou, points_per_side=3)
    for sample, made in zip(samples, found, strict=True):
        expected = [segments(path, data, conf, iou) for data in sample["images"]]
        for boxes, others in zip(made["__dj__bbox__"], expected, strict=True):
            assert np.asarray(boxes).reshape(-1, 4) == pytest.approx(np.asarray(others).reshape(-1, 4), abs=1e-3)
    if iou == 1.0:
        assert any(found[0]["__dj__bbox__"])


def segments(path, data, conf, iou):
    """One call of the model for each point."""
    model = transformers.SamModel.from_pretrained(path).eval()
    processor = transformers.SamProcessor(transformers.AutoImageProcessor.from_pretrained(path))
    image = Image.open(BytesIO(data)).convert("RGB")
    found = []
    for row in range(3):
        for column in range(3):
            point = [(column + 0.5) / 3 * image.width, (row + 0.5) / 3 * image.height]
            inputs = processor(image, input_points=[[point]], return_tensors="pt")
            with torch.no_grad():
                output = model(**inputs)
            best = int(output.iou_scores.argmax())
            (masks,) = processor.image_processor.post_process_masks(
                output.pred_masks, inputs["original_sizes"], inputs["reshaped_input_sizes"]
            )
            rows, columns = np.nonzero(masks[0, best].numpy())
            score = float(output.iou_scores.reshape(-1)[best])
            if score >= conf and len(rows):
                found.append((score, [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]))
    kept = []
    for _, box in sorted(found, key=lambda one: -one[0]):
        if all(overlaps(np.float32(other), np.float32([box]))[0] <= iou for other in kept):
            kept.append(box)
    return [[(a + c) / 2, (b + d) / 2, c - a, d - b] for a, b, c, d in kept]


def test_the_boxes_of_masks():
    masks = np.zeros((3, 5, 7), bool)
    masks[0, 1:3, 2:6] = True
    masks[1, 4, 6] = True
    assert boxes_of(masks).tolist() == [[2, 1, 6, 3], [6, 4, 7, 5], [0, 0, 0, 0]]


@pytest.mark.parametrize("method", ["uniform", "all_frames"])
def test_depth(tmp_path, video, method):
    path = save_depth(tmp_path)
    samples = [{"videos": [video]}, {"videos": []}]
    options = {"frame_sampling_method": method, "frame_num": 2, "max_res": 32}
    first, second = facts("video_depth_estimation_mapper", samples, video_depth_model_path=path, **options)
    assert second["video_depth_tags"] == {"depth_data": [], "fps": []}
    (data,) = first["video_depth_tags"]["depth_data"]
    stored = np.load(BytesIO(data))
    frames = frames_of(video, method, 2)
    assert stored.files == [f"{number:05}" for number in range(len(frames))]
    model = transformers.AutoModelForDepthEstimation.from_pretrained(path).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(path)
    for name, frame in zip(stored.files, frames, strict=True):
        small = frame.resize((32, round(frame.height * 32 / frame.width)))
        with torch.no_grad():
            output = model(**processor(images=small, return_tensors="pt"))
        (expected,) = processor.post_process_depth_estimation(output, target_sizes=[small.size[::-1]])
        assert stored[name] == pytest.approx(expected["predicted_depth"].numpy(), rel=2e-3, abs=1e-3)


def test_point_clouds_are_files_of_metric_models(tmp_path, video):
    path = save_depth(tmp_path / "model", metric=True)
    (found,) = facts(
        "video_depth_estimation_mapper",
        [{"videos": [video]}],
        video_depth_model_path=path,
        frame_sampling_method="uniform",
        frame_num=1,
        save_dir=str(tmp_path / "depth"),
        point_cloud_dir_for_metric=str(tmp_path / "clouds"),
    )
    tags = found["video_depth_tags"]
    depth = np.load(tags["depth_data"][0])["00000"].astype(np.float32)
    ((cloud,),) = tags["point_clouds"]
    head, _, body = Path(cloud).read_bytes().partition(b"end_header\n")
    assert f"element vertex {depth.size}\n".encode() in head
    points = np.frombuffer(body, [("place", "<f4", 3), ("colour", "u1", 3)])
    assert points["place"][:, 2] == pytest.approx(depth.ravel(), rel=2e-3)
    (frame,) = frames_of(video, "uniform", 1)
    assert points["colour"].reshape(frame.height, frame.width, 3) == pytest.approx(np.asarray(frame))
    middle = (frame.height // 2) * frame.width + frame.width // 2
    assert points["place"][middle, :2] == pytest.approx([0, 0], abs=1e-3)


@pytest.mark.parametrize("keypoints", [17, 133])
def test_poses(tmp_path, video, keypoints):
    pytest.importorskip("scipy", reason="scipy is not installed")
    detector = save_yolos(tmp_path / "detector", ["person", "cat"])
    path = save_vitpose(tmp_path / "pose", keypoints)
    options = {"onnx_det_model": detector, "onnx_pose_model": path, "frame_num": 2, "conf": 0.0}
    samples = [{"videos": [video]}, {"videos": []}]
    first, second = facts("video_whole_body_pose_estimation_mapper", samples, **options)
    tags = first["pose_estimation_tags"]
    (boxes,) = tags["bbox_results_list"]
    assert any(boxes)
    model = transformers.VitPoseForPoseEstimation.from_pretrained(path).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(path)
    parts = ["body_keypoints", "foot_keypoints", "faces_keypoints", "hands_keypoints"]
    for number, frame in enumerate(frames_of(video, "uniform", 2)):
        for person, (left, top, right, bottom, _) in enumerate(boxes[number]):
            box = [left, top, right - left, bottom - top]
            with torch.no_grad():
                output = model(**processor(images=frame, boxes=[[box]], return_tensors="pt"))
            ((pose,),) = processor.post_process_pose_estimation(output, boxes=[[box]])
            found = [place for part in parts for place in tags[part][0][number][person]]
            assert len(found) == keypoints
            assert [place[:2] for place in found] == pytest.approx(pose["keypoints"].numpy(), abs=1e-2)
            assert [place[2] for place in found] == pytest.approx(pose["scores"].reshape(-1).numpy(), abs=1e-4)
    assert second["pose_estimation_tags"]["bbox_results_list"] == []
