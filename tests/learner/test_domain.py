"""Points in the three forms they have, and what a domain allows."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import alx
from alx.learner.domain import FEWEST, Domain, from_bounds, from_inputs

quick = settings(deadline=None, max_examples=50)
BENCH = (
    alx.Real("torque", 0, 300, unit="Nm"),
    alx.Integer("gear", 1, 6),
    alx.Choice("fuel", ["a", "b", "c"]),
)


def inputs(draw) -> alx.Real | alx.Integer | alx.Choice:
    name = draw(st.uuids()).hex
    match draw(st.integers(0, 2)):
        case 0:
            low = draw(st.floats(-1e6, 1e6))
            return alx.Real(name, low, low + draw(st.floats(1e-2, 1e6)))
        case 1:
            low = draw(st.integers(-100, 100))
            return alx.Integer(name, low, low + draw(st.integers(1, 50)))
    return alx.Choice(name, draw(st.lists(st.text(max_size=3), min_size=2, max_size=5, unique=True)))


domains = st.composite(lambda draw: Domain(tuple(inputs(draw) for _ in range(draw(st.integers(1, 4))))))


@quick
@given(domain=domains(), seed=st.integers(0, 1000))
def test_rows_and_codes_are_two_ways_to_write_the_same(domain, seed):
    unit = np.random.default_rng(seed).random((7, domain.dim))
    codes = domain.fill(unit)
    np.testing.assert_array_equal(domain.codes("x", domain.rows(codes)), codes)
    np.testing.assert_array_equal(domain.codes("x", domain.rows(codes).tolist()), codes)
    assert domain.holds(codes)
    low, high = domain.bounds.T
    assert ((codes >= low) & (codes <= high)).all()
    embedded = domain.embed(codes)
    assert embedded.shape == (7, len(domain.groups))
    assert embedded.dtype == np.float32
    assert ((embedded >= 0) & (embedded <= 1)).all()


def test_levels_of_a_choice_are_equally_far_apart_and_share_a_group():
    domain = Domain(BENCH)
    assert domain.groups == (0, 1, 2, 2, 2)
    codes = domain.codes("x", [[150, 1, "a"], [150, 1, "b"], [150, 1, "c"], [150, 6, "c"]])
    embedded = domain.embed(codes)
    np.testing.assert_allclose(embedded[:, 0], 0.5)
    distance = np.linalg.norm(embedded[:, None] - embedded, axis=-1)
    np.testing.assert_allclose(distance[:3, :3], 1 - np.eye(3), atol=1e-6)
    np.testing.assert_allclose(distance[2, 3], 1)


def test_whole_numbers_and_levels_have_equal_shares_of_the_places():
    domain = Domain(BENCH[1:])
    codes = domain.fill(np.random.default_rng(0).random((60_000, 2)))
    for d, size in ((0, 6), (1, 3)):
        counts = np.unique(codes[:, d], return_counts=True)[1]
        np.testing.assert_allclose(counts, 60_000 / size, rtol=0.05)


@quick
@given(domain=domains(), part=st.floats(0.05, 1.0))
def test_every_place_is_allowed_distinct_and_inside(domain, part):
    low, high = domain.bounds.T
    edge = low[0] + part * (high[0] - low[0])
    first = {level: i for i, level in enumerate(getattr(domain.inputs[0], "levels", ()))}

    def below(rows):
        values = [first.get(value, value) for value in rows[:, 0]]
        return np.array(values, float) <= edge

    bound = Domain(domain.inputs, below)
    around = bound.around(bound.places[0], 0.1, 20)
    np.testing.assert_array_equal(around[0], bound.places[0])
    for codes in (bound.places, around):
        assert (codes[:, 0] <= edge).all()
        assert ((codes >= low) & (codes <= high)).all()
        assert len(np.unique(codes, axis=0)) == len(codes)
    if domain.listed:
        assert len(domain.places) == domain.size


def test_places_fill_a_box_evenly():
    places = Domain(from_bounds([(0, 1)] * 2)).places
    for part in (places[:128], places[-64:]):
        counts, *_ = np.histogram2d(*part.T, bins=4, range=[(0, 1)] * 2)
        assert counts.min() >= len(part) / 16 - 3
        assert counts.max() <= len(part) / 16 + 3


def test_a_domain_that_allows_next_to_nothing_is_refused():
    box = from_bounds([(0, 1)] * 2)
    with pytest.raises(ValueError, match=f"allows 0 of 8192 places.*at least {FEWEST} are needed: narrow"):
        _ = Domain(box, lambda x: x[:, 0] > 2).places
    with pytest.raises(ValueError, match="allows 8 of 8192 places"):
        _ = Domain(box, lambda x: x[:, 0] < 0.001).places
    with pytest.raises(
        ValueError, match=r"True or False for each of the 8192 rows.*float64 of shape \(8192,\)"
    ):
        _ = Domain(box, lambda x: x[:, 0]).places
    with pytest.raises(ValueError, match=r"bool of shape \(\)"):
        _ = Domain(box, lambda x: np.bool_(True)).places
    small = (alx.Integer("a", 1, 3), alx.Choice("b", ["x", "y"]))
    with pytest.raises(ValueError, match="allows 0 of 6 places"):
        _ = Domain(small, lambda x: np.zeros(len(x), bool)).places
    assert len(Domain(small, lambda x: (x[:, 0] == 2) & (x[:, 1] == "y")).places) == 1


BAD_POINTS = [
    ([[400, 1, "a"]], r"inside the bounds, got 400 for \(0, 300\)"),
    ([[100, 0, "a"]], r"inside the bounds, got 0 for \(1, 6\)"),
    ([[100, 1.5, "a"]], "whole numbers for gear"),
    ([[100, 1, "d"]], r"one of \['a', 'b', 'c'\] for fuel, got 'd'"),
    ([["high", 1, "a"]], "numbers for torque"),
    ([[np.nan, 1, "a"]], "finite"),
    ([[100, 1]], r"3 coordinates for each point, got shape \(1, 2\)"),
    ([[100, 1], [100, 1, "a"]], "3 coordinates for each point"),
]


@pytest.mark.parametrize(("rows", "match"), BAD_POINTS)
def test_points_of_another_domain_are_refused(rows, match):
    with pytest.raises(ValueError, match=match):
        Domain(BENCH).codes("x", rows)


def test_a_little_outside_is_kept_and_rounding_is_mended():
    domain = Domain(BENCH)
    assert domain.codes("x", [[300 + 1e-5, 1, "a"]])[0, 0] == 300
    assert domain.codes("x", [[-20, 1, "a"]], overshoot=0.1)[0, 0] == -20
    with pytest.raises(ValueError, match="got -31"):
        domain.codes("x", [[-31, 1, "a"]], overshoot=0.1)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: alx.Real("a", 1, 0), "low < high"),
        (lambda: alx.Real("a", 0, np.inf), "high of a must be finite"),
        (lambda: alx.Real("a", 1e9, 1e9 + 1e-3), "too close"),
        (lambda: alx.Real("", 0, 1), "name of an input"),
        (lambda: alx.Real("a", 0, 1, unit=3), "unit of a"),
        (lambda: alx.Integer("a", 0.5, 3), "low of a must be a whole number"),
        (lambda: alx.Integer("a", 3, 3), "high of a must be a whole number of at least 4, got 3"),
        (lambda: alx.Integer("a", 0, 2**60), "at most"),
        (lambda: alx.Choice("a", ["x"]), "at least two different"),
        (lambda: alx.Choice("a", ["x", "x"]), "at least two different"),
        (lambda: alx.Choice("a", "xy"), "at least two different"),
        (lambda: alx.Choice("a", [None, "x"]), "texts or numbers"),
        (lambda: from_inputs([]), "list of Real, Integer and Choice"),
        (lambda: from_inputs([(0, 1)]), "list of Real, Integer and Choice"),
        (lambda: from_inputs([alx.Real("a", 0, 1)] * 2), "different names, got 'a' twice"),
        (lambda: alx.Output("", "V"), "name of an output"),
        (lambda: alx.Output("a", weight=0), "weight of a must be positive"),
        (lambda: alx.Output("a", unit=1), "unit of a"),
    ],
)
def test_inputs_and_outputs_that_cannot_be_are_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()
