"""What the server answers, compared with plain lists of the same samples."""

import itertools
import json
import socket
import tracemalloc
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

import jinx
from jinx._viewer import selection
from jinx._viewer.charts import bin_edges
from jinx._viewer.query import Brush, Query, expression_name, quoted_string
from jinx._viewer.shown import ShownDataset
from view_data import Served


def get(served: Served, address: str, **asked: Any) -> Any:
    query = urlencode({name: value if isinstance(value, str) else json.dumps(value) for name, value in asked.items()})
    with urlopen(f"{served.url}{address}?{query}", timeout=30) as answer:
        return json.loads(answer.read())


def shown(served: Served, *, start: int = 0, count: int = 60, **asked: Any) -> tuple[list[int], int]:
    answer = get(served, "0/rows", start=start, count=count, **asked)
    while not answer["complete"]:
        answer = get(served, "0/rows", start=start, count=count, **asked)
    return [row["sample"] for row in answer["rows"]], answer["total"]


def expected(served: Served, keep: Any) -> list[int]:
    return [i for i, sample in enumerate(served.samples) if keep(sample)]


def test_rows_are_the_samples(served: Served) -> None:
    answer = get(served, "0/rows", start=4_000, count=3)
    assert answer["total"] == 10_000
    for row in answer["rows"]:
        values = row["row"]
        media = values.pop("image")
        assert values == served.samples[row["sample"]]
        assert (media["$"], media["type"], media["path"]) == ("bytes", "image/jpeg", ["image"])
    assert get(served, "0/rows", start=10_000, count=3)["rows"] == []


