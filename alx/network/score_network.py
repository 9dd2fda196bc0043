"""The judge scores every place from what the belief says of it, with the same weights for every place.

An MLP, which also sees the mean over all places, adds a correction to

    score = SHARPNESS log(reduction of the integrated variance)

Its last layer starts at zero, so that the untrained judge is Bayesian GP active learning.
"""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from alx.network.deviation import Deviation
from alx.network.sight import Linear, Scene, Sight

__all__ = ["Judge", "JudgeConfig"]

SHARPNESS = 3.0  # of the first scores, beside the distance of places in `alx.propose.soften`
STEP = 4.0  # of the correction: the last layer starts at zero and moves slowly


@dataclasses.dataclass(frozen=True)
class JudgeConfig:
    """What the general policy's network looks like; it is not bound to a number of inputs or a budget.

    Attributes:
        network: always judge.
        width: units of its hidden layers.
    """

    network: Literal["judge"] = "judge"
    width: int = 48

    def __post_init__(self):
        if not (isinstance(self.width, int) and 1 <= self.width <= 4096):
            raise ValueError(f"width must be a whole number from 1 to 4096, got {self.width}")
        if self.network != "judge":
            raise ValueError(f"network must be judge, got {self.network!r}")


class Judge(nnx.Module):
    """Scores of places, and how far the belief may be off there."""

    def __init__(self, config: JudgeConfig, rngs: nnx.Rngs):
        self.sight = Sight(config.width, rngs)
        self.outer = Linear(config.width, config.width, rngs)
        self.outer_mean = Linear(config.width, config.width, rngs)
        self.correction = Linear(config.width, 1, rngs, scale=0.0)
        self.sharpness = nnx.Param(jnp.full(1, SHARPNESS, jnp.float32))
        self.deviation = Deviation(config.width, rngs)

    def __call__(self, scene: Scene) -> Array:
        """The scores ``[C]`` of a scene; minus infinity where a place is not allowed."""
        h = self.sight(scene)
        mean = jnp.where(scene.allowed, h, 0).sum(1) / jnp.maximum(scene.allowed.sum(), 1)
        h = jax.nn.relu(self.outer.columns(h) + self.outer_mean(mean)[:, None])
        score = self.sharpness[...] * scene.gain + STEP * self.correction.columns(h)[0]
        return jnp.where(scene.allowed, score, -jnp.inf)
