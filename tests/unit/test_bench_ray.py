"""The benchmark on Ray: its page judges every target, says what was missed, and the picture is drawn."""

import json
from xml.etree import ElementTree as ET

import pytest

from bench.ray import OURS, RAY_DATA
from bench.ray.__main__ import planned
from bench.ray.experiments import EXPERIMENTS
from bench.ray.page import TARGETS, page, picture


@pytest.fixture(scope="module")
def results(repository):
    return json.loads((repository / "docs" / "benchmarks" / "ray.json").read_text("utf-8"))


def judged(results, *records):
    """The page of some records: contestant, experiment and round of each, and its figures."""
    names = ("contestant", "experiment", "round")
    made = [{**dict(zip(names, place, strict=True)), **figures} for *place, figures in records]
    return page({**results, "records": made})


def test_the_page_and_the_picture_are_made_of_the_figures(repository, results):
    folder = repository / "docs" / "benchmarks"
    assert (folder / "ray.md").read_text("utf-8") == page(results)
    assert (folder / "ray.svg").read_text("utf-8") == picture(results)
    assert ET.fromstring(picture(results)).tag.endswith("svg")


def test_what_failed_or_was_not_measured_is_no_target_met(results):
    names = {target.experiment for target in TARGETS}
    about = {"contestant": "jinx", "round": 0, "failed": "broken | here"}
    failed = [{"experiment": name, **about} for name in names]
    text = page({**results, "records": failed})
    assert text.count("| broken / here | no |") == len(TARGETS)
    nothing = page({**results, "records": []})
    assert nothing.count("| not measured | no |") == len(TARGETS)
    assert "svg" in picture({**results, "records": []})


def with_deaths(lost, deaths):
    return {"lost": lost, "twice": 0, "again": 60, "deaths": deaths}


def test_one_bad_round_misses_a_target(results):
    text = judged(results, *((OURS, "workers die", at, with_deaths(lost, 6)) for at, lost in enumerate((0, 0, 7))))
    assert "| workers die | G3: rows lost or delivered twice | <= 0 | 0 | 7 | no |" in text
    assert "| workers die | G3: blocks done again for one kill | <= 2 | 1 | 1 | yes |" in text


@pytest.mark.parametrize(("deaths", "said"), [(0, "nothing was killed"), (5, "5 of 6 were killed")])
def test_a_round_in_which_too_few_died_meets_no_target(results, deaths, said):
    rounds = [(OURS, "workers die", at, with_deaths(0, seen)) for at, seen in enumerate((6, deaths))]
    assert judged(results, *rounds).count(f"| {said} | no |") == 2
    unknown = {"lost": 0, "twice": 0, "again": 0}
    assert judged(results, (OURS, "workers die", 0, unknown)).count("| deaths were not recorded | no |") == 2


def test_multiples_are_those_of_rounds(results):
    """The worst of ours over the best of theirs would be 4; a round without theirs does not count."""
    runs = [
        (contestant, "fused blobs", at, {"mb_per_second": speed, "program_mb": 1, "ray_mb": 1, "lost": 0})
        for at, pair in enumerate([(600, 100), (500, 90), (400, 50), (480, None)])
        for contestant, speed in zip((OURS, RAY_DATA), pair, strict=True)
        if speed is not None
    ]
    assert "| fused blobs | G9: times Ray Data | >= 5 | 6 | 5.56 | yes |" in judged(results, *runs)
    alone = [run for run in runs if run[0] == OURS]
    assert f"| {RAY_DATA} was not measured | no |" in judged(results, *alone)


def test_all_is_measured_once_before_anything_is_again():
    runs = planned(3)
    every = {(name, one) for name, (_, contestants) in EXPERIMENTS.items() for one in contestants}
    judged_ones = {(target.experiment, one) for target in TARGETS for one in (OURS, target.over) if one}
    first, again = runs[: len(every)], runs[len(every) :]
    assert {run[1:] for run in first} == every
    assert {run[1:] for run in first[: len(judged_ones)]} == judged_ones
    assert sorted(again) == sorted((number, *pair) for number in (1, 2) for pair in judged_ones)
    for number in range(3):
        assert runs[runs.index((number, "fused blobs", OURS)) + 1] == (number, "fused blobs", RAY_DATA)


def test_the_longest_wait_of_a_driver_that_is_resumed_counts(results):
    waits = {"finished_opens": 0, "since_call": [1.5, 2.5, 1.0], "since_start": [2.5, 3.5, 2.0]}
    text = judged(results, (OURS, "driver dies", 0, with_deaths(0, 3) | waits))
    assert "| driver dies | G6: until the first new block, s | <= 2 | 2.5 | 2.5 | no |" in text
    assert "first new block after 1.50, 2.50, 1.00 s, after 2.50, 3.50, 2.00 s from the start of the process" in text
