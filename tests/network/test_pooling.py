"""Weighted sums over points."""

import jax
import numpy as np

from alx.network.pooling import pool, pool_by_product, pool_by_sums


def draw(tokens: int, *batch: int):
    rng = np.random.default_rng(0)
    return (np.float32(rng.normal(size=(size, tokens, *batch))) for size in (6, 3))


def test_sums_and_product_agree_in_value_and_gradient():
    weights, values = draw(5, 4)
    expected = np.einsum("mjb,kjb->kmb", weights, values)
    g = np.float32(np.random.default_rng(1).normal(size=expected.shape))
    for form in (pool, pool_by_sums, pool_by_product):
        out, pullback = jax.vjp(form, weights, values)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
        g_weights, g_values = pullback(g)
        np.testing.assert_allclose(g_weights, np.einsum("kmb,kjb->mjb", g, values), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(g_values, np.einsum("kmb,mjb->kjb", g, weights), rtol=1e-5, atol=1e-5)


def test_one_experiment_is_one_of_many():
    weights, values = draw(5, 4)
    many = pool(weights, values)
    for i in range(4):
        np.testing.assert_allclose(pool(weights[..., i], values[..., i]), many[..., i], rtol=1e-5, atol=1e-6)
