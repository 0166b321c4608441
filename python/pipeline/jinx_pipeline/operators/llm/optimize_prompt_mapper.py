"""Makes new prompts from the prompts of samples: the operator `optimize_prompt_mapper`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.parameters import Range
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.asking import AskingAnyModel, as_text
from jinx_pipeline.operators.llm.mapping import AskingSplitter


@register("optimize_prompt_mapper", modality="text")
class OptimizePromptMapper(AskingAnyModel, AskingSplitter):
    """Makes new samples with better prompts, from the prompt of a sample and others of its batch.

        create("optimize_prompt_mapper", api_or_hf_model="qwen", gen_num=2)

    Attributes:
        gen_num: How many new prompts are made of a sample.
        max_example_num: How many prompts the model sees, with the sample's own.
        keep_original_sample: Whether the sample itself stays too.
        prompt_key: The column with the prompt.
    """

    gen_num: Annotated[int, Range(1, 100)] = 3
    max_example_num: Annotated[int, Range(1, 100)] = 3
    keep_original_sample: bool = True
    prompt_key: str = "prompt"

    @property
    def keys(self) -> Mapping[str, str]:
        return {"prompts": self.prompt_key}

    @property
    def depends_on_batch(self) -> bool:
        return self.max_example_num > 1

    def given(self) -> Mapping[str, str]:
        return {"number": str(self.gen_num)}

    def samples_of(self, batch: Batch, ctx: Context) -> list[dict[str, Any]]:
        samples = super().samples_of(batch, ctx)
        prompts = [as_text(sample[self.prompt_key]) for sample in samples]
        for row, sample in enumerate(samples):
            others = [prompt for prompt in prompts[:row] + prompts[row + 1 :] if prompt]
            count = min(self.max_example_num - 1, len(others))
            places = ctx.rng(batch.ids[row], self.name).choice(len(others), size=count, replace=False) if count else []
            sample["others"] = [others[place] for place in places]
        return samples

    def data(self, sample: Mapping[str, Any]) -> Mapping[str, str] | None:
        own = as_text(sample[self.prompt_key])
        return {"prompts": "\n\n---\n\n".join([own, *sample["others"]])} if own else None

    def children(self, sample: Mapping[str, Any], value: Any) -> Sequence[Mapping[str, Any]]:
        made = [{self.prompt_key: prompt} for prompt in value["prompts"][: self.gen_num]]
        return [*([{}] if self.keep_original_sample or not made else []), *made]
