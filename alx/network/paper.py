"""The network of the paper: a transformer over the points of the history."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from alx.network.attention import attend
from alx.network.layers import column, dense, normalise, shift, softplus

if TYPE_CHECKING:
    from alx.network.policy import PolicyConfig

__all__ = ["PaperNetwork"]


class PaperNetwork(nnx.Module):
    """The network of the paper: 47,105 parameters at D=1, 48,130 at D=2.

    The encoder starts with weights of five times the usual size, with which policies left the smooth paths
    they start with at D = 2 much sooner: docs/notebook/results.md.
    """

    width, heads, hidden = 32, 8, 512
    encoder_scale = 5.0

    def __init__(self, config: "PolicyConfig", rngs: nnx.Rngs):
        self.encoder = MLP(config.dim + 1, self.hidden, self.width, rngs, self.encoder_scale)
        self.first = Block(self.width, self.heads, rngs)
        self.second = Block(self.width, self.heads, rngs)
        self.mix = Linear(self.width, self.width, rngs)
        self.decoder = MLP(self.width, self.hidden, config.dim, rngs)

    def encode(self, x: Array, y: Array):
        token = self.encoder(jnp.concatenate([x, y[None]]))
        return token, *self.first.project(token)

    def decide(self, points, mask: Array) -> Array:
        token, query, key, value = points
        token = self.first(token, (query, key, value), mask)
        token = self.second(token, self.second.project(token), mask)
        # The last linear layer commutes with the sum over the set, so it acts once and not on each point.
        pooled, count = jnp.where(mask, token, 0).sum(1), mask.sum(0)
        assert self.mix.bias is not None
        pooled = dense(self.mix.kernel[...], pooled) + count * column(self.mix.bias[...], pooled)
        return (jnp.tanh(self.decoder(pooled)) + 1) / 2


class MLP(nnx.Module):
    """Linear, softplus, Linear."""

    def __init__(self, fan_in: int, hidden: int, fan_out: int, rngs: nnx.Rngs, scale: float = 1.0):
        self.inner = Linear(fan_in, hidden, rngs, scale=scale)
        self.outer = Linear(hidden, fan_out, rngs)

    def __call__(self, x: Array) -> Array:
        return self.outer(softplus(self.inner(x)))


class Block(nnx.Module):
    """A post-norm transformer block without an output projection after the heads."""

    def __init__(self, width: int, heads: int, rngs: nnx.Rngs):
        self.heads = heads
        self.query = Linear(width, width, rngs)
        self.key = Linear(width, width, rngs, use_bias=False)
        self.value = Linear(width, width, rngs, use_bias=False)
        self.norm_attention = LayerNorm(width)
        self.inner = Linear(width, width, rngs)
        self.outer = Linear(width, width, rngs)
        self.norm_mlp = LayerNorm(width)

    def project(self, token: Array) -> tuple[Array, Array, Array]:
        return self.query(token), self.key(token), self.value(token)

    def __call__(self, token: Array, projected: tuple[Array, Array, Array], mask: Array) -> Array:
        query, key, value = (_heads(z, self.heads) for z in projected)
        out = attend(query, key, value, mask)
        token = self.norm_attention(token + out.reshape(token.shape))
        return self.norm_mlp(token + self.outer(jax.nn.relu(self.inner(token))))


def _heads(x: Array, heads: int) -> Array:
    return x.reshape(heads, x.shape[0] // heads, *x.shape[1:])


class Linear(nnx.Module):
    """W x + b on the leading axis; weights start at `scale` times their usual size."""

    def __init__(self, fan_in: int, fan_out: int, rngs: nnx.Rngs, use_bias: bool = True, scale: float = 1.0):
        bound = scale * fan_in**-0.5

        def draw(shape):
            return jax.random.uniform(rngs.params(), shape, minval=-bound, maxval=bound)

        self.kernel = nnx.Param(draw((fan_out, fan_in)))
        self.bias = nnx.Param(draw((fan_out,))) if use_bias else None

    def __call__(self, x: Array) -> Array:
        out = dense(self.kernel[...], x)
        return out if self.bias is None else shift(out, self.bias[...])


class LayerNorm(nnx.Module):
    """Zero mean and unit variance along the leading axis, then a learned scale and shift."""

    def __init__(self, width: int):
        self.scale = nnx.Param(jnp.ones(width))
        self.shift = nnx.Param(jnp.zeros(width))

    def __call__(self, x: Array) -> Array:
        return normalise(x) * column(self.scale[...], x) + column(self.shift[...], x)
