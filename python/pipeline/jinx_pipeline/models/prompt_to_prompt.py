"""Two similar images from two prompts by Stable Diffusion XL: the second attends like the first.

After Hertz et al., Prompt-to-Prompt Image Editing with Cross-Attention Control (2022), with refinement of the prompt.
"""

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final

from jinx_pipeline.models.diffusion import Diffusion, loaded_pipeline
from jinx_pipeline.models.feed import TooLargeError, free_memory, is_out_of_memory
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.optional import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

CLASSES: Final = ("StableDiffusionXL",)
"""The pipelines that make images from texts with this control."""

# In this share of the steps, pixels attend to pixels as in the first image, but only in layers with at most this many
# pixels.
_SELF_SHARE: Final = 0.4
_SELF_PIXELS: Final = 32 * 32


def load_text_to_image(model: Model, device: str) -> Diffusion:
    """A pipeline that makes images from texts, for `Context.model`.

    Raises:
        ModelFilesError: The files are not those of such a pipeline.
    """
    return loaded_pipeline(model, device, "AutoPipelineForText2Image")


def similar_pair(
    loaded: Diffusion, prompts: tuple[str, str], *, steps: int, guidance_scale: float, side: int, seed: int
) -> "tuple[Image, Image]":
    """Two images that are alike except for what their prompts describe.

    Args:
        loaded: The pipeline.
        prompts: The prompts.
        steps: The number of steps.
        guidance_scale: How closely prompts are followed.
        side: The width and height of the images in pixels.
        seed: The seed of the noise, which both images share.

    Raises:
        TooLargeError: They do not fit into the memory of the device.
    """
    torch = require("torch", extra="diffusion", what="A diffusion model")
    pipeline = loaded.pipeline
    control = _Control(_alignment(pipeline.tokenizer, prompts), steps)
    before = pipeline.unet.attn_processors
    pipeline.unet.set_attn_processor(
        {name: _Processor(control, is_cross="attn2" in name) for name in pipeline.unet.attn_processors}
    )
    size = side // pipeline.vae_scale_factor
    noise = torch.randn(
        (1, pipeline.unet.config.in_channels, size, size), generator=torch.Generator("cpu").manual_seed(seed)
    )
    try:
        made = pipeline(
            prompt=list(prompts),
            latents=noise.repeat(2, 1, 1, 1).to(pipeline.device, pipeline.unet.dtype),
            num_inference_steps=steps,
            guidance_scale=guidance_scale,
            height=side,
            width=side,
            callback_on_step_end=control.advance,
        )
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        free_memory()
        raise TooLargeError(f"two images are too large for the memory of the device: {error}") from None
    finally:
        pipeline.unet.set_attn_processor(before)
    first, second = made.images
    return first, second


def _alignment(tokenizer: Any, prompts: tuple[str, str]) -> "list[int]":
    """For each token of the second prompt, the number of the same token in the first one, or -1."""
    options = {"padding": "max_length", "max_length": tokenizer.model_max_length, "truncation": True}
    first, second = tokenizer(list(prompts), **options)["input_ids"]
    aligned = [-1] * len(second)
    for start, other, count in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks():
        aligned[other : other + count] = range(start, start + count)
    return aligned


class _Control:
    """What the second image takes over from the first one's attention, at the current step.

    Args:
        aligned: For each token of the second prompt the number of the same token in the first one, or -1.
        steps: The number of steps.
    """

    def __init__(self, aligned: "Sequence[int]", steps: int) -> None:
        self._aligned = aligned
        self._self_steps = int(steps * _SELF_SHARE)
        self._step = 0

    def advance(self, pipeline: Any, step: int, time: Any, values: dict[str, Any]) -> dict[str, Any]:
        """Advance to the next step; the pipeline calls this after each one."""
        del pipeline, time
        self._step = step + 1
        return values

    def edited(self, first: Any, second: Any, *, is_cross: bool) -> Any:
        """The attention of the second image, of shape (heads, pixels, tokens or pixels)."""
        if is_cross:
            torch = require("torch", extra="diffusion", what="A diffusion model")
            aligned = torch.tensor(self._aligned, device=first.device)
            return torch.where(aligned >= 0, first[..., aligned.clamp(min=0)], second)
        is_kept = self._step < self._self_steps and first.shape[1] <= _SELF_PIXELS
        return first if is_kept else second


class _Processor:
    """Attention in which the second of two images takes over part of the first one's.

    Args:
        control: What it takes.
        is_cross: Whether pixels attend to the prompt, not to pixels.
    """

    def __init__(self, control: _Control, *, is_cross: bool) -> None:
        self._control = control
        self._is_cross = is_cross

    def __call__(
        self,
        attn: Any,
        hidden_states: Any,
        encoder_hidden_states: Any = None,
        attention_mask: Any = None,
        *args: Any,
        **options: Any,
    ) -> Any:
        del args, options
        require("torch", extra="diffusion", what="A diffusion model")
        count, length = hidden_states.shape[:2]
        context = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        mask = attn.prepare_attention_mask(attention_mask, length, count)
        query, key, value = (
            attn.head_to_batch_dim(layer(states))
            for layer, states in ((attn.to_q, hidden_states), (attn.to_k, context), (attn.to_v, context))
        )
        scores = attn.get_attention_scores(query, key, mask)
        # The prompted images come last, after the images without a prompt that guidance needs.
        scores = scores.reshape(count, attn.heads, *scores.shape[1:])
        scores[-1] = self._control.edited(scores[-2], scores[-1], is_cross=self._is_cross)
        found = attn.batch_to_head_dim(scores.flatten(0, 1) @ value)
        return attn.to_out[1](attn.to_out[0](found))
