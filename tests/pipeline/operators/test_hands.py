"""The motion of hands: computed, smoothed, cut, merged and drawn, next to SciPy and to motions that are known."""

import numpy as np
import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.api.context import Context
from pipeline.operators.images import encoded, photo

Rotation = pytest.importorskip("scipy.spatial.transform", reason="needs SciPy").Rotation
signal = pytest.importorskip("scipy.signal", reason="needs SciPy")

RNG = np.random.default_rng(0)


def meta(**facts):
    return [{"text": "", "__dj__meta__": facts}]


def run(name, samples, **parameters):
    (sample,) = jp.create(name, **parameters)(samples)
    return sample


def cameras(count, seed=1):
    """Cameras that move and turn."""
    rng = np.random.default_rng(seed)
    matrices = np.tile(np.eye(4), (count, 1, 1))
    matrices[:, :3, :3] = Rotation.from_rotvec(np.cumsum(rng.normal(0, 0.02, (count, 3)), axis=0)).as_matrix()
    matrices[:, :3, 3] = np.cumsum(rng.normal(0, 0.05, (count, 3)), axis=0)
    return matrices


def way(count):
    """Places that move smoothly."""
    time = np.linspace(0, 3, count)
    return np.stack([np.sin(time), np.cos(2 * time), 2 + 0.2 * time], axis=1)


def states(places):
    found = np.zeros((len(places), 8))
    found[:, :3], found[:, 7] = places, 1
    found[:, 3:6] = Rotation.from_rotvec(np.linspace(0, 1, len(places))[:, None] * [1, 2, 3]).as_euler("xyz")
    return found


def motion(places, first=0, **more):
    found = states(places)
    return {"states": found.tolist(), "valid_frame_ids": list(range(first, first + len(found))), **more}


# --- video_hand_action_compute_mapper ---


@pytest.mark.parametrize("form", ["vectors", "matrices"])
def test_states_and_actions_are_those_of_the_world(form):
    matrices, frames, places = cameras(9), [1, 2, 4, 7], way(4)
    turns = Rotation.from_rotvec(RNG.normal(0, 0.5, (4, 3)))
    fingers = Rotation.from_rotvec(np.tile([0.0, 0.0, 0.375], (60, 1)))
    joints = RNG.normal(0, 1, (4, 21, 3))
    is_vector = form == "vectors"
    pose = {
        "frame_ids": frames,
        "transl": places.tolist(),
        "global_orient": (turns.as_rotvec() if is_vector else turns.as_matrix()).tolist(),
        "hand_pose": (
            fingers.as_rotvec().reshape(4, 45) if is_vector else fingers.as_matrix().reshape(4, 15, 3, 3)
        ).tolist(),
        "joints_cam": joints.tolist(),
    }
    facts = {
        "hand_reconstruction_hawor_tags": [{"left": pose}],
        "video_camera_pose_tags": [{"cam_c2w": matrices.tolist()}],
    }
    (video,) = run("video_hand_action_compute_mapper", meta(**facts))["__dj__meta__"]["hand_action_tags"]
    assert video["right"]["states"] == []
    left, camera = video["left"], matrices[frames]
    wanted = np.array([one[:3, :3] @ place + one[:3, 3] for one, place in zip(camera, places, strict=True)])
    turned = Rotation.from_matrix(camera[:, :3, :3]) * turns
    found, actions = np.array(left["states"]), np.array(left["actions"])
    np.testing.assert_allclose(found[:, :3], wanted, atol=1e-9)
    np.testing.assert_allclose(found[:, 3:6], turned.as_euler("xyz"), atol=1e-9)
    np.testing.assert_allclose(found[:, 7], 0.0, atol=1e-9)  # half closed
    np.testing.assert_allclose(actions[:-1, :3], np.diff(wanted, axis=0), atol=1e-9)
    for number in range(3):
        change = Rotation.from_euler("xyz", actions[number, 3:6]) * turned[number]
        assert (change * turned[number + 1].inv()).magnitude() < 1e-9
    np.testing.assert_allclose(actions[-1], [0, 0, 0, 0, 0, 0, 0], atol=1e-9)
    assert left["valid_frame_ids"] == frames
    world = camera[2, :3, :3] @ joints[2, 5] + camera[2, :3, 3]
    np.testing.assert_allclose(left["joints_world"][2][5], world, atol=1e-9)
    assert left["joints_cam"] == joints.tolist()


