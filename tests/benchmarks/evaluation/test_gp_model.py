"""The GP fit against tinygp, NumPy and scikit-learn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tinygp import GaussianProcess, kernels, transforms

from benchmarks.evaluation import gp_model as model
from benchmarks.speed.fit import draws, scikit_learn


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def reference(theta, x):
    """The same process in tinygp's words."""
    kernel = jnp.exp(theta[0]) * transforms.Linear(jnp.exp(-theta[1:-1]), kernels.ExpSquared())
    return GaussianProcess(kernel, x, diag=jnp.exp(theta[-1]) * jnp.ones(len(x)))


@jax.jit
def reference_likelihood(theta, x, y):
    return jax.value_and_grad(lambda t: reference(t, x).log_probability(y))(theta)


@jax.jit
def reference_prediction(theta, x, y, grid):
    conditioned = reference(theta, x).condition(y, grid).gp
    return conditioned.loc, conditioned.variance


@jax.jit
def prediction(theta, x, y, grid):
    mask = jnp.ones((len(y), 1), bool)
    mean, variance = model.predict(
        model.condition(theta[:, None], x.T[..., None], y[:, None], mask), grid.T[..., None]
    )
    return mean[:, 0], variance[:, 0]


def draw(rng, n, dim):
    return (array[0] for array in draws(rng, 1, n, dim))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_likelihood_and_gradient_are_tinygps(dim):
    rng = np.random.default_rng(dim)
    x, y = draw(rng, 12, dim)
    theta = jnp.asarray(rng.normal(-1, 0.5, dim + 2))
    value, gradient = reference_likelihood(theta, x, y)
    square = np.square(x.T[:, :, None] - x.T[:, None])[..., None]
    ours = jax.jit(model.log_likelihood)(theta[:, None], square, y[:, None], np.ones((12, 1), bool))
    np.testing.assert_allclose(ours[0][0], value, rtol=1e-10)
    np.testing.assert_allclose(ours[1][:, 0], gradient, rtol=1e-8, atol=1e-8)


def test_prediction_is_tinygps():
    x, y = draw(np.random.default_rng(0), 9, 2)
    theta, grid = jnp.log(jnp.array([0.8, 0.3, 0.6, 0.02])), np.random.default_rng(1).random((50, 2))
    expected_mean, expected_variance = reference_prediction(theta, x, y, grid)
    mean, variance = prediction(theta, x, y, grid)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-9)
    # tinygp adds a small jitter to the variance of new points.
    np.testing.assert_allclose(variance, expected_variance, atol=1e-6)


def test_padding_changes_nothing():
    x, y = draw(np.random.default_rng(3), 8, 1)
    wide_x, wide_y = np.full((11, 1), np.pi), np.full(11, 1e3)
    rows = np.array([0, 2, 3, 5, 6, 8, 9, 10])
    wide_x[rows], wide_y[rows] = x, y
    mask = np.isin(np.arange(11), rows)
    dense = model.fit_many(x[None], y[None], np.ones((1, 8), bool))
    padded = model.fit_many(wide_x[None], wide_y[None], mask[None])
    np.testing.assert_allclose(padded[1], dense[1], atol=1e-6)
    np.testing.assert_allclose(padded[0], dense[0], atol=1e-3)


def test_a_fit_does_not_depend_on_its_company():
    x, y = draws(np.random.default_rng(0), 7, 8, 1)
    together = model.fit_many(x, y, np.ones((7, 8), bool))[0]
    alone = model.fit_many(x[5:6], y[5:6], np.ones((1, 8), bool))[0]
    assert (together[5] == alone[0]).all()


def test_one_point_leaves_the_lengthscale_at_the_middle_guess():
    theta, _ = model.fit_many(np.full((1, 8, 1), 0.3), np.full((1, 8), 1.5), np.arange(8)[None] < 1)
    np.testing.assert_allclose(np.exp(theta[0, 1]), 0.3, rtol=1e-6)
    np.testing.assert_allclose(np.exp(theta[0, [0, 2]]).sum(), 1.5**2, rtol=1e-3)  # v + s2 = y^2


def test_likelihood_is_never_below_scikit_learns():
    """50 random data sets of 3 to 21 points in one and two dimensions."""
    rng = np.random.default_rng(0)
    for dim, capacity in ((1, 11), (2, 21)):
        x, y = draws(rng, 25, capacity, dim)
        count = rng.integers(3, capacity + 1, 25)
        _, ours = model.fit_many(x, y, np.arange(capacity) < count[:, None])
        theirs = [scikit_learn(x[i, :n], y[i, :n], restarts=3) for i, n in enumerate(count)]
        assert (ours - theirs).min() > -1e-5, f"D = {dim}: {(ours - theirs).min()}"
