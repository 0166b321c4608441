"""How tightly the planner packs the three distributions of the benchmark, and what its page says."""

import json

import pytest

import jinx
from bench.packing.lengths import DISTRIBUTIONS, MAX_LENGTH, sizes
from bench.packing.measure import MAX_IMAGES, RANKS
from bench.packing.page import TARGETS, page

# Useful tokens, by exact finish and by best fit decreasing; packs over the volume bound, tokens and images.
FLOORS = {"llava": (0.9985, 0.996, 0.005), "sft_mix": (0.9993, 0.999, 0.025), "heavy_tail": (0.999, 0.998, 0.005)}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_packs_are_as_full_as_promised(name):
    data = sizes(name)
    exact, best, over = FLOORS[name]
    assert jinx.pack(data["num_tokens"], MAX_LENGTH).efficiency >= exact
    assert jinx.pack(data["num_tokens"], MAX_LENGTH, strategy="best_fit_decreasing").efficiency >= best
    plan = jinx.pack(data, MAX_LENGTH, max_images=MAX_IMAGES)
    assert plan.stats().over_bound <= over
    assert plan.schedule(world_size=RANKS).imbalance() <= 1.07


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_small_datasets_and_epochs_are_packed_as_well(name):
    data = sizes(name, 3000)
    efficiencies = [jinx.pack(data["num_tokens"], MAX_LENGTH, epoch=epoch).efficiency for epoch in range(3)]
    assert min(efficiencies) >= 0.99


def test_the_page_is_made_of_the_figures(repository):
    folder = repository / "docs" / "benchmarks"
    results = json.loads((folder / "packing.json").read_text("utf-8"))
    assert (folder / "packing.md").read_text("utf-8") == page(results)


def test_the_page_says_what_was_not_reached(repository):
    results = json.loads((repository / "docs" / "benchmarks" / "packing.json").read_text("utf-8"))
    slow = {**results, "records": [{**one, "cpu": one["cpu"] * 100} for one in results["records"]]}
    missed = [line for line in page(slow).splitlines() if line.endswith("| no |") and "samples/s of one core" in line]
    assert len(missed) == sum(target.figure == "speed" for target in TARGETS)
