"""The vectorised factor against LAPACK, its gradient against finite differences, its use against SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy.stats import multivariate_normal

from alx.gp import algebra as gp


def grams(n: int, *batch: int, seed: int = 0):
    """Well-conditioned positive definite matrices ``[n, n, *batch]``."""
    a = np.random.default_rng(seed).normal(size=(*batch, n, n))
    return np.moveaxis(a @ a.swapaxes(-1, -2) + n * np.eye(n), (-2, -1), (0, 1))


@pytest.mark.parametrize("batch", [(), (4,), (3, 2)])
def test_the_factor_is_the_cholesky_factor_of_each(batch):
    n, m = 5, 3
    gram, rhs = grams(n, *batch), np.random.default_rng(1).normal(size=(n, m, *batch))
    pivots, whitened = jax.jit(gp.factor)(np.float32(gram), np.float32(rhs))
    for index in np.ndindex(*batch):
        own = np.linalg.cholesky(gram[(..., *index)])
        np.testing.assert_allclose(pivots[(..., *index)], np.diag(own) ** 2, rtol=1e-5)
        exact = np.linalg.solve(own, rhs[(..., *index)])
        np.testing.assert_allclose(whitened[(..., *index)], exact, atol=1e-5)


def test_gradients_are_finite_differences():
    with jax.enable_x64(True):
        gram, rhs = jnp.asarray(grams(4, 2)), jnp.asarray(np.random.default_rng(2).normal(size=(4, 3, 2)))
        weight = np.random.default_rng(3).normal(size=(4, 3, 2))

        def value(gram, rhs):
            pivots, whitened = gp.factor((gram + gram.swapaxes(0, 1)) / 2, rhs)
            return (jnp.log(pivots) * weight[:, 0]).sum() + (weight * jnp.sin(whitened)).sum()

        check_grads(jax.jit(value), (gram, rhs), order=1, modes=["rev"], atol=1e-6, rtol=1e-6)


def test_one_matrix_serves_many_right_hand_sides_and_gathers_their_gradients():
    gram = np.float32(grams(4, 1))
    rhs = np.float32(np.random.default_rng(4).normal(size=(4, 2, 3)))

    @jax.jit
    @jax.value_and_grad
    def value(gram, rhs):
        pivots, whitened = gp.factor(gram, rhs)
        return jnp.log(pivots).sum() + (whitened**3).sum()

    shared, gradient = value(gram, rhs)
    repeated, each = value(gram.repeat(3, -1), rhs)
    np.testing.assert_allclose(shared, repeated, rtol=1e-6)
    np.testing.assert_allclose(gradient, each.sum(-1, keepdims=True), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("batch", [(), (4,), (3, 2)])
def test_solve_is_lapack_s(batch):
    gram, y = grams(5, *batch), np.random.default_rng(1).normal(size=(5, *batch))
    solution, log_det = jax.jit(gp.solve)(np.float32(gram), np.float32(y))
    for index in np.ndindex(*batch):
        own = gram[(..., *index)]
        np.testing.assert_allclose(solution[(..., *index)], np.linalg.solve(own, y[(..., *index)]), atol=1e-5)
        np.testing.assert_allclose(log_det[index], np.linalg.slogdet(own)[1], rtol=1e-5)


def test_gradients_of_solve_are_finite_differences():
    with jax.enable_x64(True):
        gram, y = jnp.asarray(grams(4, 2)), jnp.asarray(np.random.default_rng(2).normal(size=(4, 2)))
        weight = np.random.default_rng(3).normal(size=(4, 2))

        def value(gram, y):
            solution, log_det = gp.solve((gram + gram.swapaxes(0, 1)) / 2, y)
            return (weight * jnp.sin(solution)).sum() + (weight[0] * jnp.cos(log_det)).sum()

        check_grads(jax.jit(value), (gram, y), order=1, modes=["rev"], atol=1e-6, rtol=1e-6)


def test_back_substitution_solves():
    upper = np.triu(np.random.default_rng(5).normal(size=(5, 5)) + 4 * np.eye(5))
    rhs = np.random.default_rng(6).normal(size=(5, 2))
    full = upper + np.tril(np.ones((5, 5)), -1)  # what is below the diagonal is not read
    solved = jax.jit(gp.solve_upper)(np.float32(full)[..., None], np.float32(rhs)[..., None])
    np.testing.assert_allclose(solved[..., 0], np.linalg.solve(upper, rhs), atol=1e-5)


def test_log_density_and_conditional_are_those_of_the_normal_distribution():
    joint = grams(7)[..., None] / 7
    y = np.random.default_rng(7).normal(size=4)
    gram, cross, rest = joint[:4, :4], joint[:4, 4:], joint[4:, 4:, 0]
    rhs = np.concatenate([y[:, None, None], cross], axis=1)
    pivots, whitened = jax.jit(gp.factor)(np.float32(gram), np.float32(rhs))
    parts = gp.log_density(pivots, whitened[:, 0])
    for n in range(1, 5):  # every prefix
        exact = multivariate_normal(np.zeros(n), gram[:n, :n, 0]).logpdf(y[:n])
        np.testing.assert_allclose(parts[:n].sum(), exact, rtol=1e-5)
    mean, variance = gp.conditional(whitened[:, 0], whitened[:, 1:], np.float32(np.diag(rest))[:, None])
    solved = np.linalg.solve(gram[..., 0], cross[..., 0])
    np.testing.assert_allclose(mean[:, 0], solved.T @ y, atol=1e-5)
    np.testing.assert_allclose(variance[:, 0], np.diag(rest - cross[..., 0].T @ solved), atol=1e-5)


def test_a_singular_matrix_gives_finite_numbers_and_gradients():
    singular = np.ones((6, 6, 2), np.float32)

    @jax.jit
    @jax.value_and_grad
    def value(gram):
        pivots, whitened = gp.factor(gram, jnp.ones((6, 1, 2)))
        return gp.log_density(pivots, whitened[:, 0]).sum()

    result, gradient = value(singular + 1e-4 * np.eye(6, dtype=np.float32)[..., None])
    assert np.isfinite(result)
    assert np.isfinite(gradient).all()
    assert all(np.isfinite(part).all() for part in jax.jit(gp.factor)(singular, np.float32(singular[:, :1])))


def test_inverse_of_ill_conditioned_matrices_is_numpys():
    rng = np.random.default_rng(0)
    x = rng.random((20, 4, 1))
    gram = np.stack([100 * np.exp(-0.5 * np.square(x[:, b] - x[:, b].T) / 0.25) for b in range(4)], -1)
    gram += 1e-4 * np.eye(20)[..., None]
    with jax.enable_x64(True):
        inverse, log_det = (np.asarray(a) for a in jax.jit(gp.invert)(gram))
    for b in range(4):
        np.testing.assert_allclose(inverse[..., b] @ gram[..., b], np.eye(20), atol=1e-5)
        np.testing.assert_allclose(log_det[b], np.linalg.slogdet(gram[..., b])[1], rtol=1e-8)


@pytest.mark.parametrize("n", [5, gp.LARGEST_BLOCK + 1, 100])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_the_inverse_factor_is_that_of_lapack(n, batch):
    gram = grams(n, *batch)
    inverse = jax.jit(gp.inverse_factor)(np.float32(gram))
    for index in np.ndindex(*batch):
        exact = np.linalg.inv(np.linalg.cholesky(gram[(..., *index)]))
        np.testing.assert_allclose(inverse[(..., *index)], exact, atol=1e-5)


@pytest.mark.parametrize("n", [5, 2 * gp.SMALL_BLOCK + 1, 40])
def test_whitening_is_the_inverse_factor_with_the_batch_first(n):
    gram = np.moveaxis(grams(n, 3), -1, 0)
    exact = np.linalg.inv(np.linalg.cholesky(gram))
    np.testing.assert_allclose(jax.jit(gp.whiten)(np.float32(gram)), exact, atol=1e-5)
