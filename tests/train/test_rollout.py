"""Rollouts by scan against a plain loop, and the levels of a batch."""

import dataclasses
import functools

import dense
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import simulated
from random_policy import random_policy
from small_networks import DESIGN, SUMS

from alx.network import policy
from alx.network.policy import PolicyConfig
from alx.train import rollout, simulate
from alx.train.functions import evaluate
from alx.train.objectives import OBJECTIVES
from alx.train.prior import PRIORS, Prior
from alx.train.rollout import Trajectory
from alx.train.simulate import Batch

PRIOR = PRIORS["nonstationary"]
apply = jax.jit(policy.apply, static_argnums=1)


@functools.partial(jax.jit, static_argnums=(1, 2))
def nonmyopic(params, config, prior, experiment):
    return rollout.nonmyopic(params, config, prior, experiment)[:3]


@functools.partial(jax.jit, static_argnums=(2, 3))
def myopic(key, params, config, prior, experiment):
    return rollout.myopic(key, params, config, prior, experiment)[:3]


def plain_loop(params, config, experiment, index):
    """One experiment, the history growing by a point at a time, f evaluated in NumPy."""
    theta, function = dense.pick(experiment.theta, index), dense.pick(experiment.function, index)
    noise = np.asarray(experiment.noise, float)[:, index]
    x = np.asarray(experiment.x, float)[:, : config.n_init, index].T
    y = dense.evaluate(PRIOR, theta, function, x) + noise[: config.n_init]
    for t in range(config.n_init, config.capacity):
        query = apply(params, config, np.float32(x).T, np.float32(y), np.ones(t, bool))
        x = np.vstack([x, query])
        y = np.append(y, dense.evaluate(PRIOR, theta, function, x[-1:]) + noise[t])
    return x.T, y


@pytest.mark.parametrize(
    ("dim", "network", "T", "n_init"),
    [(1, SUMS, 7, 1), (2, "paper", 4, 2), (5, DESIGN, 3, 0), (1, "paper", 2, 0)],
)
def test_the_scan_is_the_plain_loop(dim, network, T, n_init):
    config = PolicyConfig(dim, T, n_init, network)
    params = random_policy(dim, T, network).params
    experiment = simulated.experiments(PRIOR, config, Batch(3))
    x, y, mask = nonmyopic(params, config, PRIOR, experiment)
    assert x.shape == (dim, n_init + T, 3)
    assert mask.all()
    for i in range(2):
        x_loop, y_loop = plain_loop(params, config, experiment, i)
        np.testing.assert_allclose(x[..., i], x_loop, atol=2e-3)
        np.testing.assert_allclose(y[..., i], y_loop, atol=2e-2)


def test_a_batch_is_its_experiments_one_by_one():
    config = PolicyConfig(2, 3, network=SUMS)
    params = random_policy(2, 3, SUMS).params
    experiment = simulated.experiments(PRIOR, config, Batch(4))
    x, y, _ = nonmyopic(params, config, PRIOR, experiment)
    for i in (0, 3):
        own = jax.tree.map(lambda a, i=i: a[..., i : i + 1], experiment)
        for one, all_ in zip(nonmyopic(params, config, PRIOR, own), (x, y), strict=False):
            np.testing.assert_allclose(one[..., 0], all_[..., i], atol=1e-4)


def test_the_gradient_flows_through_the_whole_history():
    """Against a finite difference in float64, along a random direction of all weights."""
    config = PolicyConfig(1, 3, network=SUMS)
    experiment = simulated.experiments(Prior(), config, Batch(2))
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        params = jax.tree.map(lambda a: jnp.asarray(a, float), random_policy(1, 3, SUMS).params)
        experiment = jax.tree.map(lambda a: np.asarray(a, float) if a.dtype.kind == "f" else a, experiment)
        direction = jax.tree.map(lambda a: rng.normal(size=a.shape) / a.size**0.5, params)

        @jax.jit
        def value(step):
            moved = jax.tree.map(lambda a, b: a + step * b, params, direction)
            x, y, _, _ = rollout.nonmyopic(moved, config, Prior(), experiment)
            return (x.sum(0) * y).sum()

        assert value(0.0).dtype == jnp.float64
        slope = float(jax.jit(jax.grad(value))(0.0))
        difference = float(value(1e-5) - value(-1e-5)) / 2e-5
    np.testing.assert_allclose(slope, difference, rtol=1e-6)
    assert abs(slope) > 1e-4


