import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

from benchmarks.evaluation import acquisition
from benchmarks.evaluation import gp_model as model

THETA = np.log([[0.9], [0.25], [0.6], [0.03]])


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def square():
    """Nodes ``[D, m, 1]`` and weights of a quadrature rule on the unit square."""
    nodes, weights = (leggauss(40)[0] + 1) / 2, leggauss(40)[1] / 2
    grid = np.stack(np.meshgrid(nodes, nodes), 0).reshape(2, -1, 1)
    return grid, np.outer(weights, weights).ravel()


@jax.jit
def posterior(x, mask):
    return model.condition(jnp.asarray(THETA), x, jnp.zeros(mask.shape), mask)


def given(count):
    """The posterior of the first ``count`` of seven points; the values do not matter for its variance."""
    x = np.random.default_rng(0).random((2, 7, 1))
    return x, posterior(x, np.arange(7)[:, None] < count)


variance = jax.jit(lambda posterior, x: model.predict(posterior, x)[1])


def test_overlap_is_the_integral_of_two_kernels(square):
    grid, weights = square
    a, b = np.array([[[0.1]], [[0.9]]]), np.array([[[0.5]], [[0.3]]])
    pair = [np.asarray(jax.jit(model.kernel)(THETA, grid, point))[:, 0, 0] for point in (a, b)]
    exact = jax.jit(acquisition.overlap)(THETA, a, b)
    np.testing.assert_allclose(np.asarray(exact).ravel(), (weights * pair[0] * pair[1]).sum(), rtol=1e-10)


def test_integrated_variance_is_what_one_more_label_takes_away(square):
    grid, weights = square
    (x, before), (_, after) = given(6), given(7)
    gain = jax.jit(acquisition.integrated_variance)(before, x)[6, 0]
    integrals = [(weights * np.asarray(variance(p, grid))[:, 0]).sum() for p in (before, after)]
    np.testing.assert_allclose(gain, integrals[0] - integrals[1], rtol=1e-6)


def test_entropy_is_that_of_the_predicted_label():
    x, before = given(6)
    exact = 0.5 * np.log(2 * np.pi * np.e * (np.asarray(variance(before, x)) + np.exp(THETA[-1])))
    ours = np.asarray(jax.jit(acquisition.entropy)(before, x))
    np.testing.assert_allclose(ours - ours[0], exact - exact[0], atol=1e-12)


@pytest.mark.parametrize("score", [acquisition.entropy, acquisition.integrated_variance])
def test_select_takes_the_gap_unless_it_is_gone(score):
    """Points everywhere but around 0.5: the candidate there is best, then the one next to it."""
    x = np.concatenate([np.linspace(0, 0.3, 4), np.linspace(0.7, 1, 4)])[None, :, None]
    y = np.sin(9 * x[..., 0]) + 0.01 * np.random.default_rng(0).normal(size=x.shape[:2])
    candidates = np.array([0.05, 0.5, 0.42, 0.95])[None, :, None]
    x, y, candidates = (np.repeat(array, model.BLOCK, 0) for array in (x, y, candidates))
    mask, available = np.ones(y.shape, bool), np.ones(candidates.shape[:2], bool)
    assert (acquisition.select(score, x, y, mask, candidates, available) == 1).all()
    available[:, 1] = False
    assert (acquisition.select(score, x, y, mask, candidates, available) == 2).all()
