"""Train a tiny vision-language model on packed batches: synthetic data, random weights, exact resumption.

    python examples/train_vlm.py --work vlm --steps 40
    python examples/train_vlm.py --work vlm --steps 80            # continues from the last checkpoint
    torchrun --nproc-per-node 2 examples/train_vlm.py --work vlm --steps 120      # two ranks do so, too

Its steps are those of a real run: `jinx convert`, `jinx annotate`, `jinx.pack`, `PackedDataLoader`, checkpoints with
the state of the loader. It needs torch, tokenizers, jinja2, Pillow and pyarrow.
"""

import argparse
import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import nn

import draw
import jinx
import jinx.torch

MAX_LENGTH, MAX_IMAGES, ACCUMULATION = 256, 4, 2
IMAGE_TOKENS, IMAGE_SIDE, WIDTH, HEADS = 16, 64, 32, 2
PATCH = IMAGE_SIDE * IMAGE_SIDE * 3 // IMAGE_TOKENS
TEMPLATE = (
    "{% for message in messages %}<{{ message.role }}> {% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content[0].text }} <end>{% endgeneration %}{% else %}"
    "{% for part in message.content %}{{ '<image>' if part.type == 'image' else part.text }} {% endfor %}{% endif %}"
    " {% endfor %}"
)


def main() -> None:
    """Make the data if it is not there, then train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="directory of data, checkpoint and log")
    parser.add_argument("--samples", type=int, default=200, help="how many images to draw")
    parser.add_argument("--steps", type=int, default=40, help="optimiser steps")
    parser.add_argument("--checkpoint-every", type=int, default=5, help="steps between checkpoints")
    options = parser.parse_args()
    if "RANK" in os.environ:
        torch.distributed.init_process_group("gloo")
    if int(os.environ.get("RANK", "0")) == 0:
        prepare(options.work, options.samples)
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
    train(options.work, options.steps, options.checkpoint_every)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def prepare(work: Path, samples: int) -> None:
    """Parquet -> JINX -> lengths."""
    work.mkdir(parents=True, exist_ok=True)
    if (work / "lengths.jinx").exists():
        return
    draw.write_parquet(work / "in.parquet", samples=samples)
    jinx.convert(work / "in.parquet", work / "train.jinx", overwrite=True)
    make_tokenizer(work / "tokenizer", jinx.open(work / "train.jinx"))
    jinx.annotate(
        work / "train.jinx", work / "lengths.jinx", tokenizer=work / "tokenizer", image_rule=f"fixed:{IMAGE_TOKENS}"
    )


def make_tokenizer(folder: Path, dataset: jinx.Dataset) -> None:
    """A tokenizer of the words in the data, with a chat template."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    special = ["<pad>", "<unknown>", "<end>", "<user>", "<assistant>", "<image>"]
    cut = pre_tokenizers.Whitespace()
    texts = [part["text"] for talk in dataset["messages"] for said in talk for part in said["content"] if part["text"]]
    words = sorted({word for text in texts for word, _ in cut.pre_tokenize_str(text)})
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate([*special, *words])}, "<unknown>"))
    tokenizer.pre_tokenizer = cut
    tokenizer.add_special_tokens(special)
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"pad_token": "<pad>", "eos_token": "<end>", "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")


def pixels(data: bytes) -> torch.Tensor:
    """An image as float32 of shape (64, 64, 3), between 0 and 1."""
    image = Image.open(BytesIO(data)).convert("RGB").resize((IMAGE_SIDE, IMAGE_SIDE))
    return torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).reshape(IMAGE_SIDE, IMAGE_SIDE, 3) / 255


