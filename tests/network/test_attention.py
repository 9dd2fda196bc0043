"""Attention by sums, by products and by a plain loop are one function."""

import jax
import numpy as np
import pytest
from scipy.special import softmax

from alx.network.attention import attend, attend_by_products, attend_by_sums

sums, products, either = jax.jit(attend_by_sums), jax.jit(attend_by_products), jax.jit(attend)


def inputs(queries: int, tokens: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(2, 3, queries, 5))
    k, v = rng.normal(size=(2, 2, 3, tokens, 5))
    mask = rng.random((tokens, 5)) < 0.6
    mask[0] = True
    return np.float32(q), np.float32(k), np.float32(v), mask


def plain(q, k, v, mask):
    """One head and one experiment at a time."""
    out = np.zeros(q.shape)
    for h, b in np.ndindex(q.shape[0], q.shape[-1]):
        keep = mask[:, b]
        weights = softmax(q[h, ..., b].T @ k[h, ..., b][:, keep] / q.shape[1] ** 0.5, axis=1)
        out[h, ..., b] = v[h, ..., b][:, keep] @ weights.T
    return out


@pytest.mark.parametrize(("queries", "tokens"), [(4, 4), (1, 6), (3, 1)])
def test_all_ways_give_the_plain_answer(queries, tokens):
    arguments = inputs(queries, tokens)
    exact = plain(*arguments)
    for way in (sums, products, either):
        np.testing.assert_allclose(way(*arguments), exact, atol=1e-5)
    single = [a[..., 0] for a in arguments]
    np.testing.assert_allclose(either(*single), exact[..., 0], atol=1e-5)


@pytest.mark.parametrize(("queries", "tokens"), [(4, 4), (1, 6)])
def test_gradients_by_sums_are_those_by_products(queries, tokens):
    *qkv, mask = inputs(queries, tokens)
    weight = np.float32(np.random.default_rng(1).normal(size=qkv[0].shape))

    def gradients(way):
        return jax.jit(jax.grad(lambda *a: (weight * way(*a, mask)).sum(), (0, 1, 2)))(*qkv)

    by_sums, by_products = gradients(attend_by_sums), gradients(attend_by_products)
    for ours, exact in zip(by_sums, by_products, strict=True):
        np.testing.assert_allclose(ours, exact, atol=1e-5)
    hidden = np.broadcast_to(~mask, by_sums[1].shape)
    assert not by_sums[1][hidden].any(), "a masked key has no influence"
    assert not by_sums[2][hidden].any(), "a masked value has no influence"


def test_large_scores_do_not_overflow():
    q, k, v, mask = inputs(4, 4)
    for way in (sums, products):
        np.testing.assert_allclose(
            way(100 * q, 100 * k, v, mask), plain(100 * q, 100 * k, v, mask), atol=1e-3
        )
