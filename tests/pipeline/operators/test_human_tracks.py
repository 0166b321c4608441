"""People are followed through videos, and models see them as transformers does with the same pictures cut out."""

from collections import Counter

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.video.frames import sampled_frames, upright
from jinx_pipeline.operators.video.tracks import Track, body_of, linked
from jinx_pipeline.sample.media import Media
from pipeline.operators.tiny_models import save_llava, save_vit, save_yolos

pytest.importorskip("av")
pytest.importorskip("cv2")
images = pytest.importorskip("make_media.images")
videos = pytest.importorskip("make_media.videos")

# --- tracks ---

FIRST, SECOND = (0.0, 0.0, 10.0, 10.0), (40.0, 0.0, 50.0, 10.0)


def shifted(box, by):
    return (box[0] + by, box[1], box[2] + by, box[3])


def follow(found, cuts=(), gap=3):
    return linked(list(enumerate(found)), cuts, least_overlap=0.5, most_gap=gap)


def test_faces_are_followed_though_their_order_changes():
    found = [[FIRST, SECOND], [shifted(SECOND, 1), shifted(FIRST, 1)], [shifted(FIRST, 2), shifted(SECOND, 2)]]
    tracks = follow(found)
    assert [track.frames for track in tracks] == [[0, 1, 2]] * 2
    assert [track.faces[-1] for track in tracks] == [shifted(FIRST, 2), shifted(SECOND, 2)]


@pytest.mark.parametrize(("missing", "count"), [(2, 1), (3, 2)])
def test_a_face_may_be_missing_for_some_frames(missing, count):
    assert len(follow([[FIRST], *[[]] * missing, [FIRST]])) == count


def test_a_new_scene_ends_tracks():
    assert [track.frames for track in follow([[FIRST]] * 6, cuts=(2, 4))] == [[0, 1], [2, 3], [4, 5]]


def test_the_person_of_a_face_is_the_smallest_box_around_it():
    assert body_of(FIRST, [(0, 0, 100, 100), (0, 0, 12, 30), SECOND]) == (0, 0, 12, 30)
    assert body_of(FIRST, [SECOND, (6, 0, 20, 20)]) is None


@pytest.mark.parametrize(
    "value", [None, {}, {"frame": [1], "xy_bbox": []}, {"frame": [1], "xy_bbox": [[1, 2]]}, "text"]
)
def test_values_that_are_no_tracks(value):
    with pytest.raises(ValueError, match="a track has"):
        Track.of(value)


# --- video_human_tracks_extraction_mapper ---


def of_face(count, hidden=()):
    """A video of a face that moves to the right."""
    empty = images.face(left=-500)
    return videos.video(count, size=(192, 144), draw=lambda n: empty if n in hidden else images.face(left=80 + n))


@pytest.fixture(scope="module")
def video():
    return of_face(12)


def extracted(samples, **parameters):
    operator = jp.create("video_human_tracks_extraction_mapper", min_track=3, **parameters)
    return [sample["__dj__meta__"] for sample in operator(samples)]


def test_a_face_is_one_track(video):
    short = of_face(12, hidden=range(10))
    facts, none = extracted([{"videos": [video, short]}, {"videos": []}])
    ((track,), nobody) = facts["human_track_data"]
    assert track["frame"] == list(range(12))
    assert track["xy_human_bbox"] == []
    middles = [(left + right) / 2 for left, _, right, _ in track["xy_bbox"]]
    assert middles == pytest.approx([80 + n for n in range(12)], abs=12)
    assert nobody == []  # two frames are too few
    assert facts["number_people_in_video"] == [1, 0]
    assert none == {"human_track_data": [], "number_people_in_video": []}
    (facts,) = extracted([{"videos": [video]}], detect_interval=4)
    assert facts["human_track_data"][0][0]["frame"] == [0, 4, 8]


# --- with models ---


def pictures(data, boxes, margin):
    """The parts of frames, cut out by hand; boxes by the numbers of frames."""
    frames = [upright(frame) for frame in sampled_frames(Media(data, jp.Roles()), "test", "all_frames", 0)]
    found = []
    for number, (left, top, right, bottom) in boxes:
        across, down = margin * (right - left), margin * (bottom - top)
        box = (max(int(left - across), 0), max(int(top - down), 0))
        found.append(frames[number].crop((*box, min(int(right + across), 192), min(int(bottom + down), 144))))
    return found


def boxes(track):
    return list(zip(track["frame"], track["xy_bbox"], strict=True))


@pytest.fixture(scope="module")
def transformers():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    return pytest.importorskip("transformers", reason="transformers is not installed")