@pytest.mark.parametrize(
    ("asked", "keep"),
    [
        ({"where": "score > 0.5"}, lambda s: s["score"] > 0.5),
        (
            {"where": "width >= 640 and contains(caption, 'boat')"},
            lambda s: s["width"] >= 640 and "boat" in s["caption"],
        ),
        ({"find": "RED HOUSE"}, lambda s: "red house" in s["caption"]),
        ({"find": "quite old"}, lambda s: "quite old" in s["messages"][1]["content"]),
        (
            {"find": "quite old", "where": "score > 0.3"},
            lambda s: "old" in s["messages"][1]["content"] and s["score"] > 0.3,
        ),
        ({"brush": {"source": {"names": ["docs", "cc12m"]}}}, lambda s: s["source"] in {"docs", "cc12m"}),
        ({"brush": {"is_safe": {"names": [False]}}}, lambda s: not s["is_safe"]),
        ({"brush": {"score": {"range": [0.2, 0.4]}}}, lambda s: 0.2 <= s["score"] < 0.4),
        ({"brush": {"score": {"range": [0.123, None]}}}, lambda s: s["score"] >= 0.123),
        (
            {"brush": {"source": {"names": ["coyo"]}, "score": {"range": [None, 0.3]}}, "find": "boat"},
            lambda s: s["source"] == "coyo" and s["score"] < 0.3 and "boat" in s["caption"],
        ),
    ],
)
def test_a_query_shows_what_a_plain_loop_finds(served: Served, asked: dict[str, Any], keep: Any) -> None:
    numbers = expected(served, keep)
    first, total = shown(served, **asked)
    assert (first, total) == (numbers[:60], len(numbers))
    assert shown(served, start=total - 5, **asked)[0] == numbers[-5:]
    for sort, key in (
        ("score", lambda i: served.samples[i]["score"]),
        ("-width", lambda i: -served.samples[i]["width"]),
    ):
        ordered = sorted(numbers, key=key)
        for start in (0, total // 2, max(0, total - 7)):
            assert shown(served, start=start, sort=sort, **asked) == (ordered[start : start + 60], total)
    # The same as Python.
    code = get(served, "0/python", sort="-score", **asked)["python"]
    names: dict[str, Any] = {}
    exec(code, names)
    ordered = sorted(numbers, key=lambda i: -served.samples[i]["score"])
    assert names["ds"]["id"] == [served.samples[i]["id"] for i in ordered]


def test_strings_and_lengths_sort_too(served: Served) -> None:
    by_caption = sorted(range(10_000), key=lambda i: served.samples[i]["caption"])
    assert shown(served, sort="caption")[0] == by_caption[:60]
    few = expected(served, lambda s: s["score"] > 0.7)
    by_length = sorted(few, key=lambda i: -len(served.samples[i]["caption"]))
    assert shown(served, sort="-len(caption)", where="score > 0.7")[0] == by_length[:60]


def test_charts_count_what_the_other_choices_keep(served: Served) -> None:
    brush = {"source": {"names": ["coyo"]}, "score": {"range": [0.2, 0.4]}}
    asked = {
        "columns": ["source", "score", "width", "is_safe", "len(messages)", "caption", "id"],
        "where": "width < 1000",
    }
    while not (answer := get(served, "0/charts", brush=brush, **asked))["complete"]:
        pass
    assert [chart["name"] for chart in answer["charts"]] == ["source", "score", "width", "is_safe", "len(messages)"]
    charts = {chart["name"]: chart for chart in answer["charts"]}
    narrow = [s for s in served.samples if s["width"] < 1000]
    in_range = [s for s in narrow if 0.2 <= s["score"] < 0.4]
    by_source = [sum(s["source"] == name for s in in_range) for name in charts["source"]["names"]]
    assert charts["source"]["kept"] == by_source
    edges = charts["score"]["edges"]
    coyo = [s for s in narrow if s["source"] == "coyo"]
    in_bins = [sum(low <= s["score"] < high for s in coyo) for low, high in itertools.pairwise(edges)]
    assert charts["score"]["kept"] == in_bins
    both = [s for s in in_range if s["source"] == "coyo"]
    assert charts["is_safe"]["kept"] == [sum(not s["is_safe"] for s in both), sum(s["is_safe"] for s in both)]
    assert answer["kept"] == len(both)
    assert sum(charts["width"]["all"]) == 10_000


def test_a_view_with_an_order_of_its_own_shows_its_samples(served: Served) -> None:
    from jinx._viewer.shown import ShownDataset

    ds = jinx.open(served.path)[::-1].filter("width > 300")
    dataset = ShownDataset(ds, "memory")
    page = dataset.page(Query(where="score > 0.5", find="boat"), 0, 50)
    while not page["complete"]:
        page = dataset.page(Query(where="score > 0.5", find="boat"), 0, 50)
    ids = [ds[row["sample"]]["id"] for row in page["rows"]]
    kept = [s for s in served.samples[::-1] if s["width"] > 300 and s["score"] > 0.5 and "boat" in s["caption"]]
    assert ids == [s["id"] for s in kept[:50]]


def test_search_is_a_method_of_datasets(served: Served) -> None:
    ds = jinx.open(served.path)
    found = ds.filter("score > 0.5").search("QUITE old")
    assert found["id"] == [
        s["id"] for s in served.samples if s["score"] > 0.5 and "quite old" in s["messages"][1]["content"]
    ]
    with pytest.raises(jinx.InvalidError, match="nothing to search for"):
        ds.search("")
    with pytest.raises(jinx.InvalidError, match="search first"):
        ds.map(lambda _: {}).search("a")


def test_media_come_whole_and_in_ranges(served: Served) -> None:
    image = jinx.open(served.path)[17]["image"]
    address = f"{served.url}0/media/17?path=%5B%22image%22%5D"
    with urlopen(address, timeout=30) as answer:
        assert answer.read() == image
        assert answer.headers["content-type"] == "image/jpeg"
        assert "sandbox" in answer.headers["content-security-policy"]
    for asked, first, last in (
        ("bytes=0-9", 0, 9),
        ("bytes=100-", 100, len(image) - 1),
        ("bytes=5-99999999", 5, len(image) - 1),
    ):
        with urlopen(Request(address, headers={"Range": asked}), timeout=30) as answer:
            assert answer.status == 206
            assert answer.read() == image[first : last + 1]
            assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(image)}"


