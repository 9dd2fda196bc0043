"""Networks that compile in no time, for tests of what is around a network; they are named as a user's own."""

import jax.numpy as jnp
from flax import nnx

from alx.network.paper import Linear

__all__ = ["DESIGN", "ROWS", "SUMS", "Design", "Sums"]

DESIGN, SUMS = "small_networks:Design", "small_networks:Sums"
ROWS = 256


class Design(nnx.Module):
    """A fixed design: the next input depends on the number of points alone."""

    def __init__(self, config, rngs):
        self.design = nnx.Param(jnp.linspace(-1, 1, config.dim * ROWS).reshape(ROWS, config.dim).T)

    def encode(self, x, y):
        return y[None]

    def decide(self, points, mask):
        move = self.design[...][:, mask.sum(0) % ROWS]
        return (jnp.tanh(jnp.broadcast_to(move, move.shape[:1] + points.shape[2:])) + 1) / 2


class Sums(nnx.Module):
    """A layer, a sum over the points, a layer."""

    def __init__(self, config, rngs):
        self.inner = Linear(config.dim + 1, 8, rngs)
        self.outer = Linear(8, config.dim, rngs)

    def encode(self, x, y):
        return jnp.tanh(self.inner(jnp.concatenate([x, y[None]])))

    def decide(self, points, mask):
        # A fifth, so that the last layer does not saturate with a few points.
        return (jnp.tanh(self.outer(0.2 * jnp.where(mask, points, 0).sum(1))) + 1) / 2