@pytest.mark.parametrize(("network", "n_init"), [(SUMS, 0), (SUMS, 3), ("paper", 1)])
def test_the_backward_rule_is_the_derivative_of_the_plain_loop(network, n_init, monkeypatch):
    """Over two segments, with weights on every x and y so that each has a gradient of its own.

    The loop is a scan over whole histories, with what is not yet there masked, and JAX's own derivative.
    """
    monkeypatch.setattr(rollout, "SHORTEST", 2)
    bound, config, prior = 30.0, PolicyConfig(2, 3, n_init, network), Prior()
    experiment = simulated.experiments(prior, config, Batch(3))
    params = random_policy(2, 3, network).params
    weights = np.random.default_rng(1).normal(size=(3, config.capacity, 3))

    def loop(params):
        def step(points, count):
            x, y = points
            mask = jnp.arange(config.capacity)[:, None] < count
            query = rollout._bounded(policy.apply(params, config, x, y, mask)[:, None], bound)
            noise = jax.lax.dynamic_slice_in_dim(experiment.noise, count, 1)
            new = simulate.observe(prior, experiment, query, noise)
            put = jax.lax.dynamic_update_slice_in_dim
            return (put(x, query, count, axis=1), put(y, new, count, axis=0)), None

        given = simulate.observe(prior, experiment, experiment.x, experiment.noise)
        counts = jnp.arange(n_init, config.capacity)
        (x, y), _ = jax.lax.scan(step, (jnp.asarray(experiment.x), given), counts)
        return (weights[:2] * x).sum() + (weights[2] * y).sum()

    def scan(params):
        x, y, _, _ = rollout.nonmyopic(params, config, prior, experiment, bound)
        return (weights[:2] * x).sum() + (weights[2] * y).sum()

    assert len(rollout.segments(config)) == 2
    expected, found = (jax.jit(jax.grad(f))(params) for f in (loop, scan))
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        np.testing.assert_allclose(b, a, atol=2e-4 * np.abs(a).max() + 1e-6)
    assert any(np.abs(a).max() > 0.01 for a in jax.tree.leaves(expected))


def test_what_flows_back_through_a_query_is_bounded_for_each_experiment():
    """Common gradients pass as they are; one that exploded keeps its direction."""
    g = np.float32([[3.0, 3000.0, 0.0], [4.0, 4000.0, 0.0]])[:, None]
    (bounded,) = jax.vjp(lambda x: rollout._bounded(x, 60.0), jnp.zeros_like(g))[1](g)
    np.testing.assert_allclose(bounded[..., 0], g[..., 0])
    np.testing.assert_allclose(bounded[:, 0, 1], [12, 16], rtol=1e-6)  # 60 over 3 experiments
    np.testing.assert_allclose(bounded[..., 2], 0)


def test_the_bound_holds_for_all_that_a_trajectory_sends_back():
    config = PolicyConfig(1, 3, network=SUMS)
    experiment = simulated.experiments(PRIOR, config, Batch(2))
    params = random_policy(1, 3, SUMS).params

    def norm(bound):
        queries = lambda params: rollout.nonmyopic(params, config, PRIOR, experiment, bound).x  # noqa: E731
        gradient = jax.grad(lambda params: queries(params).sum())(params)
        return np.sqrt(sum(np.square(leaf).sum() for leaf in jax.tree.leaves(gradient)))

    assert norm(1e-6) < 1e-3 * norm(np.inf)


def test_experiments_of_a_kernel_share_it_and_its_grid():
    config, batch = PolicyConfig(2, 2), Batch(2, 3, 2)
    experiment = jax.jit(lambda a, b: simulate.simulate(a, b, PRIOR, config, batch, 5))(
        jax.random.key(0), jax.random.key(1)
    )
    assert experiment.noise.shape == (3, 12)
    assert experiment.grid.shape == (2, 5, 2)
    levels = lambda a: np.asarray(a).reshape(*a.shape[:-1], 2, 3, 2)  # noqa: E731
    scale = levels(experiment.theta.lengthscale)
    assert (scale == scale[..., :1, :1]).all()
    assert (scale[:, 0] != scale[:, 1]).all()
    weights = levels(experiment.function.weights)
    assert (weights[..., 0] == weights[..., 1]).all()
    assert (weights[:, :, 0] != weights[:, :, 1]).all()
    for own in (experiment.x, experiment.noise, experiment.noise_grid):
        assert len(np.unique(own)) == own.size
    sd = np.sqrt(experiment.theta.noise)
    assert np.abs(experiment.noise / sd).max() < 5


@pytest.mark.parametrize("prior", ["paper", "nonstationary", "unit"])
def test_f_at_the_grid_is_that_of_each_experiment(prior):
    config, batch = PolicyConfig(2, 2), Batch(2, 3, 2)
    experiment = jax.jit(lambda a, b: simulate.simulate(a, b, PRIORS[prior], config, batch, 5))(
        jax.random.key(0), jax.random.key(1)
    )
    grid = jnp.repeat(experiment.grid, 6, axis=-1)
    expected = evaluate(PRIORS[prior], experiment.theta, experiment.function, grid)
    np.testing.assert_allclose(experiment.f_grid, expected, atol=1e-5)