def test_a_value_that_is_too_large_for_memory_is_read_once_into_a_file() -> None:
    from jinx._viewer.media import BytesCache, whole

    cache = BytesCache(limit=1000)
    video = b"\x00\x00\x00\x18ftypmp42" + bytes(range(256)) * 20
    cache.put("video", video)
    cache.put("small", b"abc")
    for _ in range(2):
        kept = cache.get("video")
        assert kept is not None
        answer = whole(kept, "bytes=100-119")
        assert (answer.status_code, bytes(answer.body)) == (206, video[100:120])
        assert answer.headers["content-type"] == "video/mp4"
        assert bytes(whole(kept, None).body) == video
    assert cache.get("small") == b"abc"
    assert whole(b"abc", "bytes=9-").status_code == 416


def test_bins_are_round_and_hold_every_number() -> None:
    for least, largest, is_integer in (
        (0, 1, False),
        (0.0137, 0.9911, False),
        (-5e9, 3, False),
        (7, 7, False),
        (2, 30, True),
        (0, 10**12, True),
    ):
        edges = bin_edges(least, largest, is_integer=is_integer)
        assert edges[0] <= least <= largest < edges[-1]
        assert len(edges) < 70
        assert list(edges) == sorted(set(edges))
    assert bin_edges(0, 1, is_integer=False)[:3] == (0.0, 0.05, 0.1)


def test_names_and_strings_in_expressions() -> None:
    assert expression_name(["meta", "a b", 'q"', "in"]) == 'meta."a b"."q"""."in"'
    assert quoted_string("it's\\\n") == "'it\\'s\\\\\\n'"
    assert Brush("a", range=(None, 3.0)).expression == "a < 3"
    assert Brush("a", names=("x", None)).expression == "(a == 'x' or a is None)"


def test_answers_are_sent_at_once() -> None:
    from jinx._viewer.server import bound

    with bound("127.0.0.1", 0) as listener:
        # Only then asyncio sets TCP_NODELAY; without it every answer of a kept connection took 40 ms longer.
        assert listener.proto == socket.IPPROTO_TCP


def test_a_column_as_an_arrow_stream(served: Served) -> None:
    pyarrow = pytest.importorskip("pyarrow")

    def read(name: str, **asked: str) -> Any:
        with urlopen(f"{served.url}0/columns/{name}?{urlencode(asked)}", timeout=60) as answer:
            assert answer.headers["content-type"] == "application/vnd.apache.arrow.stream"
            return pyarrow.ipc.open_stream(answer.read()).read_all()

    everything = read("score")
    assert everything["sample"].to_pylist() == list(range(10_000))
    assert everything["score"].to_pylist() == [s["score"] for s in served.samples]
    kept = expected(served, lambda s: s["score"] > 0.5 and "boat" in s["caption"])
    for name, value in (
        ("source", lambda s: s["source"]),
        ("is_safe", lambda s: s["is_safe"]),
        ("meta.page", lambda s: s["meta"]["page"]),
        ("len(messages)", lambda s: len(s["messages"])),
        ("width", lambda s: s["width"]),
    ):
        found = read(name, where="score > 0.5", find="boat")
        assert found["sample"].to_pylist() == kept
        assert found[name].to_pylist() == [value(served.samples[i]) for i in kept]
    assert read("source", where="score > 2").num_rows == 0
    for name, status in (("messages", 422), ("none", 422), ("", 422), ("score?where=1%2B", 422)):
        with pytest.raises(HTTPError) as caught:
            urlopen(f"{served.url}0/columns/{name}", timeout=60)
        assert caught.value.code == status
        caught.value.close()


