"""Models in the ONNX format, which ONNX Runtime runs."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinx_pipeline.models.feed import Limits
from jinx_pipeline.models.pretrained import ModelFilesError
from jinx_pipeline.operators.api.model import Model, weights_in
from jinx_pipeline.operators.api.operator import Operator
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[Any]]

_CPU_ITEMS: Final = 32


@dataclass(eq=False)
class OnnxModel:
    """A model of ONNX Runtime in this process.

    Attributes:
        session: The session.
        model: What it was loaded from.
        limits: The limits of a batch.
    """

    session: Any
    model: Model
    limits: Limits = field(init=False)

    def __post_init__(self) -> None:
        self.limits = Limits(self.model.max_items or _CPU_ITEMS, self.model.max_pixels)

    @property
    def inputs(self) -> dict[str, list[Any]]:
        """The shape of each input; a string stands for a variable size."""
        return {node.name: list(node.shape) for node in self.session.get_inputs()}

    def run(self, inputs: "Arrays") -> "list[npt.NDArray[np.float32]]":
        """The outputs for the named inputs."""
        return self.session.run(None, dict(inputs))


def refuse_other_files(operator: Operator, parameter: str) -> None:
    """Refuse a model that is not a single file in the ONNX format.

    Args:
        operator: The operator.
        parameter: The parameter that names the model.

    Raises:
        ParameterError: The directory has no such file, or several.
    """
    model = operator.models.get(parameter)
    if model is None or model.directory is None:
        return
    try:
        file_of(model)
    except ModelFilesError as error:
        raise ParameterError(operator.name, parameter, f"{parameter}: {error}") from None


def file_of(model: Model) -> Path:
    """The file of a model.

    Raises:
        ModelFilesError: There is none, or several.
    """
    found = [file for file in weights_in(model.directory or Path(model.path)) if file.suffix == ".onnx"]
    if len(found) != 1:
        names = ", ".join(file.name for file in found[:3])
        detail = (
            f"has several files in the format ONNX ({names}); name one" if found else "has no file in the format ONNX"
        )
        raise ModelFilesError(f"{model.path} {detail}")
    return found[0]


def load_onnx(model: Model, device: str) -> OnnxModel:
    """A model, for `Context.model`.

    Raises:
        ModelFilesError: The file is damaged, or ONNX Runtime does not know its operations.
    """
    runtime = require("onnxruntime", extra="onnx", what="A model in the format ONNX")
    place = device if model.device == "auto" else model.device
    known = runtime.get_available_providers()
    providers = [name for name in ("CUDAExecutionProvider",) if place.startswith("cuda") and name in known]
    file = file_of(model)
    try:
        session = runtime.InferenceSession(str(file), providers=[*providers, "CPUExecutionProvider"])
    except Exception as error:  # its exception classes are not public
        raise ModelFilesError(f"{file} is not a model that ONNX Runtime can load: {error}") from error
    return OnnxModel(session, model)