def test_standardised_functions_are_the_same_at_unit_variance():
    kernels, each = 200, 6
    prior = Prior(lengthscale=dist.Uniform(0.05, 2.0), standardised=True)

    @functools.partial(jax.jit, static_argnums=0)
    def drawn(prior):
        keys = jax.random.key(4), jax.random.key(5)
        return simulate.simulate(*keys, prior, PolicyConfig(2, 2), Batch(kernels, 3, 2), n_grid=100)

    plain, scaled = drawn(dataclasses.replace(prior, standardised=False)), drawn(prior)
    spread = np.sqrt(np.square(plain.f_grid).reshape(100, kernels, each).mean((0, 2)))
    smallest = simulate.SMALLEST_SPREAD * np.sqrt(plain.theta.variance[::each])
    assert 0 < (spread < smallest).mean() < 0.5, "some are too smooth, most are not"
    scale = np.repeat(np.maximum(spread, smallest), each)
    np.testing.assert_allclose(scaled.f_grid, plain.f_grid / scale, rtol=1e-5)
    np.testing.assert_allclose(scaled.theta.variance, plain.theta.variance / scale**2, rtol=1e-5)
    np.testing.assert_array_equal(scaled.theta.noise, plain.theta.noise)
    np.testing.assert_array_equal(scaled.noise, plain.noise)


@pytest.mark.parametrize(
    ("T", "n_init"), [(1, 0), (1, 1), (2, 0), (10, 1), (20, 1), (5, 3), (30, 1), (80, 7)]
)
def test_segments_cover_the_queries_in_order_with_odd_capacities(T, n_init):
    cut = rollout.segments(PolicyConfig(1, T, n_init))
    assert [count for segment in cut for count in segment] == list(range(n_init, n_init + T))
    assert all(segment[-1] % 2 for segment in cut[:-1])
    assert len(cut) <= 6


def test_noise_has_the_variance_of_theta():
    config = PolicyConfig(1, 9)
    experiment = jax.jit(lambda a, b: simulate.simulate(a, b, PRIOR, config, Batch(300), 10))(
        jax.random.key(2), jax.random.key(3)
    )
    for noise in (experiment.noise, experiment.noise_grid):
        scaled = np.asarray(noise / np.sqrt(experiment.theta.noise))
        np.testing.assert_allclose(scaled.std(), 1, atol=0.06)


def test_myopic_histories_have_every_size_equally_often():
    config = PolicyConfig(1, 4, n_init=2, network=SUMS)
    experiment = simulated.experiments(PRIOR, config, Batch(2))
    params = random_policy(1, 4, SUMS).params
    sizes = []
    for key in jax.random.split(jax.random.key(0), 200):
        *_, mask = myopic(key, params, config, PRIOR, experiment)
        mask = np.broadcast_to(mask, (6, 2))
        assert mask[-1].all(), "the last point is the query"
        sizes.append(int(mask[:-1, 0].sum()))
    sizes = np.array(sizes)
    counts = np.bincount(sizes, minlength=7)
    assert counts[:2].sum() == counts[6:].sum() == 0
    assert counts[2:6].min() > 25, "four sizes in 200 draws: 50 of each, give or take 6"


@pytest.mark.parametrize("network", [SUMS, "paper"])
def test_a_myopic_query_is_the_policys_answer_to_its_history(network):
    config = PolicyConfig(2, 4, n_init=1, network=network)
    experiment, params = simulated.experiments(PRIOR, config, Batch(3)), random_policy(2, 4, network).params
    for seed in range(3):
        x, y, mask = myopic(jax.random.key(seed), params, config, PRIOR, experiment)
        size = int(mask[:-1, 0].sum())
        given = np.ones((size, 3), bool)
        np.testing.assert_allclose(x[:, -1], apply(params, config, x[:, :size], y[:size], given), atol=1e-4)
        np.testing.assert_array_equal(x[:, :size], experiment.x[:, :size])
        for i in range(3):
            theta, function = dense.pick(experiment.theta, i), dense.pick(experiment.function, i)
            f = dense.evaluate(PRIOR, theta, function, np.asarray(x, float)[..., i].T)
            np.testing.assert_allclose(y[..., i], f + experiment.noise[..., i], atol=1e-4)


@pytest.mark.parametrize("n_init", [0, 1, 3])
def test_with_one_query_myopic_is_nonmyopic(n_init):
    config = PolicyConfig(1, 1, n_init, SUMS)
    experiment, params = simulated.experiments(PRIOR, config, Batch(3)), random_policy(1, 1, SUMS).params
    one = myopic(jax.random.key(0), params, config, PRIOR, experiment)
    whole = nonmyopic(params, config, PRIOR, experiment)
    for a, b in zip(one[:2], whole[:2], strict=True):
        np.testing.assert_allclose(a[..., -1, :], b[..., -1, :], atol=1e-5)
    for name in ("entropy", "regularized-entropy-v2"):
        loss = jax.jit(
            lambda t, f=OBJECTIVES[name]: f(jax.random.key(1), PRIOR, experiment, Trajectory(*t, 1))
        )
        np.testing.assert_allclose(loss(one), loss(whole), atol=2e-4)
