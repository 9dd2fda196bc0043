"""propose is a pure function of a set of points, in whatever transformation it is put."""

import functools

import chex
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from jax.sharding import Mesh, PartitionSpec
from random_policy import random_policy
from untrained import untrained

import alx
from alx import History, belief
from alx.belief import places
from alx.network.batched import CHUNK
from alx.propose import score_places

networks = pytest.mark.parametrize("network", ["judge", "paper"])


def some_history(n: int, dim: int = 2, capacity: int = 7, seed: int = 0) -> History:
    rng = np.random.default_rng(seed)
    return History.from_arrays(rng.random((n, dim)), rng.normal(size=n), capacity)


def simulate(x):
    return jnp.sin(9 * x).sum()


mixture_of = jax.jit(lambda history: belief.likely(belief.believe(history)))


@functools.cache
def pull(network: str):
    """What a change of the answer by some weights is to x and y."""
    policy = random_policy(network=network)

    def answer(x, y, history):
        return alx.propose(policy, history._replace(x=x, y=y))

    return jax.jit(
        lambda history, weights: jax.vjp(lambda x, y: answer(x, y, history), *history[:2])[1](weights)
    )


@networks
def test_order_and_padding_have_no_influence(network):
    policy, history = random_policy(network=network), some_history(5)
    answer = alx.propose(policy, history, remaining=2)
    dense = History(history.x[:5], history.y[:5], history.mask[:5])
    order = np.random.default_rng(1).permutation(7)
    shuffled = jax.tree.map(lambda a: a[order], history)
    rows = ~history.mask
    rubbish = History(
        jnp.where(rows[:, None], jnp.nan, history.x), jnp.where(rows, jnp.inf, history.y), history.mask
    )
    for other in (dense, shuffled, rubbish):
        np.testing.assert_allclose(alx.propose(policy, other, remaining=2), answer, atol=1e-4)


@networks
def test_the_answer_depends_on_every_point(network):
    _, gradient = pull(network)(some_history(3), jnp.ones(2))
    assert (jnp.abs(gradient[:3]) > 0).all()
    assert (gradient[3:] == 0).all()


@networks
def test_the_gradient_is_the_finite_difference(network):
    policy, history = random_policy(network=network), some_history(4)

    def answer(x):
        return alx.propose(policy, history._replace(x=x))

    direction = jnp.asarray(np.random.default_rng(3).normal(size=history.x.shape), history.x.dtype)
    step = 1e-3 if network == "paper" else 1e-4  # between two places that are equally good, it jumps
    slope = (answer(history.x + step * direction) - answer(history.x - step * direction)) / (2 * step)
    weights = jnp.array([0.3, -0.8], slope.dtype)
    pulled, _ = pull(network)(history, weights)
    np.testing.assert_allclose(jnp.vdot(pulled, direction), jnp.vdot(weights, slope), atol=2e-3)
    if network == "judge":  # forward mode, too, which the rules written for the paper's network do not have
        pushed = jax.jit(lambda x: jax.jvp(answer, (x,), (direction,))[1])(history.x)
        np.testing.assert_allclose(jnp.vdot(weights, pushed), jnp.vdot(pulled, direction), atol=1e-5)


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
    one_for_all = jax.jit(jax.vmap(alx.propose, (0, None)))(together, history)
    np.testing.assert_allclose(one_for_all, expected, atol=1e-5)
    both = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), history)
    np.testing.assert_allclose(jax.jit(jax.vmap(alx.propose))(together, both), expected, atol=1e-5)
    assert np.abs(expected[0] - expected[1]).max() > 1e-3


