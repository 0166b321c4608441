"""Captions of whole videos and sounds are those that transformers generates with the same model."""

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.audio.waveform import mono_at
from jinx_pipeline.operators.video.frames import sampled_frames, upright
from jinx_pipeline.sample.media import Media
from pipeline.operators.tiny_models import (
    CHAT_TEMPLATE,
    save_ast,
    save_blip2,
    save_blip_captioner,
    save_clip,
    save_llava,
    save_qwen_audio,
    save_t5,
)

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("av")
pytest.importorskip("soundfile")
videos = pytest.importorskip("make_media.videos")
# Importing the libraries takes longer than the tests.
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(240)]

TOKEN, END = "<__dj__video>", "<|__dj__eoc|>"
SAMPLED = {"frame_sampling_method": "uniform", "frame_num": 2}


@pytest.fixture(scope="module")
def media():
    made = [videos.video(frames=frames, sound="aac", size=(32, 32), cuts=()) for frames in (20, 9)]
    return [*made, videos.video(frames=4, size=(32, 32), cuts=())]


def frames_of(data, count=2):
    frames = sampled_frames(Media(data, jp.Roles()), "test", "uniform", count)
    return [upright(frame).convert("RGB") for frame in frames]


def sound_of(data):
    return mono_at(Media(data, jp.Roles()), "test", 16_000)


def texts(name, samples, **parameters):
    operator = jp.create(name, keep_original_sample=False, max_new_tokens=5, **parameters)
    return [sample["text"] for sample in operator(samples)]


def with_captions(*captions):
    return " ".join(f"{f'{TOKEN} {caption}'.strip()} {END}" for caption in captions)


@pytest.mark.parametrize("count", [1, 2])
def test_a_vision_model_sees_the_frames(tmp_path, media, count):
    path = save_llava(tmp_path)
    samples = [
        {"text": f"{TOKEN} one {END} {TOKEN} two", "videos": media[:2], "ask": None},
        {"text": f"{TOKEN}", "videos": media[2:], "ask": "the cat"},
        {"text": "none", "videos": [], "ask": None},
    ]
    options = {"hf_model": path, "prompt": "a photo of", "prompt_key": "ask", "caption_num": count}
    found = texts("video_captioning_from_vlm_mapper", samples, keep_candidate_mode="all", **SAMPLED, **options)
    first, second = (seen(path, frames_of(data), "a photo of", count) for data in media[:2])
    third = seen(path, frames_of(media[2]), "the cat", count)
    expected = [with_captions(one, two) for one, two in zip(first, second, strict=True)]
    assert found == [*expected, *(with_captions(caption) for caption in third)]
    assert any(first + second + third)


def seen(path, frames, prompt, count=1):
    model = transformers.LlavaForConditionalGeneration.from_pretrained(path).eval()
    processor = transformers.AutoProcessor.from_pretrained(path)
    inputs = processor(text=["<image> " * len(frames) + prompt + " "], images=frames, return_tensors="pt")
    ids = model.generate(**inputs, max_new_tokens=5, do_sample=False, num_beams=count, num_return_sequences=count)
    made = processor.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return [text.strip() for text in made]


def test_a_processor_without_a_template_is_refused(tmp_path, media):
    path = save_llava(tmp_path)
    assert CHAT_TEMPLATE
    (tmp_path / "chat_template.jinja").unlink()
    with pytest.raises(ValueError, match="no template for conversations"):
        texts("video_captioning_from_vlm_mapper", [{"text": TOKEN, "videos": media[:1]}], hf_model=path)


def test_an_audio_model_hears_the_sound(tmp_path, media):
    path = save_qwen_audio(tmp_path)
    samples = [
        {"text": f"{TOKEN} one {TOKEN}", "videos": media[:2]},
        {"text": f"{TOKEN} silent", "videos": media[2:]},
        {"text": f"{TOKEN} silent {END} {TOKEN}", "videos": [media[2], media[0]]},
    ]
    found = texts("video_captioning_from_audio_mapper", samples, hf_model=path, prompt="the dog")
    first, second = (heard(path, sound_of(data), "the dog") for data in media[:2])
    assert found == [f"{TOKEN} {first} {TOKEN} {second} {END}", f"{TOKEN} {END} {TOKEN} {first} {END}"]
    assert first


def heard(path, sound, prompt):
    model = transformers.Qwen2AudioForConditionalGeneration.from_pretrained(path).eval()
    processor = transformers.AutoProcessor.from_pretrained(path)
    inputs = processor(text=[f"<|AUDIO|> {prompt} "], audio=[sound], sampling_rate=16_000, return_tensors="pt")
    ids = model.generate(**inputs, max_new_tokens=5, do_sample=False)
    return processor.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)[0].strip()


