"""Splits: parts are disjoint and complete, groups are whole, and shares are met as nearly as samples allow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jinx._rewrite import assign_parts

SEEDS = st.none() | st.integers(0, 2**64 - 1)
COUNTS = st.integers(0, 200)
KEYS = st.lists(st.integers(0, 12), max_size=150)


@st.composite
def shares(draw):
    weights = draw(st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(any))
    return [weight / sum(weights) for weight in weights]


def parts_of(part_of, parts):
    """The samples of each part, after checking that every sample is in exactly one, in order."""
    found = [each.tolist() for each in assign_parts.members(np.asarray(part_of), parts)]
    assert all(each == sorted(each) for each in found)
    assert sorted(i for each in found for i in each) == list(range(len(part_of)))
    return found


@given(COUNTS, shares(), SEEDS)
def test_shares(count, wanted, seed):
    found = parts_of(assign_parts.by_shares(assign_parts.order_of(count, seed), wanted), len(wanted))
    assert all(abs(len(each) - share * count) <= 1 + 1e-9 for each, share in zip(found, wanted, strict=True))
    if seed is None:
        assert [i for each in found for i in each] == list(range(count))


@given(st.lists(st.integers(0, 50), max_size=120), st.integers(1, 100), SEEDS)
def test_a_limit(weights, limit, seed):
    weights, order = np.array(weights, dtype=np.int64), assign_parts.order_of(len(weights), seed)
    part_of = assign_parts.by_limit(order, weights, limit)
    found = parts_of(part_of, int(part_of.max()) + 1 if len(part_of) else 1)
    for each, after in zip(found, [*found[1:], None], strict=True):
        assert len(each) == 1 or weights[each].sum() <= limit
        if after:  # it is full: what comes next in the order does not fit
            following = next(i for i in order.tolist() if i in after)
            assert weights[each].sum() + weights[following] > limit


@given(KEYS, shares(), SEEDS)
def test_strata(keys, wanted, seed):
    strata = np.unique(np.array(keys, dtype=np.int64), return_inverse=True)[1]
    found = parts_of(assign_parts.stratified(assign_parts.order_of(len(strata), seed), strata, wanted), len(wanted))
    for stratum, size in enumerate(np.bincount(strata)):
        for each, share in zip(found, wanted, strict=True):
            assert abs(sum(strata[i] == stratum for i in each) - share * size) < 3
    for each, share in zip(found, wanted, strict=True):
        assert abs(len(each) - share * len(strata)) < 3


@given(KEYS, shares(), SEEDS)
def test_groups_never_straddle(keys, wanted, seed):
    keys = np.array(keys, dtype=np.uint64)
    groups, first = assign_parts.numbered(keys)
    order = assign_parts.order_of(len(first), seed)
    sizes = np.bincount(groups, minlength=len(first))
    part_of = assign_parts.grouped(order, sizes, wanted)[groups]
    found = parts_of(part_of, len(wanted))
    largest = sizes.max() if len(sizes) else 0
    for each, share in zip(found, wanted, strict=True):
        assert len(each) <= share * len(keys) + largest
    whole = {part for part, each in enumerate(found) for _ in each}
    for key in set(keys.tolist()) - {0}:
        assert len(set(part_of[keys == key].tolist())) == 1
    assert whole <= set(range(len(wanted)))


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), max_size=120), shares(), SEEDS)
def test_groups_never_straddle_with_strata_either(pairs, wanted, seed):
    groups, first = assign_parts.numbered(np.array([group for group, _ in pairs], dtype=np.uint64))
    strata = np.unique(np.array([stratum for _, stratum in pairs], dtype=np.int64), return_inverse=True)[1]
    order = assign_parts.order_of(len(first), seed)
    of_groups = assign_parts.grouped_and_stratified(order, groups, strata, wanted)
    assert len(of_groups) == len(first)
    parts_of(of_groups[groups], len(wanted))


@given(KEYS)
def test_numbers_of_keys(keys):
    groups, first = assign_parts.numbered(np.array(keys, dtype=np.uint64))
    model: dict = {}
    for i, key in enumerate(keys):
        model.setdefault((key, i) if key == 0 else key, len(model))
    assert groups.tolist() == [model[(key, i) if key == 0 else key] for i, key in enumerate(keys)]
    assert first.tolist() == [groups.tolist().index(number) for number in range(len(model))]


@pytest.mark.parametrize("seed", [0, 7])
def test_a_seed_chooses_the_same_samples_everywhere(seed):
    """The parts of a seed are a promise: training sets must not move when the library does."""
    part_of = assign_parts.by_shares(assign_parts.order_of(10, seed), [0.7, 0.3])
    assert np.flatnonzero(part_of == 1).tolist() == {0: [0, 1, 8], 7: [4, 5, 9]}[seed]


@given(st.lists(st.integers(0, 3), max_size=20))
def test_keys_are_numbered_by_their_first_samples(keys):
    firsts = [i for i, key in enumerate(keys) if key == 0 or key not in keys[:i]]
    expected = [firsts.index(i if key == 0 else keys.index(key)) for i, key in enumerate(keys)]
    numbers, first = assign_parts.numbered(np.array(keys, dtype=np.uint64))
    assert (numbers.tolist(), first.tolist()) == (expected, firsts)