@pytest.mark.parametrize("where", ["score > 0.1", "score > 0.9", "score >= 0", "score > 2"])
def test_a_filter_in_parts_is_that_of_the_whole(served: Served, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr(selection, "_FILTERED_PART", 3_000)
    selections = ShownDataset(jinx.open(served.path), "x").selections
    kept, is_complete = selections.kept(Query(where))
    assert kept is not None
    assert is_complete
    limit = float(where.rsplit(maxsplit=1)[-1])
    assert kept.numbers(0, len(kept)).tolist() == expected(
        served, lambda s: s["score"] >= limit if ">=" in where else s["score"] > limit
    )


def test_a_part_without_the_column_of_a_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "_FILTERED_PART", 10)
    samples = [{"a": i} if i < 25 else {"a": i, "late": i} for i in range(40)]
    with jinx.Writer(tmp_path / "x.jinx") as writer:
        for sample in samples:
            writer.write(sample)
    selections = ShownDataset(jinx.open(tmp_path / "x.jinx"), "x").selections
    for where, kept in {"not (late > 30)": range(31), "late > 30": range(31, 40)}.items():
        found, _ = selections.kept(Query(where))
        assert found is not None
        numbers = found.numbers(0, 40).tolist()
        assert set(numbers) >= {i for i in kept if i >= 25}
        whole = jinx.open(tmp_path / "x.jinx").filter(where)
        assert [samples[i]["a"] for i in numbers] == [sample["a"] for sample in whole]


def test_selections_that_were_shown_take_little_memory(served: Served) -> None:
    shown_dataset = ShownDataset(jinx.open(served.path), "x")
    asked = [Query(f"score > 0.00{limit}", brushes=(Brush("source", names=("coyo", "laion")),)) for limit in range(8)]
    while not shown_dataset.chart_counts(asked[0], ["source"])["charts"]:
        pass
    tracemalloc.start()
    try:
        for query in asked:
            shown_dataset.chart_counts(query, ["source"])
            shown_dataset.page(query, 4_000, 1)
        # A bit for each sample, filtered and brushed, where a number of four bytes was kept.
        assert tracemalloc.get_traced_memory()[0] < 8 * 2 * 10_000 // 8 + 20_000
    finally:
        tracemalloc.stop()


def test_a_search_among_few_samples_and_its_places(served: Served) -> None:
    selections = ShownDataset(jinx.open(served.path), "x").selections
    query = Query("score > 0.3", find="boat")
    selections.wait(query)
    kept, is_complete = selections.kept(query)
    numbers = expected(served, lambda s: s["score"] > 0.3 and "boat" in s["caption"])
    assert is_complete
    assert kept is not None
    assert kept.numbers(0, 10_000).tolist() == numbers
    assert [selections.place_of(query, sample) for sample in numbers] == list(range(len(numbers)))
    missing = sorted({*range(10_000)} - {*numbers})
    assert {selections.place_of(query, sample) for sample in [*missing[:200], 10_000, 10**9]} == {None}


def test_a_sample_that_a_dataset_has_twice_is_kept_twice(served: Served) -> None:
    chosen = [7, 7, 9_000, 3, 3, 3, 8]
    selections = ShownDataset(jinx.open(served.path).select(chosen), "x").selections
    kept, _ = selections.kept(Query("score > 0.5"))
    assert kept is not None
    assert kept.numbers(0, 9).tolist() == [i for i, at in enumerate(chosen) if served.samples[at]["score"] > 0.5]


def test_a_dataset_without_samples(tmp_path: Path) -> None:
    jinx.Writer(tmp_path / "empty.jinx").close()
    dataset = ShownDataset(jinx.open(tmp_path / "empty.jinx"), "x")
    for query in (Query(), Query("score > 1"), Query(find="a"), Query(sort="-score"), Query("a > 1", "b", (), "c")):
        while not (answer := dataset.page(query, 0, 60))["complete"]:
            pass
        assert answer == {"rows": [], "total": 0, "complete": True}
    assert dataset.chart_counts(Query("score > 1"), ["score"]) == {
        "charts": [], "kept": 0, "complete": True, "waiting": False,
    }  # fmt: skip
