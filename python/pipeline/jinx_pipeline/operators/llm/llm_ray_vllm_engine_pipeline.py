"""Answers the requests in samples: the operator `llm_ray_vllm_engine_pipeline`."""

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.llm.vllm_engine import EngineMapper


@register("llm_ray_vllm_engine_pipeline", modality="text")
class LlmRayVllmEnginePipeline(EngineMapper):
    """Sends the requests in samples to a language model service such as `vllm serve`, and stores the answers.

        create("llm_ray_vllm_engine_pipeline", api_or_hf_model="qwen", api_endpoint="http://localhost:8000/v1")

    `system_prompt` is the system message of all requests.
    """
