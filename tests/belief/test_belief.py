"""The belief against dense Gaussian processes in double precision, and its invariances."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tinygp

from alx import belief as beliefs
from alx.belief import LIKELY, MEAN, PRIOR_SQUARE, Bank, add, bank, believe
from alx.history import History

CAPACITY = 9


def points(n: int, dim: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.uniform(size=(n, dim))
    return x, np.sin(5 * x[:, 0]) + x[:, -1] + 0.1 * random.normal(size=n)


@functools.partial(jax.jit, static_argnums=0)
def dense(rough: bool, kernel: Bank, x: jax.Array, y: jax.Array, at: jax.Array) -> tuple[jax.Array, ...]:
    """The Gram matrix of one kernel of the bank, its signal variance one, and what it says of f at points."""
    base = tinygp.kernels.Matern52 if rough else tinygp.kernels.ExpSquared
    distance = tinygp.kernels.distance.L2Distance()
    both = tinygp.transforms.Linear(1 / kernel.lengthscale, base(distance=distance))
    gp = tinygp.GaussianProcess(both + tinygp.kernels.Constant(MEAN), x, diag=kernel.noise)
    found = gp.condition(y, at).gp  # its variance is without noise
    return gp.covariance, found.loc, found.variance


def of_kernels(chosen, dim: int, x: np.ndarray, y: np.ndarray, at: np.ndarray) -> list[list[np.ndarray]]:
    """`dense` for some kernels of the bank, in double precision."""
    kernels = jax.tree.map(lambda a: np.asarray(a, float), bank(dim))
    with jax.enable_x64(True):
        each = [jax.tree.map(lambda a, index=index: a[index], kernels) for index in chosen]
        return [[np.asarray(a) for a in dense(bool(one.rough), one, x, y, at)] for one in each]


evidence, expect, likely, mean_and_variance = map(
    jax.jit, (beliefs.evidence, beliefs.expect, beliefs.likely, beliefs.mean_and_variance)
)
believe_jit, add_jit = jax.jit(believe), jax.jit(add)
empty = jax.jit(beliefs.empty, static_argnums=(0, 1))


@pytest.mark.parametrize("dim", [1, 3])
def test_evidence_is_that_of_a_dense_gp_with_the_signal_variance_integrated_out(dim):
    x, y = points(7, dim)
    log_evidence, _ = evidence(believe_jit(History.from_arrays(x, y, CAPACITY)))
    expected = []
    for gram, *_ in of_kernels(range(0, len(log_evidence), 9), dim, x, y, x[:5]):
        square = y @ np.linalg.solve(gram, y) + PRIOR_SQUARE
        expected.append(-0.5 * (8 * np.log(square) + np.linalg.slogdet(gram)[1]))
    # IG(1/2, 1/4) for the variance: p(y) is proportional to |K|^-1/2 (y' K^-1 y + 1/2)^-(n+1)/2.
    np.testing.assert_allclose(log_evidence[::9], expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dim", [1, 3])
def test_mean_and_variance_are_those_of_the_mixture_of_dense_gps(dim):
    x, y = points(7, dim)
    belief = believe_jit(History.from_arrays(x, y, CAPACITY))
    mixture, at = likely(belief), points(5, dim, seed=3)[0]
    log_evidence, _ = evidence(belief)
    best = np.argsort(-np.asarray(log_evidence + bank(dim).log_prior))[:LIKELY]
    means, variances = [], []
    for gram, loc, variance in of_kernels(best, dim, x, y, at):
        means.append(loc)
        variances.append(variance * (y @ np.linalg.solve(gram, y) + PRIOR_SQUARE) / 8)
    weight = np.asarray(mixture.weight)
    mean = weight @ means
    variance = weight @ (variances + np.square(means - mean))
    actual_mean, actual_variance = mean_and_variance(mixture, jnp.asarray(at, jnp.float32))
    np.testing.assert_allclose(actual_mean, mean, atol=2e-3)
    np.testing.assert_allclose(actual_variance, variance, rtol=0.02, atol=2e-4)


def test_points_one_by_one_are_the_points_at_once():
    x, y = points(7, 2)
    belief = empty(CAPACITY, 2)
    for row in zip(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32), strict=True):
        belief = add_jit(belief, *row)
    at_once = believe_jit(History.from_arrays(x, y, CAPACITY))
    for one, other in zip(evidence(belief), evidence(at_once), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=2e-3)


def test_order_padding_and_capacity_do_not_matter():
    x, y = points(6, 2)
    at = jnp.asarray(points(4, 2, seed=8)[0], jnp.float32)
    order = np.random.default_rng(1).permutation(6)
    padded = History.from_arrays(x, y, CAPACITY)
    padded = padded._replace(
        x=padded.x.at[6:].set(jnp.nan), y=padded.y.at[6:].set(jnp.nan)
    )  # whatever is in the padding
    expected = mean_and_variance(likely(believe_jit(History.from_arrays(x, y))), at)
    for history in (History.from_arrays(x[order], y[order]), padded):
        actual = mean_and_variance(likely(believe_jit(history)), at)
        np.testing.assert_allclose(actual, expected, atol=1e-3)


def test_a_pending_point_lowers_the_variance_and_leaves_the_rest_alone():
    x, y = points(6, 2)
    mixture = likely(believe_jit(History.from_arrays(x, y, CAPACITY)))
    place = jnp.array([0.9, 0.1])
    after = expect(mixture, place)
    at = jnp.asarray(points(5, 2, seed=4)[0], jnp.float32)
    np.testing.assert_allclose(
        mean_and_variance(after, at)[0], mean_and_variance(mixture, at)[0], atol=1e-4
    )  # each kernel expects its own mean
    before, now = (mean_and_variance(m, place[None])[1] for m in (mixture, after))
    assert now < 0.5 * before
    for name in ("signal", "weight", "log_weight", "white", "y", "told"):
        np.testing.assert_array_equal(getattr(after, name), getattr(mixture, name))


def test_a_pending_row_of_a_history_is_no_evidence_whatever_its_output():
    x, y = points(6, 2)
    for output in (0.0, 7.0, np.nan):
        history = History.from_arrays(x, y, CAPACITY)
        history = history._replace(y=history.y.at[5].set(output), pending=jnp.arange(CAPACITY) == 5)
        expected = evidence(believe_jit(History.from_arrays(x[:5], y[:5], CAPACITY)))
        for one, other in zip(evidence(believe_jit(history)), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_full_belief_takes_no_more():
    x, y = points(CAPACITY, 1)
    belief = believe_jit(History.from_arrays(x, y))
    after = add_jit(belief, jnp.array([0.5]), jnp.array(3.0))
    jax.tree.map(np.testing.assert_array_equal, after, belief)


def test_columns_of_one_group_share_a_lengthscale():
    x, y = points(6, 3)
    history = History.from_arrays(x, y)
    grouped = jax.jit(lambda h: believe(h, (0, 1, 1)))(history)
    mixture = likely(grouped)
    assert len(grouped.log_det) == len(bank(2).noise)
    np.testing.assert_array_equal(mixture.inverse_scale[:, 1], mixture.inverse_scale[:, 2])


def test_without_points_every_kernel_is_as_likely_as_its_prior():
    mixture = likely(empty(4, 2))
    mean, variance = mean_and_variance(mixture, jnp.array([[0.3, 0.4]]))
    assert mean == 0
    np.testing.assert_allclose(variance, PRIOR_SQUARE * (1 + MEAN), rtol=1e-5)
