"""The motion score of RAFT is the mean length of the flow that torchvision's model gives."""

from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest

import jinx_pipeline as jp
from pipeline.operators.images import encoded, photo

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchvision", reason="torchvision is not installed")
av = pytest.importorskip("av")
videos = pytest.importorskip("make_media.videos")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

NAME = "video_motion_score_raft_filter"


def raft():
    import torch
    from torchvision.models.optical_flow import raft_large

    torch.manual_seed(40)
    return raft_large(weights=None).eval()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("raft")
    save_file(raft().state_dict(), folder / "model.safetensors")
    return str(folder)


def flow(pictures):
    import torch

    inputs = [torch.tensor(picture).permute(2, 0, 1)[None].float() / 127.5 - 1 for picture in pictures]
    with torch.no_grad():
        pairs = [raft()(before, after)[-1][0].norm(dim=0).mean() for before, after in pairwise(inputs)]
    return float(np.mean(pairs))


def scores(samples, **parameters):
    found = jp.create(NAME, **parameters)(samples, keep_stats=True, drop=False)
    return [sample["__dj__stats__"]["video_motion_score"] for sample in found]


def test_the_flow_between_frames(path):
    data = videos.video(frames=8, size=(136, 128))
    with av.open(BytesIO(data)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    expected = flow([frames[0], frames[4]])
    rate = 25 / 4
    samples = [{"videos": [data]}, {"videos": []}]
    found = scores(samples, model_path=path, sampling_fps=rate)
    assert found == [pytest.approx([expected], rel=1e-3), []]
    relative = scores(samples[:1], model_path=path, sampling_fps=rate, relative=True)
    assert relative == [pytest.approx([expected / np.hypot(136, 128)], rel=1e-3)]


def test_frames_as_images(path):
    images = [photo(130, 129, seed) for seed in (1, 2, 3)]
    found = scores(
        [{"frames": [[encoded(image) for image in images]]}], model_path=path, frame_field="frames", size=[128, 128]
    )
    cv2 = pytest.importorskip("cv2")
    expected = flow([cv2.resize(np.asarray(image), (128, 128), interpolation=cv2.INTER_AREA) for image in images])
    assert found == [pytest.approx([expected], rel=1e-3)]


def test_small_frames_are_an_error_of_their_sample(path):
    with pytest.raises(ValueError, match="RAFT takes 128"):
        scores([{"videos": [videos.video(frames=4, size=(64, 48))]}], model_path=path, sampling_fps=25)


def test_other_weights_are_refused(path, tmp_path):
    with pytest.raises(jp.ParameterError, match="no multiple of 8"):
        jp.create(NAME, model_path=path, divisible=4)
    with pytest.raises(jp.ParameterError, match="has no weights"):
        jp.create(NAME, model_path=str(tmp_path))
    (tmp_path / "raft.pth").write_bytes(b"x")
    with pytest.raises(jp.ParameterError, match="a pickle, which may run code"):
        jp.create(NAME, model_path=str(tmp_path))
