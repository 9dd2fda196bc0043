"""The networks that map points to a point: functions of a set, in any transformation and dimension."""

import jax
import numpy as np
import pytest
import small_networks
from random_policy import random_policy
from small_networks import DESIGN, SUMS

from alx.network import policy
from alx.network.policy import PolicyConfig

apply = jax.jit(policy.apply, static_argnums=1)
every_network = pytest.mark.parametrize("network", ["paper", SUMS])
N, BATCH = 4, 3


def points(dim: int, n: int = N, seed: int = 0):
    rng = np.random.default_rng([dim, seed])
    return np.float32(rng.random((dim, n, BATCH))), np.float32(rng.normal(size=(n, BATCH)))


def count(config: PolicyConfig) -> int:
    shapes = jax.eval_shape(lambda: policy.init(jax.random.key(0), config))
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))


def test_the_network_of_the_paper_has_its_parameters():
    assert count(PolicyConfig(1, 10, network="paper")) == 47_105
    assert count(PolicyConfig(2, 20, network="paper")) == 48_130


def test_weights_start_uniform_up_to_one_over_the_root_of_the_inputs_and_the_encoders_at_five_times_that():
    params = policy.init(jax.random.key(0), PolicyConfig(2, 20, network="paper"))
    for layer, inputs, scale in (
        (params["encoder"]["inner"], 3, 5),
        (params["encoder"]["outer"], 512, 1),
        (params["first"]["query"], 32, 1),
        (params["decoder"]["inner"], 32, 1),
    ):
        weights = np.abs(layer["kernel"]) * inputs**0.5 / scale
        assert 0.99 < weights.max() <= 1
        np.testing.assert_allclose(weights.mean(), 0.5, atol=0.03)


@pytest.mark.parametrize("dim", [1, 3])
@every_network
def test_it_is_a_function_of_the_set(network, dim):
    params, config = random_policy(dim, 6, network).params, PolicyConfig(dim, 6, network=network)
    x, y = points(dim)
    answer = apply(params, config, x, y, np.ones((N, BATCH), bool))
    assert answer.shape == (dim, BATCH)
    assert ((answer > 0) & (answer < 1)).all()
    rng = np.random.default_rng(0)
    order, rubbish = rng.permutation(N + 2), np.float32(rng.normal(size=(dim + 1, 2, BATCH)))
    padded = np.concatenate([x, rubbish[:-1]], 1), np.concatenate([y, rubbish[-1]])
    mask = np.arange(N + 2)[:, None] < np.array([N] * BATCH)
    for rows in (np.arange(N + 2), order):
        same = apply(params, config, padded[0][:, rows], padded[1][rows], mask[rows])
        np.testing.assert_allclose(same, answer, atol=1e-5)


@every_network
def test_a_batch_is_one_by_one_and_vmap(network):
    params, config = random_policy(2, 6, network).params, PolicyConfig(2, 6, network=network)
    x, y = points(2)
    mask = np.arange(N)[:, None] < np.array([1, 3, 4])  # histories of different sizes
    answer = apply(params, config, x, y, mask)
    mapped = jax.jit(jax.vmap(lambda *a: policy.apply(params, config, *a), -1, -1))(x, y, mask)
    np.testing.assert_allclose(answer, mapped, atol=1e-5)
    own = policy.apply(params, config, x[:, :3, 1], y[:3, 1], np.ones(3, bool))  # not compiled
    np.testing.assert_allclose(answer[:, 1], own, atol=1e-5)


@every_network
def test_the_answer_depends_on_every_point_and_on_no_other(network):
    params, config = random_policy(1, 6, network).params, PolicyConfig(1, 6, network=network)
    x, y = points(1)
    mask = np.arange(N)[:, None] < np.array([4, 2, 1])
    for argument in (0, 1):
        slope = jax.jit(jax.grad(lambda *a: policy.apply(params, config, *a, mask).sum(), argument))(x, y)
        np.testing.assert_array_equal(slope.reshape(N, BATCH) != 0, mask)


@every_network
def test_an_empty_history_has_an_answer(network):
    params, config = random_policy(2, 6, network).params, PolicyConfig(2, 6, n_init=0, network=network)
    x, y = points(2)
    answer = apply(params, config, x, y, np.zeros((N, BATCH), bool))
    assert np.isfinite(answer).all()
    np.testing.assert_array_equal(answer, apply(params, config, 1 - x, -y, np.zeros((N, BATCH), bool)))


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ((0, 5), "dim"),
        ((1.5, 5), "dim"),
        ((1, 0), "T"),
        ((1, 5, -1), "n_init"),
        ((1, 5, 1, "deep"), "network"),
        ((1, 5, 1, "judge"), "network"),
        ((1, 5, 1, "nowhere:Network"), "network"),
        ((1, 5, 1, "small_networks:ROWS"), "network"),
    ],
)
def test_a_config_that_makes_no_sense_names_the_field(wrong, name):
    with pytest.raises(ValueError, match=rf"^{name} must be"):
        PolicyConfig(*wrong)


def test_a_network_of_ones_own_is_named_by_its_module_and_needs_no_registration():
    assert count(PolicyConfig(1, 10, network=SUMS)) == 3 * 8 + 9
    assert count(PolicyConfig(2, 10, network=DESIGN)) == 2 * small_networks.ROWS