class Block(nn.Module):
    """Attention and a feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The next hidden states, of shape (batch, tokens, width)."""
        shape = *hidden.shape[:2], HEADS, WIDTH // HEADS
        q, k, v = (x.reshape(shape).transpose(1, 2) for x in self.qkv(self.norms[0](hidden)).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        hidden = hidden + self.out(mixed.transpose(1, 2).reshape(hidden.shape))
        return hidden + self.feed(self.norms[1](hidden))


class TinyVlm(nn.Module):
    """A transformer whose image tokens are patches of images. Random weights, a few thousand of them."""

    def __init__(self, vocabulary: int, image_token: int, layers: int = 2) -> None:
        super().__init__()
        self.image_token = image_token
        self.tokens, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(MAX_LENGTH, WIDTH)
        self.vision = nn.Linear(PATCH, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(layers)])
        self.head = nn.Linear(WIDTH, vocabulary)

    def forward(self, batch: dict[str, Any]) -> torch.Tensor:
        """Logits of shape (batch, tokens, vocabulary)."""
        ids, owners = batch["input_ids"], batch["image_sequence_ids"]
        hidden = self.tokens(ids)
        if len(owners):
            seen = self.vision(torch.stack(batch["images"]).reshape(len(owners), IMAGE_TOKENS, PATCH))
            if (owners > 0).all():
                hidden = hidden.masked_scatter((ids == self.image_token)[..., None], seen)
            else:  # a filler image: it gives the vision layer a gradient of 0, which the other ranks wait for
                hidden = hidden + 0 * seen.sum()
        hidden = hidden + self.places(batch["position_ids"])
        for block in self.blocks:
            hidden = block(hidden, batch["attention_mask"])
        return self.head(hidden)


def make_loader(work: Path) -> jinx.torch.PackedDataLoader:
    """Packs of the data, for this rank."""
    dataset = jinx.open(work / "lengths.jinx")
    return jinx.torch.PackedDataLoader(
        dataset,
        jinx.pack(dataset, max_length=MAX_LENGTH, max_images=MAX_IMAGES, seed=1),
        accumulation=ACCUMULATION,
        tokenizer=work / "tokenizer",
        image_rule=f"fixed:{IMAGE_TOKENS}",
        image_fn=pixels,
        filler_image=torch.zeros(IMAGE_SIDE, IMAGE_SIDE, 3),
        attention_mask="block",
    )


def train(work: Path, steps: int, checkpoint_every: int) -> None:
    """Train to a number of steps from the last checkpoint, and write `STEP LOSS` of each step to `log.txt`."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = make_loader(work)
    vocabulary = json.loads((work / "tokenizer" / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    model = TinyVlm(len(vocabulary), vocabulary["<image>"])
    optimiser = torch.optim.AdamW(model.parameters(), 3e-3)
    saved, step = work / "checkpoint.pt", 0
    log: list[str] = []
    if saved.exists():
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        loader.load_state_dict(state["loader"])
        step, log = state["step"], state["log"]
    wrapped = nn.parallel.DistributedDataParallel(model) if torch.distributed.is_initialized() else model
    while step < steps:
        total = 0.0
        for micro_step, batch in enumerate(loader, 1):
            logits = wrapped(batch)
            loss = jinx.torch.token_loss(logits, batch["labels"], batch["num_label_tokens_step"])
            (loss * loader.world_size).backward()  # because gradients are averaged over ranks
            total += summed(loss.detach())
            if micro_step % ACCUMULATION:
                continue
            optimiser.step()
            optimiser.zero_grad()
            step += 1
            log.append(f"{step} {total:.6f}")
            total = 0.0
            if loader.rank == 0:
                (work / "log.txt").write_text("\n".join(log) + "\n", "utf-8")
                if step % checkpoint_every == 0:
                    state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step, "log": log}
                    torch.save({**state, "loader": loader.state_dict()}, work / "checkpoint.tmp")
                    (work / "checkpoint.tmp").replace(saved)
            if step == steps:
                break
    if loader.rank == 0:
        print(f"{step} steps, last loss {log[-1].split()[1]}; {loader.stats()}")


def summed(loss: torch.Tensor) -> float:
    """The sum over all ranks, for the log."""
    if torch.distributed.is_initialized():
        torch.distributed.all_reduce(loss)
    return loss.item()


if __name__ == "__main__":
    main()
