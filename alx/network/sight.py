"""What a network sees of places and points, in numbers that mean the same for any number of inputs.

Places attend to the points, with a bias by distance whose radii are learned, half of the heads in
lengthscales of the belief and half in the unit cube; a sink lets a place attend to nothing. What they see
joins the place's own features.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

__all__ = ["FEATURES", "POINT_FEATURES", "Linear", "Scene", "Sight"]

FEATURES, POINT_FEATURES = 16, 7  # of a place and of a point
RADII = (0.4, 0.8, 1.6, 0.07, 0.15, 0.3)  # of the heads at the start: in lengthscales, then in the unit cube
TOKEN, VALUES = 16, 6  # width of a point's token, and numbers that a head brings from the points


class Scene(NamedTuple):
    """C places and N points as a network sees them.

    Attributes:
        features: of each place, ``[C, FEATURES]``.
        gain: log of how much a label there would lower the variance over the domain, ``[C]``.
        distance: squared, of places and points ``[2, C, N]``: in lengthscales, and in the unit cube per
            input.
        points: what each point says, ``[N, POINT_FEATURES]``.
        mask: which rows hold a point, ``[N]``.
        allowed: which places may be taken, ``[C]``.
    """

    features: Array
    gain: Array
    distance: Array
    points: Array
    mask: Array
    allowed: Array


class Linear(nnx.Module):
    """x W + b on the last axis; weights start at ``scale`` over the root of their number, biases at zero."""

    def __init__(self, fan_in: int, fan_out: int, rngs: nnx.Rngs, scale: float = 1.0):
        self.kernel = nnx.Param(jax.random.normal(rngs.params(), (fan_in, fan_out)) * scale * fan_in**-0.5)
        self.bias = nnx.Param(jnp.zeros(fan_out))

    def __call__(self, x: Array) -> Array:
        return x @ self.kernel[...] + self.bias[...]

    def columns(self, x: Array) -> Array:
        """The same on the first axis of ``x [fan_in, C]``: of many places and few units, places come last."""
        kernel = self.kernel[...]
        # XLA does not vectorise a product with a single row.
        product = kernel.T @ x if kernel.shape[1] > 1 else (kernel * x).sum(0, keepdims=True)
        return product + self.bias[...][:, None]


class Sight(nnx.Module):
    """A scene -> hidden units of each place ``[width, C]``."""

    def __init__(self, width: int, rngs: nnx.Rngs):
        heads = len(RADII)
        self.shift = nnx.Param(jnp.zeros(FEATURES))
        self.scale = nnx.Param(jnp.ones(FEATURES))
        self.log_radius = nnx.Param(jnp.log(jnp.asarray(RADII)))
        self.sink = nnx.Param(jnp.full(heads, np.log(0.3)))
        self.token = Linear(POINT_FEATURES, TOKEN, rngs)
        self.bias = Linear(TOKEN, heads, rngs, scale=0.1)
        self.value = Linear(TOKEN, heads * VALUES, rngs)
        self.inner = Linear(FEATURES + heads * (VALUES + 1), width, rngs)

    def __call__(self, scene: Scene) -> Array:
        # Where the features lie is measured before training and not learned.
        shift, scale = jax.lax.stop_gradient((self.shift[...], self.scale[...]))
        own = (scene.features.T - shift[:, None]) * scale[:, None]
        return jax.nn.relu(self.inner.columns(jnp.concatenate([own, self.attend(scene)])))

    def attend(self, scene: Scene) -> Array:
        """What each place sees of the points ``[heads * (VALUES + 1), C]``."""
        heads = len(RADII)
        token = jax.nn.relu(self.token(scene.points))
        value = jnp.moveaxis(self.value(token).reshape(len(token), heads, VALUES), 0, 2)
        # Places come last, for there are many of them, and loops over few numbers are slow.
        distance = scene.distance.swapaxes(1, 2)
        # [2, 1, N, C] over [2, heads / 2, 1, 1]: each half of the heads has its own measure of distance.
        rate = 0.5 * jnp.exp(-2 * self.log_radius[...]).reshape(2, -1, 1, 1)
        logits = -(distance[:, None] * rate).reshape(heads, *distance.shape[1:])
        logits = logits + self.bias(token).T[:, :, None]
        weight = jnp.where(scene.mask[:, None], jnp.exp(jnp.minimum(logits, 20.0)), 0.0)
        mass = weight.sum(1) + jnp.exp(self.sink[...])[:, None]
        seen = jnp.concatenate([value @ weight / mass[:, None], jnp.log(mass)[:, None]], 1)
        return seen.reshape(-1, seen.shape[-1])