@pytest.fixture(scope="module")
def followed(video):
    operator = jp.create("video_human_tracks_extraction_mapper", min_track=3)
    return operator([{"videos": [video]}, {"videos": []}, {"videos": [of_face(9)]}])


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_classes_are_those_of_most_faces(transformers, followed, tmp_path):
    paths = {
        "age": save_vit(tmp_path / "age", ["0-9", "10-19", "20-29"]),
        "gender": save_vit(tmp_path / "gender", ["female", "male"], seed=1),
    }
    options = {f"hf_{name}_model": path for name, path in paths.items()}
    found = jp.create("video_human_tracks_face_demographic_mapper", detect_interval=2, **options)(followed)
    assert found[1]["__dj__meta__"]["video_facetrack_attribute_demographic"] == []
    for sample in (found[0], found[2]):
        ((track,),), ((told,),) = (
            sample["__dj__meta__"][name] for name in ("human_track_data", "video_facetrack_attribute_demographic")
        )
        shown = pictures(sample["videos"][0], boxes(track)[::2], 0.25)
        assert set(told) == {"age", "gender"}
        for name, path in paths.items():
            model = transformers.ViTForImageClassification.from_pretrained(path).eval()
            processor = transformers.AutoImageProcessor.from_pretrained(path)
            numbers = model(**processor(images=shown, return_tensors="pt")).logits.argmax(dim=1).tolist()
            (number, count), *_ = Counter(numbers).most_common()
            assert told[name] == {"class": model.config.id2label[number], "share": count / len(shown)}


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_model_with_vision_is_asked_about_people_and_faces(transformers, followed, tmp_path):
    path = save_llava(tmp_path)
    options = {"video_describe_model_path": path, "frame_num": 2, "max_new_tokens": 5}
    questions = {"human_track_query": "a photo of", "child_query": "the cat"}
    people = jp.create("video_captioning_from_human_tracks_mapper", **questions, **options)(followed)
    faces = jp.create("video_captioning_face_attribute_emotion_mapper", face_query="the dog", **options)(people)
    model = transformers.LlavaForConditionalGeneration.from_pretrained(path).eval()
    processor = transformers.AutoProcessor.from_pretrained(path)

    def said(sample, prompt):
        ((track,),) = sample["__dj__meta__"]["human_track_data"]
        shown = pictures(sample["videos"][0], [boxes(track)[0], boxes(track)[-1]], 0.1)
        inputs = processor(text=["<image> <image> " + prompt + " "], images=shown, return_tensors="pt")
        ids = model.generate(**inputs, max_new_tokens=5, do_sample=False)
        return processor.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)[0].strip()

    asked = {"track_video_caption": "a photo of", "video_track_is_child": "the cat"}
    asked["video_facetrack_attribute_emotion"] = "the dog"
    for name, prompt in asked.items():
        assert faces[1]["__dj__meta__"][name] == []
        for sample in (faces[0], faces[2]):
            assert sample["__dj__meta__"][name] == [[said(sample, prompt)]]
    assert faces[0]["__dj__meta__"]["track_video_caption"] != [[""]]


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_people_are_the_boxes_of_the_detector_around_faces(transformers, video, tmp_path):
    import torch

    path = save_yolos(tmp_path, ["person"])
    (facts,) = extracted([{"videos": [video]}], human_model=path, conf=0.0, detect_interval=4)
    ((track,),) = facts["human_track_data"]
    model = transformers.YolosForObjectDetection.from_pretrained(path).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(path)
    frames = [upright(frame) for frame in sampled_frames(Media(video, jp.Roles()), "test", "all_frames", 0)]
    for number, face, body in zip(track["frame"], track["xy_bbox"], track["xy_human_bbox"], strict=True):
        with torch.no_grad():
            output = model(pixel_values=processor(images=frames[number], return_tensors="pt")["pixel_values"])
        (found,) = processor.post_process_object_detection(output, threshold=0.0, target_sizes=[(144, 192)])
        known = [tuple(box) for box in found["boxes"].tolist()]
        if body:
            assert min(max(abs(a - b) for a, b in zip(body, box, strict=True)) for box in known) < 1e-2
            assert body_of(tuple(face), [tuple(body)]) == tuple(body)
        else:
            assert body_of(tuple(face), known) is None


def test_tracks_that_do_not_fit_are_refused(video, tmp_path):
    with pytest.raises(jp.ParameterError, match="give a model"):
        jp.create("video_human_tracks_face_demographic_mapper")
    file = tmp_path / "c.xml"
    file.write_text("no")
    operator = jp.create("video_human_tracks_extraction_mapper")
    operator.cv_classifier = str(file)
    with pytest.raises(jp.ParameterError, match="not a cascade"):
        operator.resolve()
    wrong = [{"videos": [video], "__dj__meta__": {"human_track_data": [[], []]}}]
    with pytest.raises(ValueError, match="has 2 videos, and the sample 1"):
        jp.create("video_captioning_face_attribute_emotion_mapper")(wrong)
