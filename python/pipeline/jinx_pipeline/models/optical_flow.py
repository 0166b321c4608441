"""Optical flow between pictures, from RAFT as implemented in torchvision."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jinx_pipeline.models.feed import TooLargeError, free_memory, is_out_of_memory
from jinx_pipeline.models.pretrained import ModelFilesError
from jinx_pipeline.models.stored_weights import stored_weights
from jinx_pipeline.operators.api.model import Model, weights_in
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Picture = npt.NDArray[np.uint8]

SMALLEST_SIDE: Final = 128
"""The smallest side of a picture in pixels that RAFT takes."""
MULTIPLE: Final = 8
"""The sides of pictures are multiples of this."""


@dataclass(eq=False)
class Raft:
    """A RAFT model in this process.

    Attributes:
        network: The module of PyTorch.
        device: Its device.
    """

    network: Any
    device: str


def refuse_other_weights(operator: Operator, parameter: str) -> None:
    """Refuse a directory without weights, or with weights that are pickles.

    Args:
        operator: The operator.
        parameter: The parameter that names the model.

    Raises:
        ParameterError: There are none, or only pickles.
    """
    model = operator.models[parameter]
    if model.directory is None:
        return
    weights = weights_in(model.directory)
    problem = None
    if not weights:
        problem = "has no weights; model.safetensors is missing"
    elif weights[0].suffix != ".safetensors" and not model.allow_pickle:
        problem = (
            f"has its weights only in {weights[0].name}, a pickle, which may run code; save them as safetensors, or "
            "name the model in `models` with allow_pickle: true"
        )
    if problem is not None:
        raise ParameterError(operator.name, parameter, f"{parameter}: {model.path} {problem}")


def load_raft(model: Model, device: str) -> Raft:
    """A large RAFT model with the weights of torchvision's `raft_large`, for `Context.model`.

    Raises:
        ModelFilesError: The weights are not those of this model.
    """
    flows = require("torchvision.models.optical_flow", extra="raft", what="RAFT")
    place = device if model.device == "auto" else model.device
    network = flows.raft_large(weights=None)
    if not weights_in(model.directory or Path(model.path)):
        raise ModelFilesError(f"{model.path} has no weights; model.safetensors is missing")
    try:
        network.load_state_dict(stored_weights(model, ("",)))
    except RuntimeError as error:
        problem = " ".join(str(error).split())[:200]
        raise ModelFilesError(f"{model.path} has not the weights of torchvision's raft_large: {problem}") from error
    return Raft(network.to(place).eval(), place)


def flow_lengths(raft: Raft, pairs: "Sequence[tuple[Picture, Picture]]") -> list[float]:
    """The mean length of the optical flow between each pair of consecutive pictures, in pixels.

    Args:
        raft: The model.
        pairs: Pictures of one size, uint8 of shape (height, width, 3) in the order RGB.

    Raises:
        TooLargeError: Two pictures do not fit into the memory of the device.
    """
    import torch

    def inputs(place: int) -> Any:
        pictures = np.stack([pair[place] for pair in pairs])
        return torch.from_numpy(pictures).permute(0, 3, 1, 2).to(raft.device).float() / 127.5 - 1

    try:
        with torch.inference_mode():
            flow = raft.network(inputs(0), inputs(1))[-1]
            return flow.float().norm(dim=1).mean(dim=(1, 2)).cpu().tolist()
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        problem = str(error)
    free_memory()
    if len(pairs) == 1:
        raise TooLargeError(f"two frames are too large for the memory of the device: {problem}")
    half = len(pairs) // 2
    return flow_lengths(raft, pairs[:half]) + flow_lengths(raft, pairs[half:])