def test_frames_without_a_camera_are_left_out():
    pose = {"frame_ids": [5, 0, 1], "transl": np.eye(3).tolist(), "global_orient": np.zeros((3, 3)).tolist()}
    facts = {
        "hand_reconstruction_hawor_tags": [{"right": pose}],
        "video_camera_pose_tags": [{"cam_c2w": cameras(2).tolist()}],
    }
    (video,) = run("video_hand_action_compute_mapper", meta(**facts), hand_type="right")["__dj__meta__"][
        "hand_action_tags"
    ]
    assert list(video) == ["right"]
    assert video["right"]["valid_frame_ids"] == [0, 1]
    assert [state[7] for state in video["right"]["states"]] == [1.0, 1.0]  # fingers are not known


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        ({"frame_ids": [0, 1], "transl": [[0, 0, 0]], "global_orient": [[0, 0, 0]] * 2}, "transl have the shape"),
        (
            {"frame_ids": [0, 1], "transl": [[0, 0, 0]] * 2, "global_orient": [[0, 0]] * 2},
            "global_orient are not rotations",
        ),
        ({"frame_ids": [0, -1], "transl": [[0, 0, 0]] * 2}, "frame_ids"),
        ({"frame_ids": [0, 1], "transl": [[0, 0, float("nan")]] * 2}, "not finite"),
    ],
)
def test_poses_that_are_none_cost_their_sample_alone(pose, message):
    facts = {
        "hand_reconstruction_hawor_tags": [{"right": pose}],
        "video_camera_pose_tags": [{"cam_c2w": cameras(2).tolist()}],
    }
    with pytest.raises(ValueError, match=message):
        jp.create("video_hand_action_compute_mapper")(meta(**facts))


# --- video_hand_motion_smooth_mapper ---


def smoothed(value, **parameters):
    sample = run("video_hand_motion_smooth_mapper", meta(hand_action_tags=[{"right": value}]), **parameters)
    return sample["__dj__meta__"]["hand_action_tags"][0]["right"]


def test_a_motion_is_filtered_as_scipy_does():
    joints = RNG.normal(0, 1, (40, 21, 3))
    value = motion(way(40) + RNG.normal(0, 0.001, (40, 3)), joints_world=joints.tolist(), joints_cam=joints.tolist())
    found = smoothed(value, outlier_velocity_threshold=1e9)
    wanted = signal.savgol_filter(np.array(value["states"])[:, :3], 11, 3, axis=0)
    np.testing.assert_allclose(np.array(found["states"])[:, :3], wanted, atol=1e-12)
    np.testing.assert_allclose(found["joints_world"], signal.savgol_filter(joints, 11, 3, axis=0), atol=1e-12)
    assert found["joints_cam"] == joints.tolist()
    before, after = (Rotation.from_euler("xyz", np.array(one["states"])[:, 3:6]) for one in (value, found))
    assert np.max((before * after.inv()).magnitude()) < 1e-3  # it turned evenly already
    np.testing.assert_allclose(np.array(found["actions"])[:-1, :3], np.diff(found["states"], axis=0)[:, :3], atol=1e-12)
    assert found["valid_frame_ids"] == value["valid_frame_ids"]


@pytest.mark.parametrize("at", [(7,), (7, 8), (0,), (39,)])
def test_frames_that_jump_away_are_interpolated(at):
    places = way(40)
    noisy = places.copy()
    noisy[list(at)] += 5
    found = np.array(smoothed(motion(noisy))["states"])[:, :3]
    assert np.abs(found - places).max() < 0.1


def test_a_rotation_beyond_half_a_turn_is_smooth():
    value = motion(way(40))
    turned = np.array(value["states"])
    turned[:, 3:6] = Rotation.from_rotvec(np.linspace(0, 8, 40)[:, None] * [0, 0, 1]).as_euler("xyz")
    found = Rotation.from_euler("xyz", np.array(smoothed({**value, "states": turned.tolist()})["states"])[:, 3:6])
    assert np.max((found * Rotation.from_euler("xyz", turned[:, 3:6]).inv()).magnitude()) < 0.01


def test_a_short_motion_stays():
    value = motion(way(4))
    assert smoothed(value) == value


# --- video_atomic_action_segment_mapper ---


def segments(places, **parameters):
    sample = run(
        "video_atomic_action_segment_mapper", meta(hand_action_tags=[{"left": motion(places, 10)}]), **parameters
    )
    return sample["__dj__meta__"]["atomic_action_segments"]


def moved(speeds):
    places = np.zeros((len(speeds), 3))
    places[:, 0] = np.cumsum(speeds)
    return places


