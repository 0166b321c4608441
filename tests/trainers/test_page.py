"""The page about trainers runs as it stands there, with tiny models."""

from importlib.util import find_spec

import pytest

import chat
import jinx
import pages

GIVEN = """
import os, sys
sys.path.insert(0, {directory!r})
os.environ |= {{"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}}
import torch
from ranks import Seen, make_module
from tiny import make_model, make_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM
model, module, tokenizer = Seen(), make_module(), make_tokenizer()
tiny = {{"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}}
causal_model = LlamaForCausalLM(LlamaConfig(vocab_size=80, **tiny))
optimizer = torch.optim.SGD(model.parameters(), 1e-6)
"""
# What the page leaves to its reader: a model of the right kind, a machine without an accelerator, and a short run.
HERE = {
    "SFTTrainer(model,": "SFTTrainer(make_model(),",
    "SFTConfig(": "SFTConfig(use_cpu=True, bf16=False, max_steps=1, ",
    "TrainingArguments(": "TrainingArguments(use_cpu=True, max_steps=1, ",
}


@pytest.mark.timeout(300)
def test_the_page_about_trainers(numbers, tmp_path):
    if find_spec("trl") is None:
        pytest.skip("trl is not installed; run: make test-trainers")
    codes = []
    for block in pages.blocks("docs/how-to/trainers.md", "python"):
        code = block
        for there, here in HERE.items():
            code = code.replace(there, here)
        codes.append(f"{code}\ntrainer.train()\n" if "trainer =" in code else code)
    assert sum("trainer.train()" in code for code in codes) == 3
    jinx.convert(numbers, tmp_path / "out.jinx")
    chat.write_tokenizer(tmp_path / "model")
    chat.write_chat(tmp_path / "chat.jinx", 20)
    rule = "fixed:16"
    jinx.annotate(tmp_path / "chat.jinx", tmp_path / "lengths.jinx", tokenizer=tmp_path / "model", image_rule=rule)
    pages.run(tmp_path, codes, before=GIVEN.format(directory=str(pages.ROOT / "tests" / "trainers")))
