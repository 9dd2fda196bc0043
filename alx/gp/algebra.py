"""Gaussian-process algebra on small Gram matrices, for many experiments at once.

Matrices are ``[n, m, ...]`` with experiments on the trailing axes. A column of all experiments is
eliminated at a time with plain array code: for matrices this small that beats thousands of LAPACK calls,
it is the same on every device, and it cannot hang (XLA's CPU thread pool can, with several batched LAPACK
calls in one program on few cores).
"""

import jax
import jax.numpy as jnp
from jax import Array

__all__ = [
    "conditional",
    "factor",
    "inverse_factor",
    "invert",
    "log_density",
    "solve",
    "solve_upper",
    "times",
    "whiten",
]

LARGEST_BLOCK = 32  # a matrix of at most so many rows is eliminated column by column
SMALL_BLOCK = 8  # and so many where the batch leads, for there products are cheap


@jax.custom_vjp
def factor(gram: Array, rhs: Array) -> tuple[Array, Array]:
    """Cholesky factor of ``gram [n, n, ...]`` applied to ``rhs [n, m, ...]``.

    With gram = L L^T this returns the pivots ``d [n, ...]``, d_i = L_ii^2 (the variance of observation i
    given those before it), and ``L^-1 rhs [n, m, ...]``.
    """
    pivots, whitened, _ = _eliminate(gram, rhs)
    return pivots, whitened


def _eliminate(gram: Array, rhs: Array, unroll: bool = False) -> tuple[Array, Array, Array]:
    n = gram.shape[0]
    rows = jnp.arange(n).reshape(n, *(1,) * (gram.ndim - 1))
    # No pivot of a positive definite matrix is smaller than its smallest eigenvalue; rounding may make
    # one so, and this keeps its root finite.
    tiny = 1e-6 * jnp.finfo(gram.dtype).eps ** 0.5

    def column(j, state):
        table, pivots = state
        row = table[j]
        pivot = jnp.maximum(row[j], tiny)
        row = row * jax.lax.rsqrt(pivot)
        # By symmetry the row is the column of L; only the rows below are still to be reduced.
        below = jnp.where(rows > j, row[:n, None], 0)
        return (table - below * row).at[j].set(row), pivots.at[j].set(pivot)

    batch = jnp.broadcast_shapes(gram.shape[2:], rhs.shape[2:])
    table = jnp.concatenate([_expand(gram, batch), _expand(rhs, batch)], axis=1)
    table, pivots = jax.lax.fori_loop(0, n, column, (table, jnp.zeros_like(table[:, 0])), unroll=unroll)
    return pivots, table[:, n:], table[:, :n]


def _expand(matrix: Array, batch: tuple[int, ...]) -> Array:
    return jnp.broadcast_to(matrix, matrix.shape[:2] + batch)


def _factor_forward(gram, rhs):
    pivots, whitened, upper = _eliminate(gram, rhs)
    return (pivots, whitened), (pivots, whitened, upper, gram, rhs)


def _factor_backward(residuals, cotangents):
    """With W = L^-1 R:  R' = L^-T W',  K' = L^-T (low(-W' W^T) + diag(d d')) L^-1, symmetrised.

    low() takes the lower triangle and half of the diagonal (Murray 2016, arXiv 1602.07527).
    """
    pivots, whitened, upper, gram, rhs = residuals
    g_pivots, g_whitened = cotangents
    n = upper.shape[0]
    eye = jnp.eye(n, dtype=upper.dtype).reshape(n, n, *(1,) * (upper.ndim - 2))
    low = jnp.tril(jnp.ones((n, n), upper.dtype)).reshape(eye.shape) - 0.5 * eye
    inner = -low * jnp.einsum("im...,jm...->ij...", g_whitened, whitened) + eye * (pivots * g_pivots)
    solved = solve_upper(upper, jnp.concatenate([g_whitened, inner], axis=1))
    g_rhs, half = solved[:, :-n], solved[:, -n:]
    g_gram = solve_upper(upper, half.swapaxes(0, 1))
    g_gram = 0.5 * (g_gram + g_gram.swapaxes(0, 1))
    return _sum_to(g_gram, gram.shape), _sum_to(g_rhs, rhs.shape)


def inverse_factor(gram: Array) -> Array:
    """L^-1 of ``gram [n, n, ...]`` = L L^T: block by block, so that most of the work is matrix products."""
    n = gram.shape[0]
    if n <= LARGEST_BLOCK:
        return factor(gram, jnp.eye(n, dtype=gram.dtype).reshape(n, n, *(1,) * (gram.ndim - 2)))[1]

    def times(a: Array, b: Array) -> Array:
        return jnp.einsum("ij...,jk...->ik...", a, b)

    half = n // 2
    first = inverse_factor(gram[:half, :half])
    below = times(gram[half:, :half], first.swapaxes(0, 1))
    last = inverse_factor(gram[half:, half:] - times(below, below.swapaxes(0, 1)))
    top = jnp.concatenate([first, jnp.zeros_like(below).swapaxes(0, 1)], axis=1)
    return jnp.concatenate([top, jnp.concatenate([-times(last, times(below, first)), last], axis=1)])


