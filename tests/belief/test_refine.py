"""The refined kernels: their evidence, that it only rises, and what does not matter."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_belief import mean_and_variance, points

from alx.belief import MEAN, PRIOR_SQUARE, believe, likely, refine
from alx.history import History

CAPACITY = 14
module = sys.modules["alx.belief.refine"]
refined = jax.jit(lambda history: refine(believe(history)))
before = jax.jit(lambda history: likely(believe(history), module.KERNELS))


def evidence(mixture, kernel: int, x: np.ndarray, y: np.ndarray) -> float:
    """log p(y) of a kernel of a mixture plus its log prior, dense and in double precision."""
    scale, rough = np.asarray(mixture.inverse_scale[kernel], float), bool(mixture.rough[kernel])
    noise = float(mixture.noise[kernel])
    r = np.sqrt(np.square((x[:, None] - x) * scale).sum(-1))
    u = np.sqrt(5) * r
    k = (1 + u + u**2 / 3) * np.exp(-u) if rough else np.exp(-(r**2) / 2)
    gram = k + MEAN + noise * np.eye(len(x))
    square = y @ np.linalg.solve(gram, y) + PRIOR_SQUARE
    log_noise = np.log(noise * square / len(x))  # of the noise variance itself
    off = np.append(-np.log(scale), log_noise) - np.array([np.log(0.6)] * len(scale) + [np.log(0.02)])
    off /= np.array([1.2] * len(scale) + [2.5])
    log_prior = -np.log1p(off**2).sum()
    return -0.5 * (len(x) * np.log(square) + np.linalg.slogdet(gram)[1]) + log_prior


def test_every_kernel_becomes_likelier_and_is_weighed_by_what_it_reached():
    x, y = points(11, 2)
    history = History.from_arrays(x, y, CAPACITY)
    start, end = before(history), refined(history)
    reached = np.array([evidence(end, i, x, y) for i in range(module.KERNELS)])
    first = np.array([evidence(start, i, x, y) for i in range(module.KERNELS)])
    assert (reached > first - 1e-3).all()
    assert reached.max() > first.max() + 0.1
    np.testing.assert_allclose(end.weight, np.exp(reached) / np.exp(reached).sum(), atol=5e-3)
    np.testing.assert_array_equal(end.rough, start.rough)


def test_the_best_kernel_is_at_a_summit():
    x, y = points(11, 2)
    end = refined(History.from_arrays(x, y, CAPACITY))
    best = int(np.argmax(end.weight))
    top = evidence(end, best, x, y)
    for factor in (0.8, 1.25):
        for column in range(2):
            other = end._replace(inverse_scale=end.inverse_scale.at[:, column].multiply(factor))
            assert evidence(other, best, x, y) < top + 1e-3
        assert evidence(end._replace(noise=end.noise * factor), best, x, y) < top + 1e-3


def test_order_and_padding_do_not_matter():
    x, y = points(11, 2)
    at = jnp.asarray(points(5, 2, seed=3)[0], jnp.float32)
    order = np.random.default_rng(1).permutation(11)
    history = History.from_arrays(x, y, CAPACITY)
    padded = history._replace(x=history.x.at[11:].set(0.5), y=history.y.at[11:].set(9.0))
    expected = mean_and_variance(refined(history), at)
    for other in (History.from_arrays(x[order], y[order], CAPACITY), padded):
        np.testing.assert_allclose(mean_and_variance(refined(other), at), expected, atol=5e-3)


def test_columns_of_one_group_keep_one_lengthscale():
    x, y = points(9, 3)
    mixture = jax.jit(lambda h: refine(believe(h, (0, 1, 1))))(History.from_arrays(x, y))
    np.testing.assert_array_equal(mixture.inverse_scale[:, 1], mixture.inverse_scale[:, 2])
    assert (mixture.inverse_scale[:, 0] != mixture.inverse_scale[:, 1]).any()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_points_are_enough_for_an_answer(n):
    x, y = points(n, 2)
    mixture = refined(History.from_arrays(x.reshape(n, 2), y, CAPACITY))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(mixture))


def test_without_noise_double_precision_is_far_closer():
    x = points(12, 1)[0]
    y = np.sin(6 * x[:, 0])
    at = np.linspace(0.1, 0.9, 9)[:, None]
    with jax.enable_x64(True):
        history = History(jnp.asarray(x), jnp.asarray(y), jnp.ones(12, bool))
        mean, _ = mean_and_variance(jax.jit(lambda h: refine(believe(h)))(history), jnp.asarray(at))
        assert np.abs(mean - np.sin(6 * at[:, 0])).max() < 2e-3


def test_a_smooth_function_is_not_held_back():
    """The product of two inputs, whose likely kernels have long lengthscales and a signal far above y's."""
    random = np.random.default_rng(0)
    found = []
    for _ in range(6):
        x, at = random.random((20, 2)), random.random((200, 2))
        y = 9 * (x - 0.5).prod(1) + 0.1 * random.standard_normal(20)
        with jax.enable_x64(True):
            history = History(jnp.asarray(x), jnp.asarray(y), jnp.ones(20, bool))
            mean = np.asarray(mean_and_variance(refined(history), jnp.asarray(at))[0])
        found.append(np.sqrt(np.square(mean - 9 * (at - 0.5).prod(1)).mean()))
    assert np.mean(np.log(found)) < -1.9  # -2.00; held back by a prior of the ratio of noise to signal -1.80
