"""Multi-head attention over the few points of a history, for many experiments at once.

Arrays are ``[head, channel, token, ...]``; the trailing axes are experiments. On a CPU eight heads of
width four over some twenty tokens are thousands of tiny matrix products, so there every sum over tokens
is written out: each term is one long vector operation over the experiments. Elsewhere, and for a single
experiment, the usual two matrix products are faster. Both compute

    out_i = sum_j softmax_j(q_i . k_j / sqrt(channels)) v_j
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

__all__ = ["attend", "attend_by_products", "attend_by_sums"]

# Large enough to silence a masked token, small enough that differences of it stay finite in float32.
MASKED = -1e30


def attend(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """Attention of the tokens of ``q`` to the tokens of ``k`` and ``v`` where ``mask [token, ...]`` holds."""
    if q.ndim == 3:
        return attend_by_products(q, k, v, mask)
    return jax.lax.platform_dependent(q, k, v, mask, cpu=attend_by_sums, default=attend_by_products)


def attend_by_products(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """Two batched matrix products with a softmax between them."""
    scores = jnp.einsum("hci...,hcj...->hij...", q, k) / q.shape[1] ** 0.5
    weights = jax.nn.softmax(jnp.where(mask, scores, MASKED), axis=2)
    return jnp.einsum("hij...,hcj...->hci...", weights, v)


def attend_by_sums(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """The same with the sums over tokens and channels written out."""
    return _attend_by_sums(q, k, v, jnp.where(mask, 0.0, MASKED).astype(q.dtype))


def _sum(term: Callable[[int], Array], n: int) -> Array:
    return functools.reduce(jnp.add, (term(i) for i in range(n)))


def _runtime_one(x: Array) -> Array:
    """1, in a way that the compiler does not know.

    XLA's CPU fusion computes a cheap producer again inside each of its consumers (and drops optimization
    barriers before it decides), which makes a sum over tokens quadratic. It never does so to a division.
    So what must be computed once is divided by this one.
    """
    return jnp.exp(0 * x[(0,) * x.ndim])


def _fusion_barrier(function: Callable, *operands: Array):
    """function(*operands) as a computation of its own: nothing is fused into it or with its results.

    XLA would fold the reshapes around it into its loops, which then do not vectorise, and would compute
    an intermediate result again for each use. It keeps out of the branches of a conditional.
    """
    never = jax.eval_shape(function, *operands)
    one = _runtime_one(operands[0])
    otherwise = lambda *_: jax.tree.map(lambda out: jnp.broadcast_to(one, out.shape), never)  # noqa: E731
    return jax.lax.cond(one != 0, function, otherwise, *operands)


@jax.custom_vjp
def _attend_by_sums(q: Array, k: Array, v: Array, bias: Array) -> Array:
    return _forward(q, k, v, bias)[0]


def _forward(q, k, v, bias):
    out_hci, exp_hij, norm_hi = _fusion_barrier(_weigh, q, k, v, bias)
    return out_hci, (q, k, v, exp_hij, norm_hi, out_hci)


def _weigh(q, k, v, bias):
    channels, tokens = k.shape[1], k.shape[2]
    scale, one = channels**-0.5, _runtime_one(q)
    scores_hij = _sum(lambda c: (q[:, c] * scale)[:, :, None] * k[:, c, None], channels) + bias
    top_hi = functools.reduce(jnp.maximum, (scores_hij[:, :, j] for j in range(tokens))) / one
    exp_hij = jnp.exp(scores_hij - top_hi[:, :, None])
    norm_hi = _sum(lambda j: exp_hij[:, :, j], tokens) / one
    out_hci = _sum(lambda j: exp_hij[:, None, :, j] * v[:, :, j : j + 1], tokens) / norm_hi[:, None]
    return out_hci, exp_hij, norm_hi


def _backward(residuals, g):
    q, k, v, exp_hij, norm_hi, out_hci = residuals
    g_scores, g_v = _fusion_barrier(_backward_weights, g, v, exp_hij, norm_hi, out_hci)
    g_q, g_k = _fusion_barrier(_backward_scores, g_scores, q, k)
    return g_q, g_k, g_v, None


def _backward_weights(g, v, exp_hij, norm_hi, out_hci):
    channels, queries = g.shape[1:3]
    scale, one = channels**-0.5, _runtime_one(g)
    g = g / norm_hi[:, None]
    dot_hi = _sum(lambda c: g[:, c] * out_hci[:, c], channels) / one
    g_exp = _sum(lambda c: g[:, c, :, None] * v[:, c, None], channels) - dot_hi[:, :, None]
    g_v = _sum(lambda i: exp_hij[:, None, i] * g[:, :, i : i + 1], queries)
    return exp_hij * (g_exp * scale), g_v


def _backward_scores(g_scores, q, k):
    queries, tokens = g_scores.shape[1:3]
    g_q = _sum(lambda j: g_scores[:, None, :, j] * k[:, :, j : j + 1], tokens)
    g_k = _sum(lambda i: g_scores[:, None, i] * q[:, :, i : i + 1], queries)
    return g_q, g_k


_attend_by_sums.defvjp(_forward, _backward)