def test_motions_are_cut_where_they_are_slowest():
    speeds = np.abs(np.sin(np.arange(120) * np.pi / 40)) + 0.01
    found = segments(moved(speeds))
    assert [one["start_frame"] for one in found] == pytest.approx([10, 50, 90], abs=2)
    assert [one["end_frame"] + 1 for one in found[:-1]] == [one["start_frame"] for one in found[1:]]
    assert found[-1]["end_frame"] == 129
    assert {(one["hand_type"], one["video"]) for one in found} == {("left", 0)}
    assert [len(one["states"]) for one in found] == [len(one["valid_frame_ids"]) for one in found]


def test_a_steady_motion_is_one_segment_and_a_rest_has_two_ends():
    assert len(segments(moved(np.ones(200)))) == 1
    rest = np.concatenate([np.ones(60), np.zeros(80), np.ones(60)])
    assert [one["start_frame"] - 10 for one in segments(moved(rest))] == pytest.approx([0, 67, 133], abs=8)


def test_no_segment_is_too_long_or_too_short():
    found = segments(moved(RNG.random(400) + 0.5), min_window=100, max_segment_frames=60, min_segment_frames=20)
    lengths = [len(one["states"]) for one in found]
    assert sum(lengths) == 400
    assert min(lengths) >= 20
    assert max(lengths) <= 60


# --- video_clip_reassembly_mapper ---


def moving_frames(count):
    """Frames on which something moves."""
    picture = np.asarray(photo(160, 48, 3))
    return [encoded(_image(picture[:, 2 * number : 2 * number + 64])) for number in range(count)]


def _image(pixels):
    from PIL import Image

    return Image.fromarray(pixels)


def clip_sample(frames, matrices, places, bounds):
    """What is known of clips of a video, each in a world of its own."""
    clips, hands, poses = [], [], []
    for number, (start, end) in enumerate(bounds):
        own = np.eye(4)
        own[:3, :3] = Rotation.from_rotvec([0.1 * number, 0.2 * number, 0]).as_matrix()
        own[:3, 3] = [number, -number, 2 * number]
        found = states(places)[start:end]
        turned = own[:3, :3] @ Rotation.from_euler("xyz", found[:, 3:6]).as_matrix()
        found[:, :3] = found[:, :3] @ own[:3, :3].T + own[:3, 3]
        found[:, 3:6] = Rotation.from_matrix(turned).as_euler("xyz")
        clips.append(frames[start:end])
        hands.append({"right": {"states": found.tolist(), "valid_frame_ids": list(range(end - start))}})
        poses.append({"cam_c2w": (own @ matrices[start:end]).tolist(), "scale": 1})
    calibrations = [{"intrinsics": [[n] for n in range(start, end)], "model": "m"} for start, end in bounds]
    hawor = [{"right": {"frame_ids": [1, 3], "transl": [[start + 1], [start + 3]]}, "fov_x": 1} for start, _ in bounds]
    facts = {"hand_action_tags": hands, "video_camera_pose_tags": poses, "camera_calibration_moge_tags": calibrations}
    facts["hand_reconstruction_hawor_tags"] = hawor
    return [{"video_frames": clips, "clips": ["a", "b", "c"], "videos": ["v"], "__dj__meta__": facts}]


def test_clips_are_merged_as_if_the_video_had_not_been_cut():
    frames, matrices, places = moving_frames(40), cameras(40), way(40)
    samples = clip_sample(frames, matrices, places, [(0, 18), (13, 30), (26, 40)])
    sample = run("video_clip_reassembly_mapper", samples, split_duration=1.7, overlap_duration=0.3, fps=10)
    assert sample["video_frames"] == [frames]
    assert sample["clips"] == ["v"]
    known = sample["__dj__meta__"]
    (hand,), (camera,) = known["hand_action_tags"], known["video_camera_pose_tags"]
    np.testing.assert_allclose(np.array(camera["cam_c2w"]), matrices, atol=1e-9)
    assert camera["scale"] == 1
    np.testing.assert_allclose(np.array(hand["right"]["states"])[:, :3], places, atol=1e-9)
    turned = Rotation.from_euler("xyz", np.array(hand["right"]["states"])[:, 3:6])
    wanted = Rotation.from_euler("xyz", states(places)[:, 3:6])
    assert np.max((turned * wanted.inv()).magnitude()) < 1e-6
    assert hand["right"]["valid_frame_ids"] == list(range(40))
    assert known["camera_calibration_moge_tags"] == [{"intrinsics": [[n] for n in range(40)], "model": "m"}]
    (pose,) = known["hand_reconstruction_hawor_tags"]
    assert pose["right"] == {"frame_ids": [1, 3, 14, 16, 27, 29], "transl": [[1], [3], [14], [16], [27], [29]]}
    assert pose["fov_x"] == 1


