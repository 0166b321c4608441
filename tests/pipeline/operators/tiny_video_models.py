"""Tiny models with random weights for operators on videos, and a tiny Stable Diffusion XL."""

import json
from pathlib import Path

from pipeline.operators.tiny_models import SIZES, save_clip


def save_text_detector(folder: Path) -> str:
    """Save a PP-OCRv5 model that detects text, with the facts of its processor."""
    import torch
    import transformers

    torch.manual_seed(30)
    backbone = {
        "embedding_size": 8,
        "depths": [1, 1, 1, 1],
        "hidden_sizes": [16, 16, 16, 16],
        "stem_channels": [3, 4, 8],
        "stage_in_channels": [8, 16, 16, 16],
        "stage_mid_channels": [8, 8, 8, 8],
        "stage_out_channels": [16, 16, 16, 16],
        "stage_num_blocks": [1, 1, 1, 1],
        "stage_numb_of_layers": [1, 1, 1, 1],
        "stage_light_block": [False] * 4,
        "stage_kernel_size": [3, 3, 3, 3],
        "out_features": ["stage1", "stage2", "stage3", "stage4"],
    }
    sizes = (("long", 7), ("mid", 5), ("short", 3))
    config = transformers.PPOCRV5ServerDetConfig(
        backbone_config=transformers.HGNetV2Config(**backbone),
        neck_out_channels=16,
        intraclass_block_number=4,
        intraclass_block_config={
            "reduce_channel": [1, 1, 0],
            "return_channel": [1, 1, 0],
            **{f"vertical_long_to_small_conv_{name}ratio": [[size, 1], [1, 1], [size // 2, 0]] for name, size in sizes},
            **{
                f"horizontal_small_to_long_conv_{name}ratio": [[1, size], [1, 1], [0, size // 2]]
                for name, size in sizes
            },
            **{
                f"symmetric_conv_long_{name}ratio": [[size, size], [1, 1], [size // 2, size // 2]]
                for name, size in sizes
            },
        },
        scale_factor_list=[1, 2, 4, 8],
        kernel_list=[3, 2, 2],
    )
    transformers.PPOCRV5ServerDetForObjectDetection(config).save_pretrained(folder)
    facts = {"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.4], "limit_side_len": 96, "limit_type": "max"}
    kind = {"image_processor_type": "PPOCRV5ServerDetImageProcessor"}
    (folder / "preprocessor_config.json").write_text(json.dumps({**kind, **facts}), "utf-8")
    return str(folder)


def save_sam2(folder: Path) -> str:
    """Save a SAM 2 model for videos."""
    import torch
    import transformers

    torch.manual_seed(31)
    backbone = transformers.Sam2HieraDetConfig(
        hidden_size=8,
        num_attention_heads=1,
        image_size=[64, 64],
        blocks_per_stage=[1, 1, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64],
        num_attention_heads_per_stage=[1, 1, 2, 2],
        window_size_per_stage=[4, 4, 4, 4],
        global_attention_blocks=[3],
        window_positional_embedding_background_size=[2, 2],
    )
    config = transformers.Sam2VideoConfig(
        vision_config=transformers.Sam2VisionConfig(
            backbone_config=backbone,
            backbone_channel_list=[64, 32, 16, 8],
            backbone_feature_sizes=[[16, 16], [8, 8], [4, 4]],
            fpn_hidden_size=128,
        ),
        prompt_encoder_config=transformers.Sam2VideoPromptEncoderConfig(
            hidden_size=128, image_size=64, patch_size=16, mask_input_channels=4
        ),
        mask_decoder_config=transformers.Sam2VideoMaskDecoderConfig(
            hidden_size=128, mlp_dim=32, num_attention_heads=2, iou_head_hidden_dim=16
        ),
        image_size=64,
        num_maskmem=3,
        max_object_pointers_in_encoder=4,
        memory_attention_hidden_size=128,
        memory_attention_num_layers=1,
        memory_attention_feed_forward_hidden_size=32,
        memory_attention_rope_feat_sizes=[4, 4],
        memory_encoder_hidden_size=128,
        memory_encoder_output_channels=64,
        mask_downsampler_embed_dim=128,
        memory_fuser_embed_dim=128,
        memory_fuser_intermediate_dim=32,
    )
    transformers.Sam2VideoModel(config).save_pretrained(folder)
    return str(folder)


def save_sdxl(folder: Path) -> str:
    """Save a Stable Diffusion XL pipeline."""
    import diffusers
    import torch
    import transformers

    torch.manual_seed(32)
    layers = {"block_out_channels": (8, 8), "norm_num_groups": 4}
    tokenizer = transformers.CLIPTokenizer.from_pretrained(save_clip(folder / "tokenizer"))
    numbers = {"vocab_size": 64, "max_position_embeddings": 32, "eos_token_id": 1, "bos_token_id": 0}
    text = transformers.CLIPTextConfig(**SIZES, **numbers, projection_dim=16)
    unet = diffusers.UNet2DConditionModel(
        **layers,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        layers_per_block=1,
        attention_head_dim=(1, 2),
        cross_attention_dim=32,
        sample_size=16,
        addition_embed_type="text_time",
        addition_time_embed_dim=4,
        projection_class_embeddings_input_dim=40,
        use_linear_projection=True,
    )
    for name, weights in unet.named_parameters():
        if "attn2.to_v" in name:
            weights.data *= 100  # otherwise random prompts hardly matter
    vae = diffusers.AutoencoderKL(
        **layers,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
    )
    vae.decoder.conv_out.weight.data *= 50  # nor latents
    diffusers.StableDiffusionXLPipeline(
        vae=vae,
        text_encoder=transformers.CLIPTextModel(text),
        text_encoder_2=transformers.CLIPTextModelWithProjection(text),
        tokenizer=tokenizer,
        tokenizer_2=tokenizer,
        unet=unet,
        scheduler=diffusers.DDIMScheduler(num_train_timesteps=50, steps_offset=1, clip_sample=False),
    ).save_pretrained(folder / "pipeline")
    return str(folder / "pipeline")
