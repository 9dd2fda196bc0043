"""Families of random functions: what they are, and how they are drawn."""

from unittest.mock import Mock

import numpy as np
import pytest

from benchmarks.studies import families


def _line(random: np.random.Generator, dim: int, size: int) -> np.ndarray:
    return random.random(dim) + np.linspace(0, 1, size)[:, None] * random.standard_normal(dim)


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def test_polynomials_have_degree_four(dim):
    """Along any line the fifth difference is zero and the fourth a constant that is not."""
    random = np.random.default_rng(dim)
    truth = families.polynomial(random, dim)
    line = _line(random, dim, 12)
    scale = np.abs(truth(line)).max()
    np.testing.assert_allclose(np.diff(truth(line), 5), 0, atol=1e-11 * scale)
    assert np.abs(np.diff(truth(line), 4)).min() > 1e-8 * scale


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_compositions_are_sums_of_products_of_shapes(dim, monkeypatch):
    """With all shapes the identity, a product of two linear terms: its third difference is zero."""
    linear = (lambda z: z,) * len(families.SHAPES)
    monkeypatch.setattr(families, "SHAPES", linear)
    truth = families.composition(np.random.default_rng(dim), dim)
    line = np.linspace(0, 1, 9)[:, None] * np.ones(dim)
    np.testing.assert_allclose(np.diff(truth(line), 3), 0, atol=1e-10)
    assert np.abs(np.diff(truth(line), 2)).min() > 1e-6


@pytest.mark.parametrize("dim", [1, 3])
def test_bumps_are_gaussians(dim):
    """A single bump has, along any line, a logarithm whose second difference is a negative constant."""
    random = np.random.default_rng(dim)
    one = Mock(wraps=random)
    one.integers = lambda low, high: 1
    truth = families.bumps(one, dim)
    values = np.log(np.abs(truth(_line(random, dim, 9))))
    second = np.diff(values, 2)
    np.testing.assert_allclose(second, second[0], rtol=1e-6)
    assert second[0] < 0


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_plateaus_are_flat_far_from_their_ramps(dim):
    """Along a line far beyond the cube nothing changes, and in between the slope is piecewise constant."""
    random = np.random.default_rng(dim)
    truth = families.plateaus(random, dim)
    direction = random.standard_normal(dim)
    far = np.linspace(1e3, 1e4, 5)[:, None] * direction
    np.testing.assert_allclose(np.diff(truth(far)), 0, atol=1e-12)
    across = truth(0.5 + np.linspace(-5, 5, 40001)[:, None] * direction)
    bends = np.abs(np.diff(across, 2)) > 1e-9
    edges = np.diff(np.flatnonzero(bends)) > 2  # neighbouring second differences belong to one bend
    assert 2 <= edges.sum() + 1 <= 2 * families.TERMS
    assert np.ptp(across) > 0


def test_kinks_are_sums_of_products(monkeypatch):
    """With all factors the identity, a quadratic; with the absolute value, one that bends."""
    line = np.linspace(0, 1, 2001)[:, None] * np.ones(2)
    monkeypatch.setattr(families, "KINKS", (lambda u: u,))
    smooth = families.kinks(np.random.default_rng(0), 2)(line)
    np.testing.assert_allclose(np.diff(smooth, 3), 0, atol=1e-10)
    monkeypatch.setattr(families, "KINKS", (np.abs,))
    bent = families.kinks(np.random.default_rng(0), 2)(line)
    jumps = np.abs(np.diff(bent, 2))
    assert jumps.max() > 100 * np.median(jumps)


@pytest.mark.parametrize("family", families.FAMILIES)
def test_functions_are_standardised_and_reproducible(family):
    drawn, again, other = (families.draw(family, 2, 3, seed) for seed in (4, 4, 5))
    for task, twin, stranger in zip(drawn, again, other, strict=True):
        assert task.fingerprint == twin.fingerprint != stranger.fingerprint
        assert abs(task.test_y.mean()) < 0.02
        assert task.test_y.std() == pytest.approx(1, abs=0.02)
    assert len({task.fingerprint for task in drawn}) == len({task.name for task in drawn}) == 3
    assert families.draw(family, 2, 2, 4)[1].fingerprint == drawn[1].fingerprint


def test_a_function_that_hardly_varies_is_drawn_again(monkeypatch):
    truths = iter([lambda x: np.ones(len(x)), lambda x: x[:, 0], lambda x: -x[:, 0]])
    monkeypatch.setitem(families.FAMILIES, "some", lambda random, dim: next(truths))
    rising, falling = families.draw("some", 1, 2, 0)
    np.testing.assert_array_equal(np.argsort(rising.test_y), np.argsort(-falling.test_y))
