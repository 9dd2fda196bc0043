"""propose is a pure function of a set of points, in whatever transformation it is put."""

import logging
import time

import chex
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from jax.sharding import Mesh, PartitionSpec
from random_policy import random_policy

import alx
from alx import History
from alx.propose import impute_mean, impute_nearest

networks = pytest.mark.parametrize("network", ["anchors", "paper"])


def some_history(n: int, dim: int = 2, capacity: int = 7, seed: int = 0) -> History:
    rng = np.random.default_rng(seed)
    return History.from_arrays(rng.random((n, dim)), rng.normal(size=n), capacity)


def simulate(x):
    return jnp.sin(9 * x).sum()


@networks
def test_order_and_padding_have_no_influence(network):
    policy, history = random_policy(network=network), some_history(5)
    answer = alx.propose(policy, history)
    dense = History(history.x[:5], history.y[:5], history.mask[:5])
    order = np.random.default_rng(1).permutation(7)
    shuffled = jax.tree.map(lambda a: a[order], history)
    rows = ~history.mask
    rubbish = History(
        jnp.where(rows[:, None], jnp.nan, history.x), jnp.where(rows, jnp.inf, history.y), history.mask
    )
    for other in (dense, shuffled, rubbish):
        np.testing.assert_allclose(alx.propose(policy, other), answer, atol=1e-5)


@networks
def test_the_answer_depends_on_every_point(network):
    policy, history = random_policy(network=network), some_history(3)
    gradient = jax.grad(lambda y: alx.propose(policy, history._replace(y=y)).sum())(history.y)
    assert (jnp.abs(gradient[:3]) > 0).all()
    assert (gradient[3:] == 0).all()


@networks
def test_the_gradient_is_the_finite_difference(network):
    policy, history = random_policy(network=network), some_history(4)

    @jax.jit
    def answer(x):
        return alx.propose(policy, history._replace(x=x))

    direction = jnp.asarray(np.random.default_rng(3).normal(size=history.x.shape), history.x.dtype)
    step = 1e-3
    slope = (answer(history.x + step * direction) - answer(history.x - step * direction)) / (2 * step)
    weights = jnp.array([0.3, -0.8], slope.dtype)
    (pulled,) = jax.vjp(answer, history.x)[1](weights)
    np.testing.assert_allclose(jnp.vdot(pulled, direction), jnp.vdot(weights, slope), atol=2e-3)


@networks
def test_one_compilation_serves_a_whole_budget(network):
    policy = random_policy(network=network)
    chex.clear_trace_counter()

    @jax.jit
    @chex.assert_max_traces(n=1)
    def step(policy, history):
        x = alx.propose(policy, history)
        return history.append(x, simulate(x))

    history = History.empty(7, 2)
    for _ in range(7):
        history = step(policy, history)
    assert history.mask.all()


def test_several_policies_at_once_are_each_alone():
    policies = [random_policy(seed=seed) for seed in (0, 1)]
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *policies)
    history = some_history(3)
    expected = np.stack([alx.propose(policy, history) for policy in policies])
    np.testing.assert_allclose(jax.vmap(alx.propose, (0, None))(together, history), expected, atol=1e-5)
    both = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), history)
    np.testing.assert_allclose(jax.vmap(alx.propose)(together, both), expected, atol=1e-5)
    assert np.abs(expected[0] - expected[1]).max() > 1e-3


@networks
def test_a_scan_and_a_vmap_equal_the_loop(network):
    policy, experiments = random_policy(network=network), 1000
    starts = jnp.asarray(np.random.default_rng(0).random((experiments, 2)), jnp.float32)

    def begin(x):
        return History.empty(4, 2).append(x, simulate(x))

    def closed_loop(x):
        def step(history, _):
            x = alx.propose(policy, history)
            return history.append(x, simulate(x)), x

        return jax.lax.scan(step, begin(x), None, length=3)[1]

    together = jax.jit(jax.vmap(closed_loop))(starts)
    step = jax.jit(lambda history, x: history.append(x, simulate(x)))
    for row in (0, 499, 999):
        history = begin(starts[row])
        for t in range(3):
            x = alx.propose(policy, history)
            np.testing.assert_allclose(x, together[row, t], atol=2e-5)
            history = step(history, x)
    histories = jax.vmap(begin)(starts)
    at_once = jax.vmap(alx.propose, (None, 0))(policy, histories)
    for row in range(experiments):
        one = jax.tree.map(lambda a, row=row: a[row], histories)
        np.testing.assert_allclose(alx.propose(policy, one), at_once[row], atol=1e-5)


def test_it_runs_in_shard_map():
    policy = random_policy()
    histories = jax.tree.map(lambda a: jnp.stack([a, a]), some_history(5))
    mesh = Mesh(np.array(jax.devices()[:1]), ("experiment",))
    spec = PartitionSpec("experiment")
    run = jax.shard_map(
        jax.vmap(alx.propose, (None, 0)), mesh=mesh, in_specs=(PartitionSpec(), spec), out_specs=spec
    )
    answer = alx.propose(policy, some_history(5))
    np.testing.assert_allclose(run(policy, histories), jnp.stack([answer, answer]), atol=1e-6)


