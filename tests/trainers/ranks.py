"""What each rank of a 2-process run does; started by `torchrun` or by the tests, one process each.

Every trainer counts which samples its rank saw and writes them to `OUT/RANK.json`.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, DistributedSampler

import jinx
import jinx.torch

BATCH = 4


class Seen(torch.nn.Module):
    """A linear model that notes the samples it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.numbers: list[int] = []

    def forward(self, n: torch.Tensor, **_: Any) -> dict[str, torch.Tensor]:
        if self.training:
            self.numbers += n.tolist()
        return {"loss": self.layer(n.float()[:, None]).square().mean()}


def finish(out: Path, numbers: list[int]) -> None:
    rank = int(os.environ.get("RANK", "0"))
    (out / f"{rank}.json").write_text(json.dumps(numbers), "utf-8")


def ddp(path: str, out: Path) -> None:
    """Plain torch with a `DistributedSampler`."""
    torch.distributed.init_process_group("gloo")
    ds = jinx.open(path)
    sampler = DistributedSampler(ds, shuffle=True, seed=1)  # pyright: ignore[reportArgumentType]
    loader = DataLoader(ds, BATCH, sampler=sampler, num_workers=1, collate_fn=jinx.torch.collate)
    seen = Seen()
    model = torch.nn.parallel.DistributedDataParallel(seen)
    for batch in loader:
        model(batch["n"])["loss"].backward()
    torch.distributed.barrier()
    finish(out, seen.numbers)


def shard(path: str, out: Path) -> None:
    """Views made by `shard(remainder="pad")`, in place of a sampler."""
    torch.distributed.init_process_group("gloo")
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    ds = jinx.open(path).shuffle(1).shard(num_shards=size, index=rank, remainder="pad")
    seen = Seen()
    model = torch.nn.parallel.DistributedDataParallel(seen)
    for batch in DataLoader(ds, BATCH, collate_fn=jinx.torch.collate):
        model(batch["n"])["loss"].backward()
    torch.distributed.barrier()
    finish(out, seen.numbers)


def accelerate(path: str, out: Path) -> None:
    """Accelerate's `prepare`."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    seen = Seen()
    loader = DataLoader(jinx.open(path), BATCH, shuffle=True, collate_fn=jinx.torch.collate)
    model, optimizer, loader = accelerator.prepare(seen, torch.optim.SGD(seen.parameters(), 1e-6), loader)
    for batch in loader:
        accelerator.backward(model(batch["n"])["loss"])
        optimizer.step()
        optimizer.zero_grad()
    accelerator.wait_for_everyone()
    finish(out, seen.numbers)


def make_module() -> Any:
    """The same model as Lightning wants it."""
    from lightning import LightningModule

    class Module(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.seen = Seen()

        def training_step(self, batch: dict[str, Any]) -> torch.Tensor:
            return self.seen(batch["n"])["loss"]

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 1e-6)

    return Module()


def lightning(path: str, out: Path) -> None:
    """Lightning puts its own sampler around the dataset."""
    from lightning import Trainer

    module = make_module()
    trainer = Trainer(
        max_epochs=1,
        accelerator="cpu",
        devices=1,
        num_nodes=2,
        strategy="ddp",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    loader = DataLoader(jinx.open(path), BATCH, shuffle=True, collate_fn=jinx.torch.collate)
    trainer.fit(module, loader)
    finish(out, module.seen.numbers)


def hf_trainer(path: str, out: Path) -> None:
    """Hugging Face's `Trainer` with the dataset as it is."""
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        output_dir=str(out / "work"),
        per_device_train_batch_size=BATCH,
        num_train_epochs=1,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        remove_unused_columns=False,
        disable_tqdm=True,
    )
    seen = Seen()
    trainer = Trainer(model=seen, args=arguments, train_dataset=jinx.open(path), data_collator=jinx.torch.collate)  # pyright: ignore[reportArgumentType]
    trainer.train()
    finish(out, seen.numbers)


def trl(path: str, out: Path) -> None:
    """TRL's `SFTTrainer` with a tiny random model and a tokenizer made on the spot, from conversations in the file."""
    from tiny import make_model, make_tokenizer
    from trl import SFTConfig, SFTTrainer

    arguments = SFTConfig(
        output_dir=str(out / "work"),
        per_device_train_batch_size=BATCH,
        max_steps=3,
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        max_length=32,
        gradient_checkpointing=False,
    )
    dataset = jinx.open(path).select_columns(["messages"]).to_hf()
    trainer = SFTTrainer(make_model(), args=arguments, train_dataset=dataset, processing_class=make_tokenizer())
    result = trainer.train()
    finish(out, [trainer.state.global_step, int(result.training_loss > 0)])


if __name__ == "__main__":
    name, path, out = sys.argv[1:]
    {f.__name__: f for f in (ddp, shard, accelerate, lightning, hf_trainer, trl)}[name](path, Path(out))
    # Gloo's threads drop tensors through Python: one that is late, while the interpreter ends, aborts the process.
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
