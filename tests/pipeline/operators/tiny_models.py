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


def save_whisper(folder: Path, languages: list[str]) -> str:
    """Save a Whisper model for windows of one second; without languages, one that does not tell them."""
    import torch
    import transformers

    torch.manual_seed(10)
    tokens = [
        "<|start|>",
        *[f"<|{code}|>" for code in languages],
        "<|transcribe|>",
        "<|translate|>",
        "<|notimestamps|>",
    ]
    numbers = {name: 4 + len(WORDS) + number for number, name in enumerate(tokens)}
    config = transformers.WhisperConfig(
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        vocab_size=4 + len(WORDS) + len(tokens),
        max_source_positions=50,
        max_target_positions=32,
        pad_token_id=1,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=numbers["<|start|>"],
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    model = transformers.WhisperForConditionalGeneration(config)
    facts = {"no_timestamps_token_id": numbers["<|notimestamps|>"], "is_multilingual": bool(languages)}
    facts["suppress_tokens"] = [0, 1, 2, 3, *numbers.values()]  # only words
    if languages:
        facts["lang_to_id"] = {f"<|{code}|>": numbers[f"<|{code}|>"] for code in languages}
        facts["task_to_id"] = {name: numbers[f"<|{name}|>"] for name in ("transcribe", "translate")}
    model.save_pretrained(folder)
    file = folder / "generation_config.json"
    stored = json.loads(file.read_text("utf-8"))
    stored.pop("_from_model_config", None)  # otherwise other facts are ignored
    file.write_text(json.dumps({**stored, **facts}), "utf-8")
    save_tokenizer(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": tokens})
    tokenizer.save_pretrained(folder)
    transformers.WhisperFeatureExtractor(chunk_length=1).save_pretrained(folder)
    return str(folder)


def tiny_wav2vec_config(**fields):
    """The configuration of a tiny Wav2Vec2 model, which takes sounds of any length."""
    import transformers

    layers = {"conv_dim": (8, 8), "conv_kernel": (8, 4), "conv_stride": (8, 4), "num_feat_extract_layers": 2}
    convolutions = {"num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}
    return transformers.Wav2Vec2Config(**SIZES, **layers, **convolutions, **fields)


def save_wav2vec_ctc(folder: Path) -> str:
    """Save a Wav2Vec2 model with a CTC head, and a tokenizer of letters."""
    import torch
    import transformers

    torch.manual_seed(11)
    letters = {name: number for number, name in enumerate(["<pad>", "<s>", "</s>", "<unk>", "|", *"ABCDE"])}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(letters), "utf-8")
    transformers.Wav2Vec2ForCTC(tiny_wav2vec_config(vocab_size=len(letters), pad_token_id=0)).save_pretrained(folder)
    transformers.Wav2Vec2CTCTokenizer(str(folder / "vocab.json")).save_pretrained(folder)
    transformers.Wav2Vec2FeatureExtractor().save_pretrained(folder)
    return str(folder)


def age_gender_class():
    """The model of audEERING's card, written again."""
    import torch
    import transformers

    class Head(torch.nn.Module):
        def __init__(self, width: int, count: int):
            super().__init__()
            self.dense = torch.nn.Linear(width, width)
            self.out_proj = torch.nn.Linear(width, count)

        def forward(self, states):
            return self.out_proj(torch.tanh(self.dense(states)))

    class Wav2Vec2ForSpeechClassification(transformers.Wav2Vec2PreTrainedModel):
        def __init__(self, config):
            super().__init__(config)
            self.wav2vec2 = transformers.Wav2Vec2Model(config)
            self.age = Head(config.hidden_size, 1)
            self.gender = Head(config.hidden_size, 3)
            self.post_init()

        def forward(self, input_values):
            states = self.wav2vec2(input_values)[0].mean(dim=1)
            return self.age(states), self.gender(states).softmax(dim=1)

    return Wav2Vec2ForSpeechClassification


def save_age_gender(folder: Path) -> str:
    """Save a Wav2Vec2 model with heads for age and gender."""
    import torch
    import transformers

    torch.manual_seed(12)
    age_gender_class()(tiny_wav2vec_config()).save_pretrained(folder)
    transformers.Wav2Vec2FeatureExtractor().save_pretrained(folder)
    return str(folder)


def save_owlvit(folder: Path) -> str:
    """Save an OWL-ViT model with its processor."""
    import torch
    import transformers

    torch.manual_seed(13)
    config = transformers.OwlViTConfig(
        text_config={**SIZES, "vocab_size": 20, "max_position_embeddings": 8, "pad_token_id": 1},
        vision_config={**SIZES, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    transformers.OwlViTForObjectDetection(config).save_pretrained(folder)
    transformers.OwlViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    return save_tokenizer(folder, length=8)


def save_sam(folder: Path) -> str:
    """Save a SAM model with its processor."""
    import torch
    import transformers

    torch.manual_seed(14)
    config = transformers.SamConfig(
        vision_config={
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 64,
            "patch_size": 8,
            "mlp_dim": 32,
            "output_channels": 16,
            "num_pos_feats": 8,
            "window_size": 4,
            "global_attn_indexes": [0],
        },
        prompt_encoder_config={"hidden_size": 16, "image_size": 64, "patch_size": 8, "mask_input_channels": 4},
        mask_decoder_config={
            "hidden_size": 16,
            "mlp_dim": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "iou_head_hidden_dim": 16,
            "iou_head_depth": 2,
        },
    )
    transformers.SamModel(config).save_pretrained(folder)
    sizes = {"size": {"longest_edge": 64}, "pad_size": {"height": 64, "width": 64}}
    transformers.SamImageProcessor(**sizes, mask_size={"longest_edge": 16}).save_pretrained(folder)
    return str(folder)


def save_depth(folder: Path, *, metric: bool = False) -> str:
    """Save a Depth Anything model with its processor."""
    import torch
    import transformers

    torch.manual_seed(15)
    config = transformers.DepthAnythingConfig(
        backbone_config=transformers.Dinov2Config(
            hidden_size=16,
            num_hidden_layers=4,
            num_attention_heads=2,
            mlp_ratio=2,
            image_size=28,
            patch_size=14,
            out_features=["stage1", "stage2", "stage3", "stage4"],
            reshape_hidden_states=False,
        ),
        patch_size=14,
        reassemble_hidden_size=16,
        neck_hidden_sizes=[8, 8, 8, 8],
        fusion_hidden_size=8,
        head_hidden_size=8,
        depth_estimation_type="metric" if metric else "relative",
        max_depth=20 if metric else 1,
    )
    transformers.DepthAnythingForDepthEstimation(config).save_pretrained(folder)
    transformers.DPTImageProcessor(
        size={"height": 28, "width": 28}, keep_aspect_ratio=True, ensure_multiple_of=14
    ).save_pretrained(folder)
    return str(folder)


def save_vitpose(folder: Path, keypoints: int) -> str:
    """Save a ViTPose model with its processor."""
    import torch
    import transformers

    torch.manual_seed(16)
    config = transformers.VitPoseConfig(
        backbone_config=transformers.VitPoseBackboneConfig(
            image_size=[32, 24],
            patch_size=[8, 8],
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            mlp_ratio=2,
            out_features=["stage1"],
        ),
        num_labels=keypoints,
        id2label={number: str(number) for number in range(keypoints)},
    )
    transformers.VitPoseForPoseEstimation(config).save_pretrained(folder)
    transformers.VitPoseImageProcessor(size={"height": 32, "width": 24}).save_pretrained(folder)
    return str(folder)


CHAT_TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% elif part['type'] == 'audio' %}<|AUDIO|>"
    "{% else %}{{ part['text'] }}{% endif %} {% endfor %}{% endfor %}"
)


def tokenizer_with(folder: Path, *special: str):
    """A tokenizer of whole words with other tokens, saved in a folder."""
    import transformers

    save_tokenizer(folder, length=256)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": list(special)})
    tokenizer.save_pretrained(folder)
    return tokenizer


TEXT_SIZES = {**SIZES, "num_key_value_heads": 2, "max_position_embeddings": 256, "pad_token_id": 1, "eos_token_id": 3}


def save_llava(folder: Path) -> str:
    """Save a LLaVA model with its processor."""
    import torch
    import transformers

    torch.manual_seed(17)
    tokenizer = tokenizer_with(folder, "<image>")
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**SIZES, image_size=16, patch_size=8, projection_dim=8),
        text_config=transformers.LlamaConfig(**TEXT_SIZES, vocab_size=len(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)
    transformers.LlavaProcessor(
        image_processor=clip_images(16),
        tokenizer=tokenizer,
        patch_size=8,
        num_additional_image_tokens=1,
        vision_feature_select_strategy="default",
        chat_template=CHAT_TEMPLATE,
    ).save_pretrained(folder)
    return str(folder)


def save_qwen_audio(folder: Path) -> str:
    """Save a Qwen2-Audio model for sounds of one second, with its processor."""
    import torch
    import transformers

    torch.manual_seed(18)
    tokenizer = tokenizer_with(folder, "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>")
    config = transformers.Qwen2AudioConfig(
        audio_config=transformers.Qwen2AudioEncoderConfig(
            num_mel_bins=32,
            encoder_layers=1,
            encoder_attention_heads=2,
            encoder_ffn_dim=32,
            d_model=16,
            max_source_positions=50,
        ),
        text_config=transformers.Qwen2Config(**TEXT_SIZES, vocab_size=len(tokenizer)),
        audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
    )
    transformers.Qwen2AudioForConditionalGeneration(config).save_pretrained(folder)
    sounds = transformers.WhisperFeatureExtractor(feature_size=32, chunk_length=1)
    transformers.Qwen2AudioProcessor(
        feature_extractor=sounds, tokenizer=tokenizer, chat_template=CHAT_TEMPLATE
    ).save_pretrained(folder)
    return str(folder)


def save_blip2(folder: Path) -> str:
    """Save a BLIP-2 model with its processor."""
    import torch
    import transformers

    torch.manual_seed(19)
    tokenizer = tokenizer_with(folder, "<image>")
    config = transformers.Blip2Config(
        vision_config={**SIZES, "image_size": 16, "patch_size": 8},
        qformer_config={**SIZES, "vocab_size": 20, "encoder_hidden_size": 16},
        text_config=transformers.OPTConfig(
            hidden_size=16,
            word_embed_proj_dim=16,
            ffn_dim=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=64,
            vocab_size=len(tokenizer),
            pad_token_id=1,
            bos_token_id=2,
            eos_token_id=3,
        ),
        num_query_tokens=4,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    transformers.Blip2ForConditionalGeneration(config).save_pretrained(folder)
    transformers.BlipImageProcessor(size={"height": 16, "width": 16}).save_pretrained(folder)
    return str(folder)


def save_t5(folder: Path) -> str:
    """Save a T5 model with its tokenizer."""
    import torch
    import transformers

    torch.manual_seed(20)
    config = transformers.T5Config(
        vocab_size=20,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        pad_token_id=1,
        eos_token_id=3,
        decoder_start_token_id=1,
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return save_tokenizer(folder)


def save_diffusion(folder: Path) -> str:
    """Save a Stable Diffusion pipeline."""
    import diffusers
    import torch
    import transformers

    torch.manual_seed(21)
    layers = {"block_out_channels": (8, 8), "norm_num_groups": 4}
    tokenizer = save_clip(folder / "tokenizer")
    text = {**SIZES, "vocab_size": 64, "max_position_embeddings": 32, "eos_token_id": 1, "bos_token_id": 0}
    diffusers.StableDiffusionPipeline(
        vae=diffusers.AutoencoderKL(
            **layers,
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            latent_channels=4,
        ),
        text_encoder=transformers.CLIPTextModel(transformers.CLIPTextConfig(**text)),
        tokenizer=transformers.CLIPTokenizer.from_pretrained(tokenizer),
        unet=diffusers.UNet2DConditionModel(
            **layers,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
            layers_per_block=1,
            attention_head_dim=2,
            cross_attention_dim=16,
            sample_size=8,
        ),
        scheduler=diffusers.DDIMScheduler(num_train_timesteps=50, steps_offset=1, clip_sample=False),
        safety_checker=None,
        feature_extractor=None,
    ).save_pretrained(folder / "pipeline")
    return str(folder / "pipeline")
