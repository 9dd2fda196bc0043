"""The fit that training knows against the one of highest likelihood, found by looking everywhere."""

import itertools

import dense
import jax
import numpy as np
import pytest
import simulated

from alx.network.policy import PolicyConfig
from alx.train import refit, simulate
from alx.train.prior import PRIORS, Prior
from alx.train.rollout import Trajectory
from alx.train.simulate import Batch
from benchmarks.evaluation.model import LENGTHSCALE

CONFIG = PolicyConfig(1, 10)
BATCH = 12


def profile(theta, x, y):
    """Log likelihood with the signal variance at its best, up to a constant."""
    gram = dense.covariance(Prior(), theta, x, x) + theta.noise * np.eye(len(x))
    return -0.5 * (np.linalg.slogdet(gram)[1] + len(y) * np.log(y @ np.linalg.solve(gram, y)))


def single(index, trajectory):
    return np.asarray(trajectory.x, float)[..., index].T, np.asarray(trajectory.y, float)[:, index]


def lattice(dim):
    sides = [np.linspace(0, 1, 25)] * (dim + 1)
    return [dense.pick(refit.model(np.array(place)[:, None]), 0) for place in itertools.product(*sides)]


@pytest.fixture(scope="module", params=["unit", "paper"])
def measured(request):
    prior = PRIORS[request.param]
    experiment = simulated.experiments(prior, CONFIG, Batch(BATCH))
    y = jax.jit(simulate.observe, static_argnums=0)(prior, experiment, experiment.x, experiment.noise)
    return experiment.theta, Trajectory(experiment.x, y, np.ones((CONFIG.capacity, 1), bool), CONFIG.T)


def test_the_search_finds_the_highest_likelihood(measured):
    _, trajectory = measured
    guesses = np.asarray(jax.jit(refit.search)(jax.random.key(0), *measured))
    everywhere = lattice(1)
    for i in range(BATCH):
        x, y = single(i, trajectory)
        own = [dense.pick(refit.model(guess), i) for guess in guesses]
        found = max(profile(theta, x, y) for theta in own)
        assert found > max(profile(theta, x, y) for theta in everywhere) - 0.5


def test_the_prediction_is_that_of_the_best_fit(measured):
    """Over all functions the distance is small beside what is predicted."""
    _, trajectory = measured
    at = np.linspace(0, 1, 41)[None, :, None]
    means = np.asarray(jax.jit(refit.fitted_mean)(jax.random.key(0), *measured, at))
    everywhere, exact = lattice(1), []
    for i in range(BATCH):
        x, y = single(i, trajectory)
        theta = max(everywhere, key=lambda theta: profile(theta, x, y))
        gram = dense.covariance(Prior(), theta, x, x) + theta.noise * np.eye(len(x))
        exact.append(dense.covariance(Prior(), theta, at[0], x) @ np.linalg.solve(gram, y))
    distance = np.sqrt(np.square(means.T - exact).mean(1))
    assert np.median(distance) < 0.2 * np.std(exact)


def test_the_search_is_as_wide_as_the_fit_of_the_evaluation():
    low, high = (refit.model(np.full((2, 1), place)).lengthscale[0, 0] for place in (0.0, 1.0))
    np.testing.assert_allclose([low, high], LENGTHSCALE, rtol=1e-5)


def test_a_rough_function_has_a_lengthscale_below_the_distance_of_the_points():
    """Measured twice with the same result, it is not noise; the prediction between the points is zero."""
    x = np.repeat(np.linspace(0, 1, 11, dtype=np.float32), 2)[None, :, None]
    y = np.repeat(np.float32([1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1]), 2)[:, None]
    trajectory = Trajectory(x, y, np.ones((22, 1), bool), 21)
    smooth = refit.model(np.ones((2, 1), np.float32))
    guesses = jax.jit(refit.search)(jax.random.key(0), smooth, trajectory)
    assert max(refit.model(guess).lengthscale[0, 0] for guess in guesses) < 0.07
    assert max(refit.model(guess).noise[0] for guess in guesses) < 0.1
    between = jax.jit(refit.fitted_mean)(jax.random.key(0), smooth, trajectory, x[:, :-2:2] + 0.05)
    assert np.abs(between).max() < 0.2


def test_the_place_of_a_model_is_its_guess():
    guess = np.array([[0.1, 0.5], [0.3, 0.9], [0.6, 0.02]], np.float32)
    np.testing.assert_allclose(refit.theta_to_unit(refit.model(guess)), guess, atol=1e-5)


def test_an_oscillation_shortens_the_lengthscale():
    """cos(f r) exp(-r^2 / 2 l^2) = 1 - (1/l^2 + f^2) r^2 / 2 + .., as an RBF with that curvature."""
    theta = refit.model(np.full((2, 1), 0.8, np.float32))
    shorter = refit.model(refit.theta_to_unit(theta._replace(frequency=np.full((1, 1), 3.0, np.float32))))
    np.testing.assert_allclose(shorter.lengthscale**-2, theta.lengthscale**-2 + 9, rtol=1e-4)


def test_the_search_is_not_behind_the_truth():
    """With many points the likelihood has a narrow peak near the truth, which guesses everywhere may miss."""
    x = np.random.default_rng(0).random((2, 40, BATCH), np.float32)
    theta = refit.model(np.repeat(np.float32([[0.3], [0.33], [0.05]]), BATCH, axis=1))
    y = np.zeros((40, BATCH), np.float32)
    for i in range(BATCH):
        single_x, own = x[..., i].T, dense.pick(theta, i)
        gram = dense.covariance(Prior(), own, single_x, single_x) + own.noise * np.eye(40)
        y[:, i] = np.linalg.cholesky(gram) @ np.random.default_rng(i).normal(size=40)
    trajectory = Trajectory(x, y, np.ones((40, 1), bool), 39)
    guesses = jax.jit(refit.search)(jax.random.key(0), theta, trajectory)
    for i in range(BATCH):
        data = single(i, trajectory)
        found = max(profile(dense.pick(refit.model(guess), i), *data) for guess in guesses)
        assert found > profile(dense.pick(theta, i), *data) - 0.2


def test_what_is_predicted_scales_with_the_outputs(measured):
    theta, trajectory = measured
    at = np.linspace(0, 1, 9, dtype=np.float32)[None, :, None]
    predict = jax.jit(refit.fitted_mean)
    once = predict(jax.random.key(0), theta, trajectory, at)
    scaled = predict(jax.random.key(0), theta, trajectory._replace(y=1000 * trajectory.y), at)
    np.testing.assert_allclose(scaled, 1000 * once, rtol=1e-2, atol=5)
