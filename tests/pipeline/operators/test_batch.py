"""Batches: texts and media where the roles say, shared values, and columns that operators change."""

import io

import pytest
from PIL import Image

import jinx
import jinx_pipeline as jp
from jinx_pipeline.operators import REMOVED

CHATS = [
    {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "see www.a.com"}]},
    {"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "what is http://b.c"}]}]},
    {"messages": []},
]
IN_CHATS = jp.Roles(text="messages[*].content")


def png(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height)).save(out, "png")
    return out.getvalue()


@pytest.fixture
def chats(tmp_path):
    with jinx.Writer(tmp_path / "chats.jinx") as writer:
        for sample in CHATS:
            writer.write({**sample, "image": png(8, 4)})
    return jinx.open(tmp_path / "chats.jinx")


@pytest.mark.parametrize("kind", ["list", "dataset"])
def test_texts_through_lists_and_content_parts(kind, chats):
    batch = jp.Batch(CHATS if kind == "list" else chats, roles=IN_CHATS)
    assert batch.text.to_pylist() == ["hi\nsee www.a.com", "what is http://b.c", ""]
    assert batch.texts == [["hi", "see www.a.com"], ["what is http://b.c"], []]
    assert batch.flat_texts.to_pylist() == ["hi", "see www.a.com", "what is http://b.c"]


def test_edits_land_where_the_texts_were():
    cleaned = jp.create("clean_links_mapper")(CHATS, roles=IN_CHATS)
    assert cleaned[0]["messages"][1] == {"role": "assistant", "content": "see "}
    assert cleaned[1]["messages"][0]["content"] == [{"type": "image"}, {"type": "text", "text": "what is "}]
    assert cleaned[2] == CHATS[2]
    assert CHATS[0]["messages"][1]["content"] == "see www.a.com"


def test_nothing_changed_is_nothing_written():
    batch = jp.Batch([{"text": "plain"}, {"text": None}])
    assert jp.create("clean_links_mapper").process(batch, jp.Context()) == {}
    assert batch.text.to_pylist() == ["plain", ""]


def test_a_missing_column_names_those_there_are(chats):
    with pytest.raises(KeyError, match="there are: messages, image; name the column of the text"):
        _ = jp.Batch(chats).text


def test_what_is_no_text_is_an_error():
    with pytest.raises(TypeError, match="a text is a string or a list of content parts, not int"):
        _ = jp.Batch([{"text": 3}]).text


def test_a_path_that_does_not_parse():
    with pytest.raises(ValueError, match=r"'a\[0\]' is not a path at character 0"):
        jp.Roles(text="a[0]")


def test_media_are_read_when_touched(chats):
    batch = jp.Batch(chats, [2, 0], roles=jp.Roles(images="image"))
    images = batch.media("images")
    assert [image.dimensions for item in images for image in item] == [(8, 4)] * 2
    first = images[0][0]
    assert first.image() is first.image()
    assert first.size == len(png(8, 4))
    assert batch.take([1]).media("images")[0] is images[1]


def test_media_by_path_bytes_and_dict(tmp_path):
    (tmp_path / "a.png").write_bytes(png(3, 2))
    samples = [{"images": ["a.png", png(5, 5), {"bytes": None, "path": "a.png"}, {"bytes": png(1, 1), "path": "x"}]}]
    media = jp.Batch(samples, roles=jp.Roles(media_root=str(tmp_path))).media("images")[0]
    assert [image.dimensions for image in media] == [(3, 2), (5, 5), (3, 2), (1, 1)]


def test_media_in_messages():
    import base64

    text = base64.b64encode(png(4, 3)).decode()
    content = [
        {"type": "text", "text": "Which?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{text}"}},
        {"type": "image", "image": png(7, 1)},
        {"type": "input_audio", "input_audio": {"data": base64.b64encode(b"sound").decode(), "format": "wav"}},
    ]
    roles = jp.Roles(text="messages[*].content", images="messages[*].content", audios="messages[*].content")
    batch = jp.Batch([{"messages": [{"role": "user", "content": content}]}], roles=roles)
    assert [image.dimensions for image in batch.media("images")[0]] == [(4, 3), (7, 1)]
    assert [sound.bytes for sound in batch.media("audios")[0]] == [b"sound"]
    assert batch.text.to_pylist() == ["Which?"]


