"""Pictures of recipes: boxes, arrows with rows and conditions, as Mermaid and SVG."""

import re
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

import jinx
import jinx_pipeline as jp
from jinx_pipeline.cli.program import pipeline
from jinx_pipeline.recipe.read import read_recipe, recipe_of
from jinx_pipeline.report.figures import OperatorTotals
from jinx_pipeline.report.graph_picture import Arrow, Box, Picture, mermaid, picture_of
from jinx_pipeline.report.graph_svg import document, svg
from jinx_pipeline.report.page import run_page
from jinx_pipeline.report.run_result import OutputResult, RunResult
from pipeline.execute.graph_recipes import write_data

QUERY = "SELECT id, score FROM scores ORDER BY id"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arrows(picture):
    """Each arrow by the titles of its boxes."""
    titles = {box.key: box.lines[0] for box in picture.boxes}
    return {(titles[arrow.source], titles[arrow.target]): arrow.label for arrow in picture.arrows}


def test_a_graph_has_a_box_for_each_node_and_an_arrow_for_each_flow(folder):
    picture = picture_of(read_recipe("recipe.yaml"))
    found = arrows(picture)
    assert found["web.jinx", "clean/strip"] == ""
    assert found["clean/long", "mixed"] == "dropped, weight 1"
    assert found["scored", "mixed"] == "weight 3"
    assert found[QUERY, "scored"] == "right"
    assert found["clean/long", "many.jinx"] == "dropped, if rows ≥ 1,000"
    assert found[QUERY, "mixed"] == "then"
    assert (found["clean/long", "listed"], found["listed", "dedup"]) == ("", "")
    assert {arrow.label for arrow in picture.arrows if arrow.is_control} == {"then"}
    assert not any("gather" in line for box in picture.boxes for line in box.lines)


def test_a_list_is_a_chain():
    recipe = recipe_of(
        {"dataset": "a.jinx", "process": ["clean_links_mapper", "text_length_filter"], "export": "b.jinx"}
    )
    assert list(arrows(picture_of(recipe))) == [
        ("a.jinx", "clean_links_mapper"),
        ("clean_links_mapper", "text_length_filter"),
        ("text_length_filter", "b.jinx"),
    ]


def test_after_a_run_arrows_have_rows_and_boxes_seconds(folder):
    recipe = read_recipe("recipe.yaml")
    result = jp.Run(recipe)()
    picture = picture_of(recipe, result)
    found = arrows(picture)
    assert (found["web.jinx", "clean/strip"], found["books.jinx", "clean/strip"]) == ("61", "30")
    assert found["clean/strip", "clean/long"] == "90"
    kept, rejected = (len(jinx.open(name)) for name in ("cleaned.jinx", "rejected"))
    assert found["clean/long", "cleaned.jinx"] == str(kept)
    assert found["clean/long", "rejected"] == f"dropped, {rejected}"
    boxes = [box for box in picture.boxes if box.kind == "operators"]
    assert all(re.fullmatch(r"[\d.]+ s", box.lines[-1]) for box in boxes)
    text = run_page(recipe, result)
    assert text.count("<svg") == 1
    assert "good.jinx" in text


def test_rows_on_arrows_are_those_of_the_recipe_s_order_if_a_later_filter_ran_first():
    process = ["clean_links_mapper", "words_num_filter", "text_length_filter"]
    recipe = recipe_of({"dataset": "a.jinx", "process": process, "export": "b.jinx"})
    counts = [(100, 100), (90, 60), (100, 90)]
    totals = [OperatorTotals(place, process[place], *rows) for place, rows in enumerate(counts)]
    outputs = [OutputResult("b.jinx", 60, 1)]
    result = RunResult("b.jinx", 100, 60, 1, 1.0, [], totals, "w", outputs=outputs, source_rows=[100])
    assert list(arrows(picture_of(recipe, result)).values()) == ["100", "100", "70", "60"]


def test_svg_is_well_formed_and_no_boxes_overlap(folder):
    tree = ET.fromstring(document(picture_of(read_recipe("recipe.yaml"))))
    boxes = [
        tuple(float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        for rect in tree.iter("{http://www.w3.org/2000/svg}rect")
        if "graph-" in rect.attrib["class"]
    ]
    assert len(boxes) == 4 + 7 + 9
    for number, (x, y, width, height) in enumerate(boxes):
        assert x >= 0
        assert x + width <= float(tree.attrib["width"])
        for x2, y2, width2, height2 in boxes[number + 1 :]:
            assert x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y


def test_text_of_a_recipe_is_escaped():
    picture = Picture((Box("a", "source", ('<"#1">',)), Box("b", "sink", ("x" * 90,))), (Arrow("a", "b", '"<'),))
    assert '("#lt;#quot;#35;1#quot;#gt;")' in mermaid(picture)
    drawn = svg(picture)
    assert "&lt;&quot;#1&quot;&gt;" in drawn
    assert "x" * 40 not in drawn
    ET.fromstring(drawn)


@pytest.mark.parametrize(("name", "begins"), [("graph.svg", "<svg"), ("graph.mmd", "flowchart TD")])
def test_plan_draws_the_recipe(folder, name, begins):
    result = CliRunner().invoke(pipeline, ["plan", "recipe.yaml", "--graph", name], catch_exceptions=False)
    assert result.exit_code == 0
    assert (folder / name).read_text("utf-8").startswith(begins)


def test_plan_draws_no_other_kind_of_file(folder):
    result = CliRunner().invoke(pipeline, ["plan", "recipe.yaml", "--graph", "graph.png"])
    assert result.exit_code == 2
    assert "ends in .svg or .mmd" in result.output


def test_run_writes_a_report(folder):
    result = CliRunner().invoke(pipeline, ["run", "recipe.yaml", "--report", "r.html"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "<h2>Graph</h2>" in (folder / "r.html").read_text("utf-8")