@pytest.mark.parametrize(("network", "experiments"), [("judge", 34), ("paper", CHUNK + 2)])
def test_a_scan_and_a_vmap_equal_the_loop(network, experiments):
    """With more experiments than are computed together."""
    policy = random_policy(network=network)
    starts = jnp.asarray(np.random.default_rng(0).random((experiments, 2)), jnp.float32)

    @jax.jit
    def step(history, x):
        return history.append(x, simulate(x))

    def closed_loop(x):
        def next_one(history, _):
            x = alx.propose(policy, history)
            return step(history, x), x

        return jax.lax.scan(next_one, step(History.empty(7, 2), x), None, length=3)[1]

    together = jax.jit(jax.vmap(closed_loop))(starts)
    begin = jax.vmap(step, (None, 0))(History.empty(7, 2), starts)
    at_once = jax.jit(jax.vmap(alx.propose, (None, 0)))(policy, begin)
    for row in range(experiments):
        history = jax.tree.map(lambda a, row=row: np.asarray(a)[row], begin)
        np.testing.assert_allclose(alx.propose(policy, history), at_once[row], atol=1e-5)
    for row in (0, experiments // 2, experiments - 1):
        history = jax.tree.map(lambda a, row=row: np.asarray(a)[row], begin)
        for t in range(3):
            x = alx.propose(policy, history)
            np.testing.assert_allclose(x, together[row, t], atol=2e-5)
            # From there on: the last bit of a point may decide which of two kernels is the sixth.
            history = step(history, together[row, t])


def test_it_runs_in_shard_map():
    policy = random_policy()
    histories = jax.tree.map(lambda a: jnp.stack([a, a]), some_history(5))
    mesh = Mesh(np.array(jax.devices()[:1]), ("experiment",))
    spec = PartitionSpec("experiment")
    run = jax.shard_map(
        jax.vmap(alx.propose, (None, 0)), mesh=mesh, in_specs=(PartitionSpec(), spec), out_specs=spec
    )
    answer = alx.propose(policy, some_history(5))
    np.testing.assert_allclose(jax.jit(run)(policy, histories), jnp.stack([answer, answer]), atol=1e-6)


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


def test_another_dimension_is_refused():
    with pytest.raises(ValueError, match=r"for 2 inputs.* with 3"):
        alx.propose(random_policy(network="paper"), some_history(2, dim=3))
    with pytest.raises(ValueError, match="vmap"):
        alx.propose(random_policy(), jax.tree.map(lambda a: a[None], some_history(2)))


def test_the_network_of_the_paper_takes_the_nearest_point_of_a_pool_and_none_twice():
    policy, history = random_policy(network="paper"), some_history(4)
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


def test_a_pool_gives_its_best_point_and_none_twice():
    policy, history = random_policy(), some_history(4)
    pool = jnp.asarray(np.random.default_rng(0).random((12, 2)), jnp.float32)
    available = np.ones(12, bool)
    mixture = mixture_of(history)
    score = jax.jit(lambda ok: score_places(policy, mixture, 3, pool, ok, pool, jnp.ones(12, bool)))
    while available.any():
        index = alx.propose_from_pool(policy, history, pool, available)
        assert index == np.argmax(score(jnp.asarray(available)))
        assert available[index]
        available[index] = False
    with pytest.raises(ValueError, match="exhausted"):
        alx.propose_from_pool(policy, history, pool, available)
    assert jax.jit(alx.propose_from_pool)(policy, history, pool, available) == -1


def test_a_large_pool_gives_nearly_the_place_that_the_whole_domain_does():
    policy = untrained()
    history = some_history(5)
    pool = np.random.default_rng(0).random((20_000, 2))
    available = np.ones(len(pool), bool)
    available[::2] = False
    index = alx.propose_from_pool(policy, history, pool, available)
    assert available[index]
    assert np.linalg.norm(pool[index] - np.asarray(alx.propose(policy, history))) < 0.1


@pytest.mark.parametrize(("pool", "available"), [((5, 3), 5), ((5, 2), 4), ((0, 2), 0), ((5,), 5)])
def test_a_pool_that_does_not_fit_is_refused(pool, available):
    with pytest.raises(ValueError, match="pool"):
        alx.propose_from_pool(random_policy(), some_history(2), np.zeros(pool), np.ones(available, bool))


@networks
def test_a_batch_is_the_loop_with_pending_points(network):
    policy, history = random_policy(network=network), some_history(3)
    batch = np.asarray(alx.propose_batch(policy, history, 4))
    state = history._replace(pending=jnp.zeros(7, bool))
    for number, expected in enumerate(batch):
        x = alx.propose(policy, state, remaining=4 - number)
        np.testing.assert_allclose(x, expected, atol=2e-3)
        row = 3 + number
        state = state.append(expected, jnp.nan)._replace(pending=jnp.arange(7) >= 3)
        assert state.count == row + 1
    with pytest.raises(ValueError, match="q must be"):
        alx.propose_batch(policy, history, 0)


def test_a_batch_of_the_general_policy_is_spread():
    points = np.asarray(alx.propose_batch(untrained(), some_history(3), 4))
    distance = np.linalg.norm(points[:, None] - points, axis=-1) + 10 * np.eye(4)
    assert distance.min() > 0.1


def test_the_untrained_policy_takes_the_place_that_lowers_the_integrated_variance_most():
    history = some_history(6, capacity=8)
    mixture = mixture_of(history)
    spots, grid = places.first_places(2, 6), places.grid_places(2, 6)
    ok, covered = jnp.ones(len(spots), bool), jnp.ones(len(grid), bool)
    found = jax.jit(places.describe)(mixture, jnp.asarray(2), spots, ok, grid, covered)
    # cov^2 / (var + noise) over the grid, kernel by kernel, from dense matrices in double precision
    gain = np.zeros(len(spots))
    for kernel in range(len(mixture.weight)):
        one = jax.tree.map(lambda a: np.asarray(a, np.float64), mixture)

        def covariance(a, b, kernel=kernel, one=one):
            square = np.square((np.asarray(a)[:, None] - np.asarray(b)) * one.inverse_scale[kernel]).sum(-1)
            r = np.sqrt(5 * square)
            k = np.exp(-r) * (1 + r + r**2 / 3) if one.rough[kernel] else np.exp(-square / 2)
            return k + belief.MEAN

        x = one.x[:6]
        gram = covariance(x, x) + one.noise[kernel] * np.eye(6)
        explained = np.linalg.solve(gram, covariance(x, np.concatenate([spots, grid])))
        both = np.concatenate([spots, grid])
        posterior = covariance(both, both) - covariance(both, x) @ explained
        cross, variance = posterior[:128, 128:], np.diag(posterior)[:128]
        gain += (
            one.weight[kernel]
            * one.signal[kernel]
            * np.square(cross).mean(1)
            / (variance + one.noise[kernel])
        )
    np.testing.assert_allclose(np.exp(found.gain), gain, rtol=0.02, atol=1e-5)
    scores = jax.jit(score_places)(untrained(), mixture, 2, spots, ok, grid, covered)
    np.testing.assert_allclose(scores, 3 * np.log(gain + 1e-9), atol=0.1)


@pytest.mark.parametrize("dim", [1, 2, 3, 6, *(pytest.param(dim, marks=pytest.mark.slow) for dim in (4, 5))])
def test_one_file_serves_every_number_of_inputs(dim):
    answer = alx.propose(alx.load(), some_history(3, dim))
    assert answer.shape == (dim,)
    assert ((answer >= 0) & (answer <= 1)).all()


def test_swapped_inputs_swap_the_proposal_to_within_the_spacing_of_places():
    policy = untrained()
    answers = []
    for order in ([0, 1], [1, 0]):
        history = some_history(6)
        answers.append(np.asarray(alx.propose(policy, history._replace(x=history.x[:, order])))[order])
    np.testing.assert_allclose(answers[0], answers[1], atol=2 * places.FIRST**-0.5)


def test_a_pending_output_changes_nothing():
    policy, history = random_policy(), some_history(5)
    history = history._replace(pending=jnp.arange(7) == 4)
    answers = [alx.propose(policy, history._replace(y=history.y.at[4].set(y))) for y in (0.0, 9.0, jnp.nan)]
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_odd_histories_have_finite_answers():
    policy, random = alx.load(), np.random.default_rng(0)
    corner = 0.05 * random.random((60, 2))
    for x in (corner, np.full((60, 2), 0.5), np.repeat(random.random((6, 2)), 10, 0)):
        for y in (random.normal(size=60), np.zeros(60), 1e3 * random.normal(size=60)):
            answer = alx.propose(policy, History.from_arrays(x, y))
            assert ((answer >= 0) & (answer <= 1)).all()


def test_an_input_that_does_not_matter_is_not_explored():
    """With a function of the first input alone, queries spread there and care less for the second."""
    x = np.random.default_rng(0).random((12, 2))
    mixture = mixture_of(History.from_arrays(x, np.sin(9 * x[:, 0])))
    scale = np.exp(-np.asarray(mixture.weight) @ np.log(mixture.inverse_scale))
    assert scale[1] > 3 * scale[0]


def test_remaining_is_the_free_capacity_and_at_least_one():
    policy, history = random_policy(), some_history(5)
    np.testing.assert_array_equal(alx.propose(policy, history), alx.propose(policy, history, remaining=2))
    full = History(*(a[:5] for a in history[:3]))
    np.testing.assert_allclose(alx.propose(policy, full), alx.propose(policy, full, remaining=1))
