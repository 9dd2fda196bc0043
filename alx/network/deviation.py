"""What the belief says of its own error, calibrated: at a place, and over the domain.

No function is the same everywhere, so the deviation that a stationary kernel gives is too small where the
points around are off what the others predict, and too large elsewhere. The last layers start at zero: then
the deviation is the belief's own.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from alx.network.sight import Linear, Scene, Sight

__all__ = ["FREEDOM", "SPREAD", "Calibration", "Deviation"]

FREEDOM = 6.0  # degrees of freedom of predictions, before training and without a policy
LEAST, MOST = 2.5, 40.0  # of them: with fewer there is no variance, with more it is a normal distribution
SPREAD = 0.4  # scale of log(true error / estimated one), before training


class Calibration(NamedTuple):
    """What the network makes of a scene.

    Attributes:
        log_factor: log of the factor of the belief's deviation at each place ``[C]``.
        freedom: degrees of freedom of the Student t there ``[C]``.
        log_error: log of the factor of the root-mean-square error over all allowed places, ``[]``.
        log_spread: log of the scale of its own error, a Student t with FREEDOM degrees of freedom, ``[]``.
    """

    log_factor: Array
    freedom: Array
    log_error: Array
    log_spread: Array


class Deviation(nnx.Module):
    """A scene -> `Calibration`."""

    def __init__(self, width: int, rngs: nnx.Rngs):
        self.sight = Sight(width, rngs)
        self.outer = Linear(width, width, rngs)
        self.last = Linear(width, 2, rngs, scale=0.0)
        self.whole = Linear(width, 2, rngs, scale=0.0)

    def __call__(self, scene: Scene) -> Calibration:
        h = jax.nn.relu(self.outer.columns(self.sight(scene)))
        log_factor, tails = self.last.columns(h)
        mean = jnp.where(scene.allowed, h, 0).sum(1) / jnp.maximum(scene.allowed.sum(), 1)
        log_error, log_spread = self.whole(mean)
        begin = np.log((FREEDOM - LEAST) / (MOST - FREEDOM))
        freedom = LEAST + (MOST - LEAST) * jax.nn.sigmoid(tails + begin)
        return Calibration(log_factor, freedom, log_error, log_spread + np.log(SPREAD))
