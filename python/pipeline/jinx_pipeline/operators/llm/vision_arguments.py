"""The base of operators with a vision language model in `mllm_mapper_args`, as in Data-Juicer's recipes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from jinx_pipeline.operators.api.arguments import Arguments, ComposedOperator
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.llm.asking import ApiModel, Asking

_LLAVA: Final = Model(kind="openai", model="llava-hf/llava-v1.6-vicuna-7b-hf")


@dataclass(frozen=True, kw_only=True)
class VisionModel:
    """A vision language model, and its settings.

    Attributes:
        hf_model: Its name at the service, or a model of the kind `openai` in the recipe.
        max_new_tokens: The maximum number of tokens of an answer.
        temperature: The temperature of sampling.
        top_p: The share of likely tokens to sample from; None: as the service does.
    """

    hf_model: ApiModel = _LLAVA
    max_new_tokens: Annotated[int, Range(1)] = 256
    temperature: Annotated[float, Range(0, 2)] = 0.2
    top_p: Annotated[float, Range(0, 1)] | None = None


class AskingVisionModel(ComposedOperator, Asking):
    """Asks the vision language model in `mllm_mapper_args`.

    Attributes:
        mllm_mapper_args: `hf_model`, the model: its name at the service, or a model of the kind `openai` in the recipe;
            `max_new_tokens` (256), `temperature` (0.2) and `top_p` of its answers.
    """

    mllm_mapper_args: Annotated[dict[str, Any], Arguments(VisionModel)] = field(default_factory=dict[str, Any])
    model_parameter = "mllm_mapper_args"

    @property
    def vision(self) -> VisionModel:
        """The model and its settings."""
        return VisionModel(**self.mllm_mapper_args)

    @property
    def model(self) -> Model:
        return self.vision.hf_model

    @property
    def sampling(self) -> Mapping[str, Any]:
        vision = self.vision
        fields = {"max_tokens": vision.max_new_tokens, "temperature": vision.temperature}
        return fields if vision.top_p is None else {**fields, "top_p": vision.top_p}

    def _digest_of(self, parameters: dict[str, Any]) -> str:
        return super()._digest_of({**parameters, "sampling": dict(self.sampling)})
