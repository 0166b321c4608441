"""Loads models and processors of transformers, but only from files on this machine."""

from collections.abc import Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from jinx_pipeline.models.feed import Limits
from jinx_pipeline.operators.api.model import Model
from jinx_pipeline.optional import require

# The batch limits if the model sets none; small on a CPU, where larger batches are no faster.
_CPU_ITEMS, _GPU_ITEMS = 32, 256
_CPU_TOKENS, _GPU_TOKENS = 4096, 16384
# A CPU is no faster with more tokens than this.
_CPU_USEFUL_TOKENS = 512
# A picture is about as much work as 256 tokens. With smaller batches, more pictures can be decoded while the model
# runs.
_GPU_PICTURES = 64
# Models that do not use the first positions for tokens.
_OFFSET_POSITIONS, _OFFSET = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"}), 2


class ModelFilesError(ValueError):
    """Raised when the files of a model do not fit its class; this concerns all samples."""

    concerns_all_rows = True


@dataclass(eq=False)
class Pretrained:
    """A model in this process.

    Attributes:
        network: The module of PyTorch.
        device: Its device.
        model: What it was loaded from.
        processors: Its tokenizer, image processor or feature extractor, by the class that loaded it.
        kept: Values of an operator that all batches need, by a key.
        text_limits: The limits of a batch of texts, in tokens, which shrink if memory is short.
        picture_limits: The limits of a batch of pictures, in pixels.
    """

    network: Any
    device: str
    model: Model
    processors: Mapping[str, Any]
    kept: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any])
    text_limits: Limits = field(init=False)
    picture_limits: Limits = field(init=False)
    _tokenizing: Any = field(default_factory=Lock, init=False)
    _has_processed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        is_cpu = self.device == "cpu"
        texts, tokens, pictures = (
            (_CPU_ITEMS, _CPU_TOKENS, _CPU_ITEMS) if is_cpu else (_GPU_ITEMS, _GPU_TOKENS, _GPU_PICTURES)
        )
        useful = _CPU_USEFUL_TOKENS if is_cpu else None
        self.text_limits = Limits(self.model.max_items or texts, self.model.max_tokens or tokens, useful)
        self.picture_limits = Limits(self.model.max_items or pictures, self.model.max_pixels)

    @property
    def tokenizer(self) -> Any:
        """The tokenizer."""
        return self.processors["AutoTokenizer"]

    @property
    def image_processor(self) -> Any:
        """The processor for images."""
        return self.processors["AutoImageProcessor"]

    @property
    def longest_text(self) -> int:
        """The maximum number of tokens that the model accepts."""
        positions = getattr(self.network.config, "max_position_embeddings", None)
        if positions is not None and self.network.config.model_type in _OFFSET_POSITIONS:
            positions -= _OFFSET
        longest = self.tokenizer.model_max_length
        return longest if positions is None else min(longest, positions)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of texts, truncated to what the model accepts."""
        return self.encoded(texts, truncation=True, max_length=self.longest_text)

    def encoded(self, texts: Sequence[str], **options: Any) -> Any:
        """The ids of texts, with tokenizer options; threads take turns, because these options are shared."""
        with self._tokenizing:
            return self.tokenizer(list(texts), **options)["input_ids"]

    def processed(self, **inputs: Any) -> Any:
        """What the `AutoProcessor` makes of texts and media, as tensors; for threads, always with the same options.

        The first call runs alone: it sets the options of the tokenizer, which other calls then find already set.
        """
        processor = self.processors["AutoProcessor"]
        if self._has_processed:
            return processor(**inputs, return_tensors="pt")
        with self._tokenizing:
            made = processor(**inputs, return_tensors="pt")
            self._has_processed = True
            return made

    def pixels(self, picture: Any) -> Any:
        """The input of the model for a picture, float of shape (channels, height, width)."""
        return self.image_processor(images=picture, return_tensors="pt")["pixel_values"][0]

    def padded(self, tokens: Sequence[Sequence[int]]) -> dict[str, Any]:
        """The ids of several texts on the device, padded on the right, with a mask."""
        torch = require("torch", extra="model", what="A model")
        width = max(map(len, tokens))
        padding = self.tokenizer.pad_token_id or 0
        rows = [[*ids, *[padding] * (width - len(ids))] for ids in tokens]
        masks = [[1] * len(ids) + [0] * (width - len(ids)) for ids in tokens]
        return {
            name: self.on_device(torch.tensor(values, dtype=torch.long))
            for name, values in (("input_ids", rows), ("attention_mask", masks))
        }

    def on_device(self, tensor: Any) -> Any:
        """A tensor on the model's device; floats get the type of the model's weights."""
        dtype = self.network.dtype if tensor.is_floating_point() else tensor.dtype
        if self.device.startswith("cuda"):
            return tensor.pin_memory().to(self.device, dtype, non_blocking=True)
        return tensor.to(self.device, dtype)

    @contextmanager
    def inference(self) -> Generator[None]:
        """A context without gradients, and with mixed precision if the model asks for it."""
        torch = require("torch", extra="model", what="A model")
        kind = self.model.autocast
        cast = nullcontext() if kind is None else torch.autocast(self.device.partition(":")[0], getattr(torch, kind))
        with torch.inference_mode(), cast:
            yield


def load_pretrained(model: Model, device: str, network: str, *processors: str) -> Pretrained:
    """Load a model of transformers.

    Args:
        model: The model.
        device: The device, if the model names none.
        network: The class of the model, such as `AutoModelForImageClassification`.
        *processors: The classes of its processors, such as `AutoTokenizer`.

    Raises:
        ModelFilesError: The weights are not those of the class.
        OSError: Files are missing.
    """
    transformers = require("transformers", extra="model", what="A model")
    place = device if model.device == "auto" else model.device
    path = str(model.directory or model.path)
    with _quiet(transformers):
        loaded, facts = getattr(transformers, network).from_pretrained(
            path,
            local_files_only=True,
            use_safetensors=None if model.allow_pickle else True,
            dtype=model.dtype,
            output_loading_info=True,
        )
        made = {name: getattr(transformers, name).from_pretrained(path, local_files_only=True) for name in processors}
    missing = sorted(facts["missing_keys"])
    if missing:
        some = f"{', '.join(missing[:3])}{' and others' if len(missing) > 3 else ''}"  # noqa: PLR2004 - fits into a line
        raise ModelFilesError(f"{model.path} has no weights for {some}; it was saved by another class of models")
    loaded = loaded.to(place).eval()
    if model.compile:
        loaded.compile()
    return Pretrained(loaded, place, model, made)


@contextmanager
def _quiet(transformers: Any) -> Generator[None]:
    """A context without progress bars and notices about optional packages."""
    logging = transformers.utils.logging
    verbosity, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()
