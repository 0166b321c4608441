"""Packs with Accelerate, Hugging Face's Trainer, TRL and torchdata, and a model of transformers on them."""

import numpy as np
import pytest

import chat
import jinx

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", reason="run: make test-trainers")
pytest.importorskip("accelerate", reason="run: make test-trainers")

from jinx.torch import PackedDataLoader, PackedDataset, token_loss  # noqa: E402

COUNT, LENGTH = 40, 96
pytestmark = [pytest.mark.timeout(300), pytest.mark.filterwarnings("default")]  # theirs are not ours to fix


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    chat.write_tokenizer(folder / "tokenizer")
    chat.write_chat(folder / "chat.jinx", COUNT)
    jinx.annotate(folder / "chat.jinx", folder / "tokens.jinx", tokenizer=folder / "tokenizer", tokens=True)
    return folder


@pytest.fixture
def packs(folder):
    return PackedDataset(jinx.open(folder / "tokens.jinx"), {"max_length": LENGTH})


@pytest.fixture
def model():
    torch.manual_seed(0)
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    vocabulary = len(chat.SPECIAL) + len(chat.WORDS)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=vocabulary, **size))


def test_a_model_of_transformers_keeps_samples_apart_by_their_positions(packs, folder, model):
    dataset = jinx.open(folder / "tokens.jinx")
    with torch.no_grad():
        for batch in PackedDataLoader(dataset, packs.plan, num_workers=0):
            logits = model(input_ids=batch["input_ids"], position_ids=batch["position_ids"], use_cache=False).logits
            packed = token_loss(logits, batch["labels"], batch["num_label_tokens"]).item()
            alone = 0.0
            for i in batch["sample_ids"].tolist():
                ids = torch.from_numpy(dataset[i]["input_ids"].astype(np.int64))[None]
                labels = torch.where(torch.from_numpy(dataset[i]["label_mask"])[None], ids, -100)
                logits = model(input_ids=ids, use_cache=False).logits
                alone += token_loss(logits, labels, batch["num_label_tokens"]).item()
            assert packed == pytest.approx(alone, abs=1e-5)


def test_ids_and_labels_are_those_of_transformers(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "tokenizer")
    for sample in jinx.open(folder / "tokens.jinx"):
        messages = sample.to_dict()["messages"]
        made = tokenizer.apply_chat_template(messages, return_dict=True, return_assistant_tokens_mask=True)
        assert sample["input_ids"].tolist() == made["input_ids"]
        assert sample["label_mask"].tolist() == [bool(flag) for flag in made["assistant_masks"]]


def test_trainer(packs, model, tmp_path):
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        per_device_train_batch_size=2,
        max_steps=3,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        remove_unused_columns=False,
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(model, arguments, train_dataset=packs, data_collator=packs.collate)
    assert trainer.train().training_loss > 0


def test_trl(packs, model, folder, tmp_path):
    trl = pytest.importorskip("trl", reason="run: make test-trainers")
    arguments = trl.SFTConfig(
        output_dir=str(tmp_path),
        per_device_train_batch_size=2,
        max_steps=3,
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        remove_unused_columns=False,
        disable_tqdm=True,
        gradient_checkpointing=False,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "tokenizer")
    trainer = trl.SFTTrainer(
        model,
        args=arguments,
        train_dataset=packs.to_hf(),
        data_collator=packs.collate,
        processing_class=tokenizer,
    )
    assert trainer.train().training_loss > 0


def test_accelerate(packs, model, folder):
    accelerate = pytest.importorskip("accelerate", reason="run: make test-trainers")
    accelerator = accelerate.Accelerator(cpu=True)
    loader = torch.utils.data.DataLoader(packs, 2, collate_fn=packs.collate)
    _, prepared = accelerator.prepare(model, loader)
    assert sorted(i for batch in prepared for i in batch["sample_ids"].tolist()) == list(range(COUNT))
    # What shards by itself stays as it is.
    own = PackedDataLoader(jinx.open(folder / "tokens.jinx"), packs.plan, num_workers=0)
    assert accelerator.prepare(own) is own


def test_stateful_data_loader(packs):
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    whole = [batch["sample_ids"].tolist() for batch in stateful.StatefulDataLoader(packs, 2, collate_fn=packs.collate)]
    first = stateful.StatefulDataLoader(packs, 2, collate_fn=packs.collate)
    iterator = iter(first)
    seen = [next(iterator)["sample_ids"].tolist()]
    second = stateful.StatefulDataLoader(packs, 2, collate_fn=packs.collate)
    second.load_state_dict(first.state_dict())
    assert seen + [batch["sample_ids"].tolist() for batch in second] == whole


def test_the_loader_is_what_checkpoints_of_torch_take(packs, folder):
    from torch.distributed.checkpoint.stateful import Stateful

    assert isinstance(PackedDataLoader(jinx.open(folder / "tokens.jinx"), packs.plan, num_workers=0), Stateful)