def test_clips_of_a_still_picture_begin_as_planned():
    still = [encoded(photo(64, 48, 1))] * 20
    samples = [{"video_frames": [still[:10], still[:10]], "__dj__meta__": {}}]
    sample = run("video_clip_reassembly_mapper", samples, split_duration=1, overlap_duration=0.2, fps=10)
    assert len(sample["video_frames"][0]) == 18


def test_one_clip_stays_and_other_numbers_of_clips_are_refused():
    frames = moving_frames(4)
    one = [{"video_frames": [frames], "__dj__meta__": {"hand_action_tags": [{}]}}]
    assert jp.create("video_clip_reassembly_mapper")(one) == one
    two = [{"video_frames": [frames, frames], "__dj__meta__": {"hand_action_tags": [{}]}}]
    with pytest.raises(ValueError, match="hand_action_tags has 1 clips, and video_frames 2"):
        jp.create("video_clip_reassembly_mapper")(two)


# --- video_trajectory_overlay_mapper ---


def overlay(tmp_path=None, **calibration):
    black = encoded(_image(np.zeros((120, 160, 3), np.uint8)), "PNG")
    places = np.stack([np.linspace(-0.5, 0.5, 10), np.zeros(10), np.full(10, 2.0)], axis=1)
    segment = {**motion(places), "hand_type": "right", "video": 0, "segment_id": 0}
    facts = {"atomic_action_segments": [segment], "video_camera_pose_tags": [{"cam_c2w": [np.eye(4).tolist()] * 10}]}
    facts["camera_calibration_moge_tags"] = [calibration]
    samples = [{"video_frames": [[black] * 10], "__dj__meta__": facts}]
    options = {"n_sample_frames": 4, "trajectory_alpha": 1.0, "dot_radius": 5}
    return run("video_trajectory_overlay_mapper", samples, save_dir=tmp_path and str(tmp_path), **options)


@pytest.mark.parametrize("calibration", ["intrinsics", "hfov"])
def test_the_way_is_where_the_camera_sees_it(calibration):
    lens = [[80.0, 0, 80], [0, 80, 60], [0, 0, 1]]
    given = {"intrinsics": [lens] * 10} if calibration == "intrinsics" else {"hfov": float(np.pi / 2)}
    sample = overlay(**given)
    ((first, *_, last),) = sample["overlay_frames"]
    assert sample["__dj__meta__"]["atomic_action_segments"][0]["sampled_frame_indices"] == [0, 3, 6, 9]
    pixels = _pixels(first)
    assert pixels[60, 60].tolist() == pytest.approx([0, 100, 255], abs=40)  # the palm now: x -0.5 at a depth of 2
    red, _, blue = pixels[60, 97].tolist()
    assert red > 150 > blue  # the end of the way
    assert pixels[20:50].max() < 40
    assert _pixels(last)[60, 100].tolist() == pytest.approx([0, 100, 255], abs=40)


def _pixels(data):
    from io import BytesIO

    from PIL import Image

    return np.asarray(Image.open(BytesIO(data)))


def test_frames_are_files_if_there_is_a_directory(tmp_path):
    sample = overlay(tmp_path, hfov=1.0)
    (files,) = sample["overlay_frames"]
    assert [path.startswith(str(tmp_path)) for path in files] == [True] * 4


def test_a_camera_without_a_lens_is_told():
    with pytest.raises(ValueError, match="neither intrinsics nor hfov"):
        overlay()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("video_hand_motion_smooth_mapper", {"savgol_window": 8}),
        ("video_hand_motion_smooth_mapper", {"savgol_window": 3, "savgol_polyorder": 3}),
        ("video_atomic_action_segment_mapper", {"max_segment_frames": 10}),
        ("video_atomic_action_segment_mapper", {"speed_smooth_window": 4}),
        ("video_clip_reassembly_mapper", {"split_duration": 1, "overlap_duration": 1}),
        ("video_hand_action_compute_mapper", {"tag_field_name": "video_camera_pose_tags"}),
    ],
)
def test_senseless_parameters(name, parameters):
    with pytest.raises(jp.ParameterError):
        jp.create(name, **parameters)


def test_facts_that_are_not_there_add_nothing():
    ctx = Context()
    for name in ("video_hand_motion_smooth_mapper", "video_atomic_action_segment_mapper"):
        (sample,) = jp.create(name)([{"__dj__meta__": None}], ctx=ctx)
        assert not (sample["__dj__meta__"] or {}).get("hand_action_tags")
