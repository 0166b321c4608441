"""Answers requests about images: the operator `vlm_ray_vllm_engine_pipeline`."""

from typing import Any

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.pictures import AskingAboutImages
from jinx_pipeline.operators.llm.vllm_engine import EngineMapper


@register("vlm_ray_vllm_engine_pipeline", modality="multimodal")
class VlmRayVllmEnginePipeline(EngineMapper, AskingAboutImages):
    """Adds a vision language model's answers to the requests and images in samples.

        create("vlm_ray_vllm_engine_pipeline", api_or_hf_model="qwen-vl", api_endpoint="http://localhost:8000/v1")

    `system_prompt` is the system message of all requests.
    """

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.query_key, "images", self.response_key)

    def samples_of(self, batch: Batch, ctx: Context) -> list[dict[str, Any]]:
        queries = batch.column(self.query_key)
        pictures = AskingAboutImages.samples_of(self, batch, ctx)
        return [{**sample, self.query_key: query} for sample, query in zip(pictures, queries, strict=True)]
