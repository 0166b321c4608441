"""Objects in a video, followed from its first frame by SAM 2."""

from typing import TYPE_CHECKING, Any, Final

from jinx_pipeline.models.feed import ahead
from jinx_pipeline.models.files import Expected
from jinx_pipeline.models.picture_pixels import normalized, processor_facts
from jinx_pipeline.models.pretrained import Pretrained, load_pretrained
from jinx_pipeline.operators.api.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    from PIL.Image import Image

    from jinx_pipeline.models.pictures import Box

    Masks = npt.NDArray[np.float32]

VIDEO_SEGMENTER: Final = Expected("a SAM 2 model for videos", ("Sam2VideoModel",), ())
"""SAM 2 and SAM 2.1."""

_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# The point labels that mean the corners of a box.
_CORNERS: Final = (2, 3)


def load_video_segmenter(model: Model, device: str) -> Pretrained:
    """A model that follows objects, for `Context.model`."""
    return load_pretrained(model, device, "Sam2VideoModel")


def followed(loaded: Pretrained, frames: "Iterable[Image]", boxes: "Sequence[Box]") -> "Iterator[Masks]":
    """For each frame the masks of objects as logits, float32 of shape (objects, height, width).

    Earlier frames are forgotten, so that the memory does not grow with the length of the video.

    Args:
        loaded: The model.
        frames: The frames.
        boxes: The boxes of the objects in the first frame: left, top, right and bottom in pixels.
    """
    import torch
    from transformers.models.sam2_video.modeling_sam2_video import Sam2VideoInferenceSession

    network, facts = loaded.network, processor_facts(loaded.model)
    side = int(network.config.image_size)
    mean, std = facts.get("image_mean", _MEAN), facts.get("image_std", _STD)
    # The number of earlier frames that the model uses.
    behind = max(network.config.num_maskmem, network.config.max_object_pointers_in_encoder) + 1
    session: Any = Sam2VideoInferenceSession(
        inference_device=loaded.device,
        inference_state_device=loaded.device,
        video_storage_device=loaded.device,
        dtype=network.dtype,
    )
    prepared = ((frame.size, torch.from_numpy(normalized(frame, (side, side), mean, std))) for frame in frames)
    for number, ((width, height), pixels) in enumerate(ahead(prepared)):
        if not number:
            session.video_width, session.video_height = width, height
            _add_boxes(session, boxes, (side / width, side / height))
        with loaded.inference():
            output = network(inference_session=session, frame=loaded.on_device(pixels))
            masks = output.pred_masks.float()
            masks = torch.nn.functional.interpolate(masks, (side, side), mode="bilinear", align_corners=False)
            size = (session.video_height, session.video_width)
            masks = torch.nn.functional.interpolate(masks, size, mode="bilinear", align_corners=False)
        yield masks[:, 0].cpu().numpy()
        session.processed_frames[number] = None
        for outputs in session.output_dict_per_obj.values():
            outputs["non_cond_frame_outputs"].pop(number - behind, None)


def _add_boxes(session: Any, boxes: "Sequence[Box]", scale: tuple[float, float]) -> None:
    """Pass the boxes of objects in the first frame to the model, each as its two corners."""
    import torch

    for number, box in enumerate(boxes):
        corners = torch.tensor(box, dtype=torch.float32).reshape(1, 1, 2, 2) * torch.tensor(scale)
        labels = torch.tensor(_CORNERS, dtype=torch.int32).reshape(1, 1, 2)
        session.add_point_inputs(session.obj_id_to_idx(number), 0, {"point_coords": corners, "point_labels": labels})
    session.obj_with_new_inputs = list(range(len(boxes)))
