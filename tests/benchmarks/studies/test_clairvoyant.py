"""The learner that knows the true kernel: what it takes, how it is judged, a policy's share of its gain."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alx.train.posterior import posterior
from alx.train.rollout import Trajectory
from benchmarks.studies import clairvoyant
from benchmarks.studies.clairvoyant import PRIOR
from benchmarks.studies.regimes_methods import Regime, State

REGIME = Regime(2, 2)


@pytest.fixture(scope="module")
def experiment():
    return clairvoyant.simulate(2, REGIME, 4, 0)


@pytest.fixture(scope="module")
def state():
    x = np.random.default_rng(0).random((4, 4, 2))
    return State([f"f{i}" for i in range(4)], 3, x, np.zeros((4, 4)), REGIME)


@jax.jit
def _posterior(experiment, x, y, grid):
    """Mean and variance ``[g, B]`` given points ``x [D, n, B]``, ``y [n, B]``."""
    points = Trajectory(x, y, jnp.ones(y.shape, bool), 1)
    return posterior(PRIOR, experiment.theta, points, grid)[:2]


def _variance(experiment, x, grid):
    """Mean over the grid ``[B]`` after measuring at ``x [D, n, B]``."""
    return np.asarray(_posterior(experiment, x, jnp.zeros(x.shape[1:]), grid)[1]).mean(0)


def test_the_reduction_is_that_of_the_variance_after_one_more_label(experiment, state):
    """Against posteriors with and without the place; a masked point has no influence."""
    places, grid = (np.float32(clairvoyant._places(state, name, 128)) for name in ("places", "grid"))
    x, mask = np.float32(state.x.T), np.broadcast_to((np.arange(4) < 3)[:, None], (4, 4))
    gains = clairvoyant._reduction(experiment.theta, x, mask, places, grid)
    before = _variance(experiment, x[:, :3], grid)
    for i in range(3):
        after = _variance(experiment, np.concatenate([x[:, :3], places[:, i : i + 1]], 1), grid)
        np.testing.assert_allclose(gains[i], before - after, rtol=2e-3, atol=2e-5)
    moved = clairvoyant._reduction(experiment.theta, x * mask, mask, places, grid)
    np.testing.assert_array_equal(gains, moved)


def test_the_clairvoyant_takes_the_best_of_its_places(experiment, state):
    chosen = clairvoyant.clairvoyant(experiment)(state)
    places, grid = (clairvoyant._places(state, name, 128) for name in ("places", "grid"))
    x = np.float32(state.x.T[:, :3])

    def after(place):
        new = np.float32(place).reshape(2, 1, -1)
        return _variance(experiment, np.concatenate([x, new], 1), np.float32(grid))

    left = after(chosen.T)
    for i in range(0, clairvoyant.PLACES, 9):
        assert np.all(left <= after(places[:, i]) + 2e-5)
    assert all(any(np.array_equal(own, place) for place in places[:, :, i].T) for i, own in enumerate(chosen))


def _nothing(x, y, at):
    return jnp.zeros(len(at))


def test_the_error_is_expected_under_the_true_kernel(experiment, state, monkeypatch):
    """Of a mean of zero it is E[f^2] = var f + (E f)^2; the size of parts does not matter."""
    y = np.random.default_rng(1).standard_normal((4, 4))
    mean, variance = _posterior(experiment, np.float32(state.x.T), np.float32(y.T), experiment.grid)
    expected = np.log((variance + mean**2).mean(0))
    np.testing.assert_allclose(clairvoyant.errors(experiment, state.x, y, _nothing), expected, rtol=1e-4)
    monkeypatch.setattr(clairvoyant, "TOGETHER", 3)
    np.testing.assert_allclose(clairvoyant.errors(experiment, state.x, y, _nothing), expected, rtol=1e-4)


def test_all_start_from_the_given_points_and_the_same_labels(experiment):
    """A method that repeats the Sobol design gains nothing, and the clairvoyant something else."""
    gains = clairvoyant.compare(2, REGIME, {"same": clairvoyant.sobol}, 4, 0)
    assert list(gains) == ["clairvoyant", "same"]
    np.testing.assert_array_equal(gains["same"], 0)
    assert np.all(gains["clairvoyant"] != 0)


def test_the_share_is_a_ratio_of_means():
    random = np.random.default_rng(0)
    ceiling = -1 + 0.1 * random.standard_normal(400)
    assert clairvoyant.share(0.5 * ceiling, ceiling) == pytest.approx((0.5, 0))
    gain = 0.7 * ceiling + 0.2 * random.standard_normal(400)
    ratio, error = clairvoyant.share(gain, ceiling)
    draws = random.integers(0, 400, (2000, 400))
    bootstrap = gain[draws].mean(1) / ceiling[draws].mean(1)
    assert ratio == pytest.approx(bootstrap.mean(), abs=0.002)
    assert error == pytest.approx(bootstrap.std(), rel=0.1)
    text = clairvoyant.line(2, "8:12", {"clairvoyant": ceiling, "alx": 0.5 * ceiling})
    assert text.endswith("| 50 % ± 0 % |")
    assert text.count("|") == clairvoyant.header(["alx"]).splitlines()[0].count("|")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "nothing"], "nothing"),
        (["--regimes", "corner-8:12"], "--regimes must be some of 0:8, 1:10"),
        (["--dims", "0"], "--dims must be at least 1, got 0"),
        (["--functions", "1"], "--functions must be at least 2 for a standard error, got 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["clairvoyant", *arguments])
    assert clairvoyant.main() == 2
    assert message in capsys.readouterr().err
