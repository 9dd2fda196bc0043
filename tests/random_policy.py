"""Policies with random weights, for tests that need some policy and not a good one."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from alx.network.policy import Policy, PolicyConfig, init
from alx.network.score_network import JudgeConfig


@functools.cache
def random_policy(dim: int = 2, T: int = 6, network: str = "judge", seed: int = 0) -> Policy:
    """A policy whose answer depends on its data, drawn with NumPy, which compiles nothing."""
    config = JudgeConfig() if network == "judge" else PolicyConfig(dim, T, network=network)
    rng = np.random.default_rng(seed)

    def draw(leaf):
        noise = rng.normal(size=leaf.shape)
        weights = (
            1 + 0.1 * noise if leaf.ndim == 1 else noise / leaf.shape[0 if network == "judge" else 1] ** 0.5
        )
        return jnp.asarray(weights, jnp.float32)

    return Policy(jax.tree.map(draw, jax.eval_shape(lambda: init(jax.random.key(0), config))), config)
