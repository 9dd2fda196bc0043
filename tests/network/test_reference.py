"""The fast network, attention and rollout against a plain implementation of the paper, batch first."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import simulated
from random_policy import random_policy

from alx.network import layers
from alx.network.attention import attend_by_products, attend_by_sums
from alx.network.policy import PolicyConfig
from alx.train import rollout
from alx.train.prior import PRIORS
from alx.train.simulate import Batch

HEADS = 8


def linear(params, x):
    return x @ params["kernel"].T + params.get("bias", 0)


def mlp(params, x, activation):
    return linear(params["outer"], activation(linear(params["inner"], x)))


def layer_norm(params, x):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * params["scale"] + params["shift"]


def block(params, x):
    """h = LN(x + MHA(x)); out = LN(h + MLP(h)) of tokens ``x [batch, n, width]``."""
    batch, n, width = x.shape
    q, k, v = (linear(params[name], x).reshape(batch, n, HEADS, -1) for name in ("query", "key", "value"))
    weights = jax.nn.softmax(jnp.einsum("bihc,bjhc->bhij", q, k) / (width / HEADS) ** 0.5)
    attended = jnp.einsum("bhij,bjhc->bihc", weights, v).reshape(x.shape)
    h = layer_norm(params["norm_attention"], x + attended)
    return layer_norm(params["norm_mlp"], h + mlp(params, h, jax.nn.relu))


def network(params, x, y):
    """``x [batch, n, D]``, ``y [batch, n]`` -> the next input ``[batch, D]``."""
    tokens = mlp(params["encoder"], jnp.concatenate([x, y[..., None]], -1), jax.nn.softplus)
    tokens = linear(params["mix"], block(params["second"], block(params["first"], tokens)))
    return (jnp.tanh(mlp(params["decoder"], tokens.sum(1), jax.nn.softplus)) + 1) / 2


def f(function, x):
    """``x [batch, n, D]`` -> ``[batch, n]``."""
    w, a, b, mean = (jnp.moveaxis(z, -1, 0) for z in function)
    return (w[:, None] * jnp.cos(jnp.einsum("bnd,bld->bnl", x, a) + b[:, None])).sum(-1) - mean[:, None]


def trajectories(params, config, experiment):
    """The whole history goes through the network again before each query."""
    x, noise = jnp.moveaxis(experiment.x[:, : config.n_init], 0, -1).swapaxes(0, 1), experiment.noise.T
    y = f(experiment.function, x) + noise[:, : config.n_init]
    for n in range(config.n_init, config.capacity):
        new = network(params, x, y)[:, None]
        y = jnp.concatenate([y, f(experiment.function, new) + noise[:, n : n + 1]], 1)
        x = jnp.concatenate([x, new], 1)
    return x, y


def assert_close(actual, expected, tolerance):
    scale = max(float(np.abs(leaf).max()) for leaf in jax.tree.leaves(expected))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=tolerance * scale), actual, expected)


@pytest.mark.parametrize(("dim", "n_init", "T", "number"), [(1, 2, 2, 1), (2, 1, 3, 2)])
def test_rollout_of_the_paper_network(dim, n_init, T, number, monkeypatch):
    """In one segment, and in two."""
    monkeypatch.setattr(rollout, "SHORTEST", 2)
    config, prior = PolicyConfig(dim, T, n_init, "paper"), PRIORS["paper"]
    assert len(rollout.segments(config)) == number
    # Larger weights than fresh ones, so that attention is far from uniform. Rounding errors grow with them
    # from query to query, so it takes double precision to tell those from mistakes.
    params = random_policy(dim, T, "paper").params
    inner = jax.tree.map(lambda a: 5 * a, params["encoder"]["inner"])
    params = {**params, "encoder": {**params["encoder"], "inner": inner}}
    experiment = simulated.experiments(prior, config, Batch(2, 2, 2))
    params, experiment = jax.tree.map(
        lambda a: np.asarray(a, np.float64) if jnp.issubdtype(a.dtype, jnp.floating) else np.asarray(a),
        (params, experiment),
    )

    def fast(params):
        trajectory = rollout.nonmyopic(params, config, prior, experiment)
        x, y = jnp.moveaxis(trajectory.x, (0, 2), (2, 0)), trajectory.y.T
        return (jnp.sin(3 * x).sum(-1) * y).sum(), (x, y)

    def plain(params):
        x, y = trajectories(params, config, experiment)
        return (jnp.sin(3 * x).sum(-1) * y).sum(), (x, y)

    with jax.enable_x64(True):
        gradient, points = jax.jit(jax.grad(fast, has_aux=True))(params)
        expected_gradient, expected_points = jax.jit(jax.grad(plain, has_aux=True))(params)
        assert_close(points, expected_points, 1e-5)
        assert_close(gradient, expected_gradient, 1e-5)


@pytest.mark.parametrize(("queries", "tokens", "experiments"), [(5, 5, 3), (1, 4, 2), (6, 6, 1)])
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_attention_by_sums(queries, tokens, experiments, spread):
    rng = np.random.default_rng(queries)
    q, g = np.float32(rng.normal(size=(2, 2, 4, queries, experiments)) * spread)
    k, v = np.float32(rng.normal(size=(2, 2, 4, tokens, experiments)))
    mask = np.arange(tokens)[:, None] < tokens - 1

    def both(attention):
        out, vjp = jax.vjp(lambda q, k, v: attention(q, k, v, mask), q, k, v)
        return out, vjp(g)

    assert_close(*jax.jit(lambda: (both(attend_by_sums), both(attend_by_products)))(), 1e-5)


def test_attention_by_sums_lets_nan_through():
    q = jnp.full((2, 4, 3, 2), jnp.nan)
    assert jnp.isnan(jax.jit(attend_by_sums)(q, q, q, jnp.ones((3, 1), bool))).all()


def test_layers_differentiate_like_jnp():
    rng = np.random.default_rng(0)
    x, g = np.float32(4 * rng.normal(size=(2, 5, 3, 4)))
    kernel, bias = np.float32(rng.normal(size=(6, 5))), np.arange(5, dtype=np.float32)

    def plain_norm(x):
        return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)

    def both(function, *arguments):
        out, vjp = jax.vjp(function, *arguments)
        return out, vjp(g)

    for mine, plain, arguments in (
        (layers.softplus, jax.nn.softplus, (x,)),
        (layers.normalise, plain_norm, (x,)),
        (layers.shift, lambda x, bias: x + bias[:, None, None], (x, bias)),
        (
            lambda kernel, x: layers.dense(kernel, x)[:5],
            lambda kernel, x: jnp.einsum("oi,i...->o...", kernel, x)[:5],
            (kernel, x),
        ),
    ):
        found, expected = jax.jit(lambda *a, f=mine, e=plain: (both(f, *a), both(e, *a)))(*arguments)
        assert_close(found, expected, 1e-5)


def test_softplus_far_from_zero():
    x = jnp.array([-200.0, -20.0, 0.0, 20.0, 200.0])
    np.testing.assert_allclose(layers.softplus(x), jax.nn.softplus(x), atol=1e-6)
    np.testing.assert_allclose(jax.grad(lambda x: layers.softplus(x).sum())(x), jax.nn.sigmoid(x), atol=1e-6)
