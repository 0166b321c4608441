"""Tiny models with random weights, saved as transformers saves them."""

import json
from pathlib import Path

WORDS = ["a", "photo", "of", "red", "blue", "thing", "cat", "dog", "the", "on", "mat", "sits"]
SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}


def save_clip(folder: Path, *, images: int = 16) -> str:
    """Save a CLIP model with its processor."""
    import torch
    import transformers

    vocabulary = {"<|startoftext|>": 0, "<|endoftext|>": 1, "<unk>": 2}
    for word in WORDS:
        for letter in (*word[:-1], f"{word[-1]}</w>"):
            vocabulary.setdefault(letter, len(vocabulary))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n", "utf-8")
    tokenizer = transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=32)
    config = transformers.CLIPConfig(
        text_config={**SIZES, "vocab_size": 64, "max_position_embeddings": 32, "eos_token_id": 1, "bos_token_id": 0},
        vision_config={**SIZES, "image_size": images, "patch_size": 8},
        projection_dim=8,
    )
    torch.manual_seed(0)
    transformers.CLIPModel(config).save_pretrained(folder)
    processor = transformers.CLIPProcessor(image_processor=clip_images(images), tokenizer=tokenizer)
    processor.save_pretrained(folder)
    return str(folder)


def clip_images(size: int):
    """The image processor of a CLIP model."""
    import transformers

    sizes = {"size": {"shortest_edge": size}, "crop_size": {"height": size, "width": size}}
    return transformers.CLIPImageProcessor(**sizes)


def save_vit(folder: Path, labels: list[str], *, seed: int = 0) -> str:
    """Save a ViT that classifies images, with its processor."""
    import torch
    import transformers

    torch.manual_seed(seed)
    names = dict(enumerate(labels))
    config = transformers.ViTConfig(
        **SIZES, image_size=16, patch_size=8, id2label=names, label2id={name: number for number, name in names.items()}
    )
    transformers.ViTForImageClassification(config).save_pretrained(folder)
    transformers.ViTImageProcessor(size={"height": 16, "width": 16}).save_pretrained(folder)
    return str(folder)


def save_aesthetics(folder: Path, kind: str = "AestheticsPredictorV2Linear") -> str:
    """Save an aesthetics predictor with the layout of the package simple-aesthetics-predictor."""
    import torch

    predictor = aesthetics_class(kind)
    torch.manual_seed(1)
    from transformers import CLIPVisionConfig

    predictor(CLIPVisionConfig(**SIZES, image_size=16, patch_size=8, projection_dim=8)).save_pretrained(folder)
    clip_images(16).save_pretrained(folder)
    return str(folder)


def aesthetics_class(kind: str):
    """A predictor of the package simple-aesthetics-predictor, written again."""
    import torch
    from transformers import CLIPVisionModelWithProjection

    def layers(width: int) -> list:
        linear = [torch.nn.Linear(width, 6), torch.nn.Linear(6, 4), torch.nn.Linear(4, 1)]
        if kind == "AestheticsPredictorV2ReLU":
            return [linear[0], torch.nn.ReLU(), torch.nn.Dropout(0.2), linear[1], torch.nn.ReLU(), linear[2]]
        return [linear[0], torch.nn.Dropout(0.2), linear[1], torch.nn.Dropout(0.1), linear[2]]

    class Predictor(CLIPVisionModelWithProjection):
        def __init__(self, config):
            super().__init__(config)
            if kind == "AestheticsPredictorV1":
                self.predictor = torch.nn.Linear(config.projection_dim, 1)
            else:
                self.layers = torch.nn.Sequential(*layers(config.projection_dim))
            self.post_init()

        def score(self, pixel_values):
            vectors = self.forward(pixel_values=pixel_values).image_embeds
            vectors = vectors / vectors.norm(dim=-1, keepdim=True)
            return (self.predictor if kind == "AestheticsPredictorV1" else self.layers)(vectors)

    Predictor.__name__ = kind
    return Predictor


