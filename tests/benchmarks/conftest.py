import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alx.policy import Policy, PolicyConfig, init


@pytest.fixture(scope="session")
def policies() -> dict[int, Policy]:
    """Policies by dimension whose answer depends on their data: random weights."""

    def make(dim: int) -> Policy:
        config, rng = PolicyConfig(dim, 4), np.random.default_rng(dim)

        def draw(leaf):
            return jnp.asarray(rng.normal(size=leaf.shape) / leaf.shape[-1] ** 0.5, jnp.float32)

        return Policy(jax.tree.map(draw, jax.eval_shape(lambda: init(jax.random.key(0), config))), config)

    return {dim: make(dim) for dim in (1, 2)}
