"""A language model of a few hundred weights, and a tokenizer that knows seven words."""

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WORDS = ["<pad>", "<eos>", "<unk>", "user", "assistant", "hi", "there"]


def make_tokenizer() -> PreTrainedTokenizerFast:
    plain = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} <eos>{% endfor %}"
    return tokenizer


def make_model() -> LlamaForCausalLM:
    size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(WORDS), max_position_embeddings=64, **size))
