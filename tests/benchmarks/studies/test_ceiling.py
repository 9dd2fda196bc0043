"""Ceiling and simulated comparisons."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import wilcoxon

from alx.network import policy
from alx.network.policy import PolicyConfig
from alx.train import simulate
from alx.train.posterior import posterior
from alx.train.prior import PRIORS
from alx.train.rollout import Trajectory
from benchmarks.studies import active, ceiling, in_distribution, simulated

PRIOR = PRIORS["nonstationary"]


@pytest.fixture(scope="module")
def problem():
    return simulated.draw(PRIOR, PolicyConfig(1, 2, network="static"), functions=4, seed=0)


def log_variance(problem, queries):
    x = jnp.concatenate([problem.experiment.x[:, :1], queries], axis=1)
    return ceiling.log_variance(problem.prior, problem.experiment.theta, x, problem.test)


def test_the_clairvoyant_design_is_as_good_as_brute_force(problem):
    starts = [
        jnp.broadcast_to(jnp.array([[a, b]])[..., None], (1, 2, 4))
        for a, b in ((0.2, 0.7), (0.1, 0.4), (0.6, 0.9), (0.8, 0.95))
    ]
    found = log_variance(problem, ceiling.clairvoyant_queries(problem, starts, steps=300))
    grid = jnp.linspace(0, 1, 41)
    pairs = jnp.stack(jnp.meshgrid(grid, grid, indexing="ij")).reshape(2, -1)
    every = jax.jit(
        jax.vmap(lambda pair: log_variance(problem, jnp.broadcast_to(pair[None, :, None], (1, 2, 4))))
    )
    brute = every(pairs.T).min(0)
    assert (found <= brute + 0.02).all()
    assert (found >= brute - 0.1).all(), "and brute force is nearly as good, so both are right"


def test_the_share_is_between_static_and_clairvoyant():
    rng = np.random.default_rng(0)
    static = 1 + 0.1 * rng.random(200)
    rows = {"static": static, "clairvoyant": static - 0.4, "policy": static - 0.1}
    assert ceiling.share(rows) == pytest.approx((0.25, 0.0), abs=1e-12)
    rows["policy"] = static - 0.1 + 0.2 * rng.normal(size=200)
    ratio, error = ceiling.share(rows)
    assert error == pytest.approx(0.2 / 200**0.5 / 0.4, rel=0.2)
    assert abs(ratio - 0.25) < 4 * error


def test_greedy_takes_the_candidate_with_the_largest_variance(problem):
    queries = simulated.greedy_queries(problem)
    x = jnp.concatenate([problem.experiment.x[:, :1], queries[:, :1]], axis=1)
    given = Trajectory(x, jnp.zeros(x.shape[1:]), jnp.ones((2, 1), bool), 1)
    candidates = jnp.linspace(0, 1, 2001)[None, :, None]
    variance = posterior(PRIOR, problem.experiment.theta, given, candidates)[1]
    chosen = posterior(PRIOR, problem.experiment.theta, given, queries[:, 1:])[1]
    np.testing.assert_allclose(chosen[0], variance.max(0), rtol=1e-2)


def test_a_blind_policy_does_not_see_the_outputs():
    config = PolicyConfig(1, 3)
    params = policy.init(jax.random.key(0), config)
    params["outer_move"]["kernel"] = jax.random.normal(
        jax.random.key(1), params["outer_move"]["kernel"].shape
    )
    problem = simulated.draw(PRIOR, config, functions=5, seed=0)
    problem = problem._replace(experiment=problem.experiment._replace(x=problem.experiment.x.at[:].set(0.3)))
    seeing = simulated.policy_queries(problem, params, config)
    blind = simulated.policy_queries(problem, params, config, blind=True)
    assert np.ptp(blind, axis=-1).max() < 1e-6 < np.ptp(seeing, axis=-1).min()


def test_rmse_is_that_of_the_posterior_mean(problem):
    queries = simulated.random_queries(problem)
    x = jnp.concatenate([problem.experiment.x[:, :1], queries], axis=1)
    y = simulate.observe(PRIOR, problem.experiment, x, problem.experiment.noise)
    trajectory = Trajectory(x, y, jnp.ones((3, 1), bool), 2)
    mean = posterior(PRIOR, problem.experiment.theta, trajectory, problem.test)[0]
    truth = simulate.observe(PRIOR, problem.experiment, problem.test, 0.0)
    expected = np.sqrt(np.square(np.asarray(mean - truth)).mean(0))
    np.testing.assert_allclose(simulated.rmse(problem, queries), expected, rtol=1e-5)


def test_a_dense_design_is_fitted_as_well_without_knowing_theta():
    config = PolicyConfig(1, 30, network="static")
    problem = simulated.draw(PRIORS["paper"], config, functions=5, seed=1)
    queries = simulated.sobol_queries(problem)
    known, fitted = simulated.rmse(problem, queries), simulated.rmse_refitted(problem, queries)
    assert fitted.shape == (5,)
    assert np.median(fitted / np.asarray(known)) < 2.5


def test_a_curve_ends_at_the_rmse_after_all_queries(problem):
    queries = simulated.random_queries(problem)
    curve = active.rmse_by_query(problem, queries)
    assert curve.shape == (3, 4)
    np.testing.assert_allclose(curve[-1], simulated.rmse(problem, queries), rtol=1e-5)
    assert curve[0].mean() > curve[-1].mean()


def test_the_report_has_a_row_for_each_way_and_the_share(capsys):
    rng = np.random.default_rng(0)
    names = ("random", "sobol", "gp-al", "static", "blind", "policy", "clairvoyant")
    rows = {name: 2 - 0.2 * i + 0.01 * rng.random(50) for i, name in enumerate(names)}
    result = ceiling.report(rows, {name: 2 * values for name, values in rows.items()}, "a title")
    printed = capsys.readouterr().out
    assert all(name in printed for name in (*names, "share of the ceiling: 67 %"))
    assert result["share"] == pytest.approx(2 / 3, abs=0.01)
    assert result["refitted"]["policy"] == pytest.approx(2 * result["rmse"]["policy"])
    assert max(result["p"].values()) < 1e-6


def test_fresh_functions_are_compared_in_pairs():
    config = PolicyConfig(1, 3, network="static")
    fresh = policy.Policy(policy.init(jax.random.key(0), config), config)
    cells = in_distribution.row(fresh, PRIOR, functions=30, seed=3)
    random, sobol, greedy, own, p_random, p_sobol, ratio = (float(cell) for cell in cells)
    problem = simulated.draw(PRIOR, config, 30, 3)
    ways = [simulated.policy_queries(problem, fresh.params, config)]
    ways += [simulated.random_queries(problem), simulated.sobol_queries(problem)]
    by_hand = [np.asarray(simulated.rmse(problem, queries), float) for queries in ways]
    np.testing.assert_allclose((own, random, sobol), np.mean(by_hand, 1), atol=1e-4)
    np.testing.assert_allclose(ratio, own / greedy, atol=2e-2)
    for p, other in ((p_random, by_hand[1]), (p_sobol, by_hand[2])):
        np.testing.assert_allclose(p, wilcoxon(by_hand[0] - other, alternative="less").pvalue, rtol=0.1)