@pytest.mark.parametrize("prompt", [None, "a photo"])
def test_a_video_of_one_frame_is_captioned_as_an_image(tmp_path, media, prompt):
    path = save_blip2(tmp_path)
    samples = [{"text": TOKEN, "videos": [data]} for data in media]
    options = {"hf_video_blip": path, "prompt": prompt, "frame_sampling_method": "uniform", "frame_num": 1}
    found = texts("video_captioning_from_video_mapper", samples, **options)
    model = transformers.Blip2ForConditionalGeneration.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    images = transformers.AutoImageProcessor.from_pretrained(path)
    words = tokenizer(prompt)["input_ids"] if prompt else [2]
    ids = torch.tensor([[model.config.image_token_index] * 4 + words])
    for data, text in zip(media, found, strict=True):
        pixels = images(frames_of(data, 1), return_tensors="pt")["pixel_values"]
        made = model.generate(pixels, input_ids=ids, max_new_tokens=5, do_sample=False)
        (caption,) = tokenizer.batch_decode(made[:, ids.shape[1] :], skip_special_tokens=True)
        assert text == with_captions(caption.strip())


def test_all_frames_of_a_video_are_seen_at_once(tmp_path, media):
    path = save_blip2(tmp_path)
    frames = [frames_of(data, 3) for data in media]
    found = texts(
        "video_captioning_from_video_mapper",
        [{"text": TOKEN, "videos": [data]} for data in media],
        hf_video_blip=path,
        frame_sampling_method="uniform",
        frame_num=3,
    )
    model = transformers.Blip2ForConditionalGeneration.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    images = transformers.AutoImageProcessor.from_pretrained(path)
    for of_video, text in zip(frames, found, strict=True):
        with torch.no_grad():
            seen = [model.vision_model(images(one, return_tensors="pt")["pixel_values"])[0] for one in of_video]
            queries = model.qformer(query_embeds=model.query_tokens, encoder_hidden_states=torch.cat(seen, dim=1))[0]
            start = model.get_input_embeddings()(torch.tensor([[2]]))
            inputs = torch.cat([model.language_projection(queries), start], dim=1)
            ids = model.language_model.generate(inputs_embeds=inputs, max_new_tokens=5, do_sample=False)
        assert text == with_captions(tokenizer.batch_decode(ids, skip_special_tokens=True)[0].strip())


def test_a_summary_of_captions_and_tags(tmp_path, media):
    t5, blip, clip = save_t5(tmp_path / "t5"), save_blip_captioner(tmp_path / "blip"), save_clip(tmp_path / "clip")
    ast = save_ast(tmp_path / "ast", ["cat", "dog", "mat"])
    frames = {"hf_img2seq": blip, "max_new_tokens": 5, **SAMPLED}
    tags = {"hf_clip": clip, "tags": ["cat", "dog", "mat"], "min_score": -1, **SAMPLED}
    samples = [{"text": TOKEN, "videos": [data]} for data in media]
    options = {
        "hf_summarizer": t5,
        "consider_video_caption_from_video": False,
        "consider_video_caption_from_audio": False,
        "vid_cap_from_frm_args": frames,
        "vid_tag_from_aud_args": {"hf_ast": ast},
        "vid_tag_from_frm_args": tags,
        "keep_tag_num": 2,
    }
    found = texts("video_captioning_from_summarizer_mapper", samples, **options)
    captions = jp.create("video_captioning_from_frames_mapper", keep_original_sample=False, **frames)(samples)
    sounds = jp.create("video_tagging_from_audio_mapper", hf_ast=ast)(samples)
    tagged = jp.create("video_tagging_from_frames_mapper", **tags)(samples)
    model = transformers.T5ForConditionalGeneration.from_pretrained(t5).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    for text, caption, sound, seen in zip(found, captions, sounds, tagged, strict=True):
        parts = [caption["text"].removeprefix(TOKEN).removesuffix(END).strip()]
        parts += [tag for tag in sound["__dj__meta__"]["video_audio_tags"] if tag != "EMPTY"]
        parts.append(", ".join(seen["__dj__meta__"]["video_frame_tags"][0][:2]))
        ids = tokenizer(". ".join(part for part in parts if part), return_tensors="pt")
        made = model.generate(**ids, max_new_tokens=5, do_sample=False)
        assert text == with_captions(tokenizer.batch_decode(made, skip_special_tokens=True)[0].strip())
    operator = jp.operators.operator_class("video_captioning_from_summarizer_mapper")(**options)
    needed = {file.path for file in operator.needed_files}
    assert needed == {t5, blip, clip, ast}


def test_parameters_of_other_operators_are_checked(tmp_path):
    nothing = {f"consider_video_{name}": False for name in ("caption_from_video", "caption_from_audio")}
    with pytest.raises(jp.ParameterError, match=r"vid_tag_from_frm_args: .*tags"):
        jp.create("video_captioning_from_summarizer_mapper", **nothing)
    with pytest.raises(jp.ParameterError, match=r"vid_cap_from_frm_args: .*did you mean 'frame_num'"):
        jp.create("video_captioning_from_summarizer_mapper", vid_cap_from_frm_args={"frames_num": 3}, **nothing)
    every = {**nothing, **{f"consider_video_{name}": False for name in ("caption_from_frames", "tags_from_audio")}}
    with pytest.raises(jp.ParameterError, match="nothing to summarise"):
        jp.create("video_captioning_from_summarizer_mapper", consider_video_tags_from_frames=False, **every)