def whiten(gram: Array) -> Array:
    """L^-1 of each ``gram [K, n, n]`` = L L^T, as `inverse_factor` but with the batch first.

    For some hundred matrices of one experiment nearly all of the work is then batched matrix products, which
    take a tenth of the time of array code over trailing axes.
    """
    n = gram.shape[-1]
    if n <= SMALL_BLOCK:
        # Not `factor`, whose rule for derivatives goes backwards only. Unrolled, the columns of a block fuse
        # to a few loops: a fifth of the time.
        last = jnp.moveaxis(gram, 0, -1)
        return jnp.moveaxis(_eliminate(last, jnp.eye(n, dtype=gram.dtype)[..., None], unroll=True)[1], -1, 0)
    half = -(-n // (2 * SMALL_BLOCK)) * SMALL_BLOCK
    first = whiten(gram[:, :half, :half])
    below = times(gram[:, half:, :half], first.swapaxes(1, 2))
    last = whiten(gram[:, half:, half:] - times(below, below.swapaxes(1, 2)))
    top = jnp.concatenate([first, jnp.zeros_like(below).swapaxes(1, 2)], axis=2)
    return jnp.concatenate([top, jnp.concatenate([-times(last, times(below, first)), last], axis=2)], axis=1)


def times(a: Array, b: Array) -> Array:
    """The matrix product in full precision, for variances are differences and accelerators round products."""
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)


def _sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    axes = tuple(i for i in range(x.ndim) if i >= len(shape) or x.shape[i] != shape[i])
    return x.sum(axes, keepdims=True).reshape(shape)


factor.defvjp(_factor_forward, _factor_backward)


def solve_upper(upper: Array, rhs: Array) -> Array:
    """Back substitution: U^-1 rhs for ``upper [n, n, ...]``, ``rhs [n, m, ...]``."""
    n = upper.shape[0]
    rows = jnp.arange(n).reshape(n, *(1,) * (upper.ndim - 1))

    def column(i, rest):
        j = n - 1 - i
        solved = rest[j] / upper[j, j]
        above = jnp.where(rows < j, upper[:, j, None], 0)
        return (rest - above * solved).at[j].set(solved)

    return jax.lax.fori_loop(0, n, column, rhs)


def invert(gram: Array) -> tuple[Array, Array]:
    """gram^-1 ``[n, n, ...]`` and log det gram ``[...]`` of ``gram [n, n, ...]``.

    The sweep operator: n rank-one updates A - c c^T / p, with p = A_kk, c = A_k and c_k = p - 1, lead from A
    to 2 I - A^-1.
    """
    n = gram.shape[0]
    tiny = 1e-6 * jnp.finfo(gram.dtype).eps ** 0.5  # as in `factor`

    def column(j, state):
        matrix, log_det = state
        row = matrix[j]
        pivot = jnp.maximum(row[j], tiny)
        row = row.at[j].set(pivot - 1)
        return matrix - row[:, None] * (row / pivot), log_det + jnp.log(pivot)

    swept, log_det = jax.lax.fori_loop(0, n, column, (gram, jnp.zeros_like(gram[0, 0])))
    return 2 * jnp.eye(n, dtype=gram.dtype).reshape(n, n, *(1,) * (gram.ndim - 2)) - swept, log_det


@jax.custom_vjp
def solve(gram: Array, y: Array) -> tuple[Array, Array]:
    """gram^-1 y ``[n, ...]`` and log det gram ``[...]``; backwards nothing is left to solve."""
    return _solve_forward(gram, y)[0]


def _solve_forward(gram, y):
    inverse, log_det = invert(gram)
    solution = (inverse * y).sum(1)
    return (solution, log_det), (inverse, solution)


def _solve_backward(residuals, cotangents):
    """With a = K^-1 y:  y' = K^-1 a',  K' = -y' a^T + K^-1 (log det)'."""
    inverse, solution = residuals
    g_solution, g_log_det = cotangents
    g_y = (inverse * g_solution).sum(1)
    return inverse * g_log_det - g_y[:, None] * solution[None], g_y


solve.defvjp(_solve_forward, _solve_backward)


def log_density(pivots: Array, whitened: Array) -> Array:
    """log p(y_i given y_1 .. y_i-1) for each i, from the factor of the Gram matrix of y."""
    return -0.5 * (jnp.log(2 * jnp.pi * pivots) + jnp.square(whitened))


def conditional(whitened_y: Array, whitened_cov: Array, prior_variance: Array) -> tuple[Array, Array]:
    """Posterior mean and variance ``[m, ...]`` from L^-1 y ``[n, ...]`` and L^-1 k(x, x*) ``[n, m, ...]``."""
    mean = (whitened_cov * whitened_y[:, None]).sum(0)
    # In exact arithmetic the variance is positive; keep its logarithm finite.
    return mean, jnp.maximum(prior_variance - jnp.square(whitened_cov).sum(0), 1e-8)