def save_tokenizer(folder: Path, *, length: int = 64) -> str:
    """Save a tokenizer of whole words."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {name: number for number, name in enumerate(["<unk>", "<pad>", "<cls>", "<sep>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        pad_token="<pad>",
        cls_token="<cls>",
        sep_token="<sep>",
        model_max_length=length,
    )
    fast.save_pretrained(folder)
    return str(folder)


def save_causal_lm(folder: Path) -> str:
    """Save a causal language model with its tokenizer."""
    import torch
    import transformers

    torch.manual_seed(2)
    config = transformers.LlamaConfig(
        **SIZES, num_key_value_heads=2, vocab_size=20, max_position_embeddings=32, pad_token_id=1
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return save_tokenizer(folder)


def save_encoder(folder: Path) -> str:
    """Save an encoder of texts with its tokenizer."""
    import torch
    import transformers

    torch.manual_seed(3)
    config = transformers.BertConfig(**SIZES, vocab_size=20, max_position_embeddings=16, pad_token_id=1)
    transformers.BertModel(config).save_pretrained(folder)
    return save_tokenizer(folder)


def save_blip_matching(folder: Path) -> str:
    """Save a BLIP model for retrieval with its processor."""
    import torch
    import transformers

    torch.manual_seed(4)
    config = transformers.BlipConfig(
        text_config={
            **SIZES,
            "vocab_size": 20,
            "max_position_embeddings": 16,
            "encoder_hidden_size": 16,
            "pad_token_id": 1,
        },
        vision_config={**SIZES, "image_size": 16, "patch_size": 8},
        projection_dim=8,
        image_text_hidden_size=8,
    )
    transformers.BlipForImageTextRetrieval(config).save_pretrained(folder)
    transformers.BlipImageProcessor(size={"height": 16, "width": 16}).save_pretrained(folder)
    return save_tokenizer(folder)


def save_blip_captioner(folder: Path) -> str:
    """Save a BLIP model that captions images with its processor."""
    import torch
    import transformers

    torch.manual_seed(5)
    numbers = {"pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3}
    config = transformers.BlipConfig(
        text_config={**SIZES, "vocab_size": 16, "max_position_embeddings": 32, "encoder_hidden_size": 16, **numbers},
        vision_config={**SIZES, "image_size": 16, "patch_size": 8},
        projection_dim=8,
    )
    transformers.BlipForConditionalGeneration(config).save_pretrained(folder)
    save_tokenizer(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    images = transformers.BlipImageProcessor(size={"height": 16, "width": 16})
    transformers.BlipProcessor(images, tokenizer).save_pretrained(folder)
    return str(folder)


def save_ast(folder: Path, labels: list[str]) -> str:
    """Save an Audio Spectrogram Transformer with its feature extractor."""
    import torch
    import transformers

    torch.manual_seed(6)
    names = dict(enumerate(labels))
    shape = {"num_mel_bins": 32, "max_length": 64}
    config = transformers.ASTConfig(
        **SIZES, **shape, patch_size=8, id2label=names, label2id={name: number for number, name in names.items()}
    )
    transformers.ASTForAudioClassification(config).save_pretrained(folder)
    transformers.ASTFeatureExtractor(**shape).save_pretrained(folder)
    return str(folder)


def save_wav2vec(folder: Path, labels: list[str]) -> str:
    """Save a Wav2Vec2 model with a head for classes, which takes sounds of any length."""
    import torch
    import transformers

    torch.manual_seed(7)
    names = dict(enumerate(labels))
    layers = {"conv_dim": (8, 8), "conv_kernel": (8, 4), "conv_stride": (8, 4), "num_feat_extract_layers": 2}
    convolutions = {"num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}
    config = transformers.Wav2Vec2Config(
        **SIZES,
        **layers,
        **convolutions,
        classifier_proj_size=8,
        id2label=names,
        label2id={name: number for number, name in names.items()},
    )
    transformers.Wav2Vec2ForSequenceClassification(config).save_pretrained(folder)
    transformers.Wav2Vec2FeatureExtractor().save_pretrained(folder)
    return str(folder)


def save_text_classifier(folder: Path, labels: list[str]) -> str:
    """Save a model that classifies texts with its tokenizer."""
    import torch
    import transformers

    torch.manual_seed(8)
    names = dict(enumerate(labels))
    config = transformers.BertConfig(
        **SIZES,
        vocab_size=20,
        max_position_embeddings=16,
        pad_token_id=1,
        id2label=names,
        label2id={name: number for number, name in names.items()},
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return save_tokenizer(folder)


def save_yolos(folder: Path, labels: list[str]) -> str:
    """Save a YOLOS model that detects objects, with its processor."""
    import torch
    import transformers

    torch.manual_seed(9)
    names = dict(enumerate(labels))
    config = transformers.YolosConfig(
        **SIZES,
        image_size=[32, 32],
        patch_size=8,
        num_detection_tokens=6,
        id2label=names,
        label2id={name: number for number, name in names.items()},
    )
    transformers.YolosForObjectDetection(config).save_pretrained(folder)
    transformers.YolosImageProcessor(size={"shortest_edge": 32, "longest_edge": 64}).save_pretrained(folder)
    return str(folder)
