"""The deviation of the belief at a place, calibrated: a factor that depends on what is seen there.

No function is the same everywhere, so the deviation that a stationary kernel gives is too small where the
points around are off what the others predict, and too large elsewhere. Its last layer starts at zero, a
factor of one.
"""

import jax
from flax import nnx
from jax import Array

from alx.network.sight import Linear, Scene, Sight

__all__ = ["Deviation"]


class Deviation(nnx.Module):
    """log of the factor ``[C]`` of the deviation at each place of a scene."""

    def __init__(self, width: int, rngs: nnx.Rngs):
        self.sight = Sight(width, rngs)
        self.outer = Linear(width, width, rngs)
        self.last = Linear(width, 1, rngs, scale=0.0)

    def __call__(self, scene: Scene) -> Array:
        return self.last.columns(jax.nn.relu(self.outer.columns(self.sight(scene))))[0]
