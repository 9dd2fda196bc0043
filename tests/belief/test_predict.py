"""Predictions are Student t, calibrated by what the policy's network says, and so is the error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_policy import random_policy
from scipy import stats

import alx
from alx.belief import refine
from alx.belief.predict import error, interval, predict, seen, t_quantile
from alx.learner.model import T_90
from alx.network.deviation import FREEDOM
from alx.network.policy import deviation


@pytest.mark.parametrize(("double", "tolerance"), [(False, 2e-3), (True, 1e-10)])
def test_the_quantile_is_that_of_scipy(double, tolerance):
    p, freedom = np.meshgrid([0.5, 0.75, 0.9, 0.95, 0.995], [2.5, 6.0, 40.0])
    with jax.enable_x64(double):
        kind = np.float64 if double else np.float32
        found = np.asarray(t_quantile(p.astype(kind), freedom.astype(kind)))
    np.testing.assert_allclose(found, stats.t.ppf(p, freedom), rtol=tolerance, atol=tolerance)


def test_the_range_of_an_error_holds_nine_tenths_of_its_student_t():
    assert pytest.approx(stats.t.ppf(0.95, FREEDOM), abs=1e-4) == T_90


def test_the_quantile_is_a_small_program():
    assert len(str(jax.make_jaxpr(t_quantile)(0.95, jax.numpy.full(3, 6.0))).splitlines()) < 100


@pytest.fixture(scope="module")
def told():
    """A belief after six points in a history with room for more, and places."""
    random = np.random.default_rng(0)
    x, y = random.random((6, 2)), random.normal(size=6)
    return alx.believe(alx.History.from_arrays(x, y, 8)), jnp.asarray(random.random((20, 2)), jnp.float32)


def test_without_a_policy_the_error_is_the_root_of_the_mean_variance(told):
    belief, x = told
    rmse, spread = error(belief, x)
    _, sd = predict(belief, x)
    np.testing.assert_allclose(rmse, np.sqrt(np.square(sd).mean()), rtol=1e-5)
    np.testing.assert_allclose(spread, 2 / np.sqrt(6), rtol=1e-6)


def test_a_policy_changes_deviation_tails_and_error_as_its_network_says(told):
    """Also where some of the places are padding: then that counts for nothing."""
    belief, x = told
    policy, model = random_policy(), refine(belief)
    scene, mean, square = seen(model, x, jnp.ones(20, bool))
    found = deviation(policy.params, policy.config, scene)
    scale = np.asarray(np.sqrt(square) * np.exp(found.log_factor), float)
    freedom, mean = np.asarray(found.freedom, float), np.asarray(mean, float)
    assert np.ptp(found.log_factor) > 0.01
    assert np.ptp(freedom) > 0.01
    got_mean, sd = predict(model, x, policy)
    np.testing.assert_allclose(got_mean, mean, rtol=1e-5)
    np.testing.assert_allclose(sd, stats.t.std(freedom, scale=scale), rtol=1e-4)
    low, high = interval(model, x, 0.8, policy)
    np.testing.assert_allclose([low, high], stats.t.interval(0.8, freedom, mean, scale), rtol=1e-3, atol=1e-4)
    expected = np.sqrt(np.square(scale).mean()) * np.exp(found.log_error), np.exp(found.log_spread)
    np.testing.assert_allclose(error(model, x, policy=policy), expected, rtol=1e-4)
    padded, there = jnp.concatenate([x, jnp.zeros((12, 2))]), jnp.arange(32) < 20
    np.testing.assert_allclose(error(model, padded, there, policy), expected, rtol=1e-4)