def test_media_that_are_missing_or_broken_say_so(tmp_path):
    from jinx_pipeline.sample.media import MediaError

    media = jp.Batch([{"images": ["gone.png", b"not an image"]}], roles=jp.Roles(media_root=str(tmp_path))).media(
        "images"
    )
    with pytest.raises(MediaError, match=r"gone\.png: No such file"):
        _ = media[0][0].size
    with pytest.raises(MediaError, match="base64 that does not decode"):
        len(jp.Batch([{"images": ["data:image/png;base64,???"]}]).media("images")[0])
    with pytest.raises(MediaError, match=r"12 bytes.* is not an image"):
        media[0][1].image()


def test_urls_need_a_host_that_the_user_named():
    media = jp.Batch([{"images": ["http://127.0.0.1:1/a.png"]}]).media("images")
    with pytest.raises(ValueError, match=r"the host '127\.0\.0\.1' is not in url_hosts"):
        _ = media[0][0].bytes


def test_shared_values_follow_the_samples_and_end_with_a_change():
    calls = []

    def words():
        calls.append(1)
        return [sample["text"].split() for sample in batch.samples()]

    batch = jp.Batch([{"text": "a b"}, {"text": "c"}, {"text": ""}])
    assert batch.shared("words", words) == [["a", "b"], ["c"], []]
    assert batch.take([2, 0]).shared("words", words) == [[], ["a", "b"]]
    assert len(calls) == 1
    batch = batch.with_columns({"text": ["x", "y", "z"]})
    assert batch.shared("words", words) == [["x"], ["y"], ["z"]]


def test_a_mask_of_all_samples_copies_nothing():
    batch = jp.Batch([{"text": "a b"}, {"text": "c"}])
    assert batch.take([True, True]) is batch
    assert [sample["text"] for sample in batch.take([False, True]).samples()] == ["c"]
    empty = batch.take([False, False])
    assert len(empty.take([])) == 0


def test_changed_and_removed_columns():
    batch = jp.Batch([{"a": 1, "b": 2}, {"a": 3}]).with_columns({"a": [REMOVED, REMOVED], "c": [REMOVED, 5]})
    assert batch.to_samples() == [{"b": 2}, {"c": 5}]
    assert batch.column_names == ["b", "c"]
    assert batch.take([1]).column("c") == [5]


def test_statistics_are_computed_once():
    batch = jp.create("text_length_filter", min_len=1).measure(jp.Batch([{"text": "abc"}]), jp.Context())
    again = jp.create("text_length_filter", min_len=9)
    assert again.measure(batch, jp.Context()) is batch
    changed = batch.with_columns({"text": ["longer"]})
    assert again.measure(changed, jp.Context()).stats["text_len"].to_pylist() == [6]


def test_a_fused_operator_gives_what_its_operators_give():
    samples = [{"text": f"{'long ' * n} www.a{n}.com"} for n in range(40)]
    one = jp.create("clean_links_mapper")
    two = jp.create("text_length_filter", min_len=50)
    fused = jp.FusedOp(operators=[one, two])
    assert fused(samples) == two(one(samples))
    assert fused(samples, keep_stats=True, drop=False) == two(one(samples), keep_stats=True, drop=False)
    assert fused([]) == []


def test_random_numbers_depend_on_the_sample_alone():
    ctx = jp.Context(seed=7)
    assert ctx.rng("a").random() == jp.Context(seed=7).rng("a").random()
    assert len({ctx.rng("a").random(), ctx.rng("b").random(), ctx.rng("a", "x").random()}) == 3
