"""Whatever finite numbers come in, a finite point inside the bounds comes out."""

import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from random_policy import random_policy

import alx
from alx.learner.compiled import _compile
from alx.train import functions

BOX = np.array([(-5.0, 10.0), (0.0, 15.0)])


@st.composite
def histories(draw, most):
    """Inputs in the unit square, many on its border and many twice; outputs of any size."""
    count = draw(st.integers(0, most))
    coordinate = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0, 1, width=32)
    x = draw(st.lists(st.tuples(coordinate, coordinate), min_size=count, max_size=count))
    if count and draw(st.booleans()):
        x = [x[0]] * count
    scale = draw(st.sampled_from([1e-30, 1e-6, 1.0, 1e6, 1e30]))
    y = np.array(draw(st.lists(st.floats(-1, 1, width=32), min_size=count, max_size=count))) * scale
    kind = draw(st.sampled_from(["as it is", "constant", "outlier"]))
    if kind == "constant":
        y[:] = scale
    if kind == "outlier" and count:
        y[-1] = 1e6
    return np.reshape(x, (-1, 2)), y


@pytest.mark.parametrize("capacity", [1, 7, 100])
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_proposal_is_finite_and_inside(capacity, data):
    x, y = data.draw(histories(min(capacity, 30)))
    point = np.asarray(alx.propose(random_policy(), alx.History.from_arrays(x, y, capacity)))
    assert np.isfinite(point).all()
    assert ((point >= 0) & (point <= 1)).all()


@pytest.mark.parametrize("budget", [1, 7, 100])
@settings(deadline=None, max_examples=20)
@given(data=st.data(), known=st.booleans())
def test_an_asked_point_is_finite_and_inside(budget, data, known):
    x, y = data.draw(histories(min(budget - 1, 30)))
    scale = {"y_mean": 1e-30, "y_std": 1e-30} if known else {}
    one = alx.Learner(random_policy(), BOX, budget=budget, **scale)
    low, high = BOX.T
    if len(y):
        one.tell(low + x * (high - low), y)
    for point in one.ask(min(3, one.remaining)):
        assert np.isfinite(point).all()
        assert ((point >= low) & (point <= high)).all()


def test_a_feature_that_does_not_oscillate_has_its_mean():
    weights, phases = np.float32([2.0]), np.float32([0.5])
    mean = functions.window_mean(weights, np.zeros((1, 2), np.float32), phases)
    np.testing.assert_allclose(mean, 2 * np.cos(0.5), rtol=1e-6)


def test_double_precision_gives_the_same_answers():
    rng = np.random.default_rng(0)
    x, y = rng.random((6, 2)), rng.normal(size=6)

    def answers() -> np.ndarray:
        _compile.cache_clear()
        one = alx.Learner(random_policy(), BOX)
        one.tell(BOX[:, 0] + 15 * x[:5], y[:5])
        unit = (one.ask() - BOX[:, 0]) / 15
        return np.stack([unit, *(alx.propose(random_policy(), history(n)) for n in range(7))])

    def history(n: int) -> alx.History:
        return alx.History.from_arrays(x[:n].reshape(-1, 2), y[:n], 7)

    single = answers()
    with jax.enable_x64(True):
        double = answers()
    _compile.cache_clear()
    np.testing.assert_allclose(double, single, atol=1e-5)
    assert np.ptp(single, 0).min() > 1e-3, "the answers depend on the data"


def test_large_sums_of_products_are_right():
    """jax 0.10.2 gets them wrong on CPUs (jax-ml/jax#39103), and no version that alx allows may."""
    rng = np.random.default_rng(0)
    weights, values = np.float32(rng.normal(size=(10, 1, 16384))), np.float32(rng.normal(size=(10, 3, 16384)))
    total = jax.jit(lambda a, b: (a * b).sum(0))(weights, values)
    np.testing.assert_allclose(total, (weights.astype(float) * values).sum(0), atol=1e-4)