@networks
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_whatever_the_numbers_the_answer_is_a_finite_point_of_the_cube(network, data):
    capacity = data.draw(st.sampled_from([1, 7]))
    n = data.draw(st.integers(0, capacity))
    coordinate = st.sampled_from([0.0, 1.0, 0.5, 0.5]) | st.floats(0, 1, width=32)
    output = st.sampled_from([0.0, 1e-30, 1e30, -1e30, 1e6, 1.0]) | st.floats(-(2.0**100), 2.0**100, width=32)
    x = data.draw(st.lists(st.tuples(coordinate, coordinate), min_size=n, max_size=n))
    y = data.draw(st.lists(output, min_size=n, max_size=n))
    history = History.from_arrays(np.reshape(x, (n, 2)), np.reshape(y, n), capacity)
    answer = alx.propose(random_policy(network=network), history)
    assert answer.shape == (2,)
    assert ((answer >= 0) & (answer <= 1)).all()


def test_a_larger_capacity_works_and_says_so_once(caplog):
    policy, history = random_policy(seed=5, T=3), some_history(3)
    with caplog.at_level(logging.WARNING, "alx"):
        np.testing.assert_allclose(
            alx.propose(policy, history), alx.propose(policy, some_history(3, capacity=4)), atol=1e-6
        )
        alx.propose(policy, history)
    assert [record.message for record in caplog.records] == [
        "The capacity 7 is larger than the 4 points this policy was trained for; "
        "queries beyond those are outside what it has learned."
    ]


def test_another_dimension_is_refused():
    with pytest.raises(ValueError, match=r"for 2 inputs.* with 3"):
        alx.propose(random_policy(), some_history(2, dim=3))
    with pytest.raises(ValueError, match="vmap"):
        alx.propose(random_policy(), jax.tree.map(lambda a: a[None], some_history(2)))


def test_a_pool_gives_the_nearest_point_and_none_twice():
    policy, history = random_policy(), some_history(4)
    pool = np.random.default_rng(0).random((30, 2))
    target = np.asarray(alx.propose(policy, history))
    order = np.argsort(np.linalg.norm(pool - target, axis=1))
    available = np.ones(30, bool)
    under_jit = jax.jit(alx.propose_from_pool)
    for expected in order:
        index = alx.propose_from_pool(policy, history, pool, available)
        assert index == expected == under_jit(policy, history, pool, available)
        available[index] = False
    with pytest.raises(ValueError, match="exhausted"):
        alx.propose_from_pool(policy, history, pool, available)
    assert under_jit(policy, history, pool, available) == -1


@pytest.mark.parametrize(("pool", "available"), [((5, 3), 5), ((5, 2), 4), ((0, 2), 0), ((5,), 5)])
def test_a_pool_that_does_not_fit_is_refused(pool, available):
    with pytest.raises(ValueError, match="pool"):
        alx.propose_from_pool(random_policy(), some_history(2), np.zeros(pool), np.ones(available, bool))


def test_a_million_points_in_ten_dimensions_take_less_than_a_second():
    policy, history = random_policy(dim=10), some_history(4, dim=10)
    pool = jnp.asarray(np.random.default_rng(0).random((1_000_000, 10)), jnp.float32)
    available = jnp.ones(len(pool), bool)
    alx.propose_from_pool(policy, history, pool, available).block_until_ready()
    begin = time.perf_counter()
    alx.propose_from_pool(policy, history, pool, available).block_until_ready()
    assert time.perf_counter() - begin < 1


@pytest.mark.parametrize(("network", "dim", "q"), [("anchors", 1, 8), ("paper", 2, 16)])
def test_a_batch_is_distinct_and_spread_even_when_the_policy_insists_on_one_place(network, dim, q):
    policy = random_policy(dim=dim, network=network)
    stubborn = alx.Policy(jax.tree.map(lambda a: 0 * a, policy.params), policy.config)
    for each in (policy, stubborn):
        points = np.asarray(alx.propose_batch(each, some_history(3, dim), q))
        assert points.shape == (q, dim)
        assert ((points >= 0) & (points <= 1)).all()
        distance = np.linalg.norm(points[:, None] - points, axis=-1) + 10 * np.eye(q)
        assert distance.min() >= 0.25 * q ** (-1 / dim) - 1e-6


def test_a_batch_is_the_loop_with_imputed_outputs():
    policy, history = random_policy(), some_history(3)
    for impute in (impute_mean, impute_nearest):
        batch = np.asarray(alx.propose_batch(policy, history, 2, impute))
        first = np.asarray(alx.propose(policy, history))
        np.testing.assert_allclose(batch[0], first, atol=1e-6)
        x, y = np.asarray(history.x[:3]), np.asarray(history.y[:3])
        closest = y[np.argmin(np.linalg.norm(x - first, axis=1))]
        guess = y.mean() if impute is impute_mean else closest
        second = np.asarray(alx.propose(policy, history.append(first, guess)))
        if np.linalg.norm(second - first) > 0.25 * 2**-0.5:
            np.testing.assert_allclose(batch[1], second, atol=1e-5)
    assert impute_nearest(History.empty(3, 2), jnp.zeros(2)) == 0
    with pytest.raises(ValueError, match="q must be"):
        alx.propose_batch(policy, history, 0)
