"""A thousand experiments side by side with jax.vmap: python examples/many_experiments.py [POLICY]"""

import sys

import jax
import jax.numpy as jnp

import alx

policy = alx.load(sys.argv[1] if len(sys.argv) > 1 else "dim2-T20")
config = policy.config
propose = jax.jit(jax.vmap(alx.propose, in_axes=(None, 0)))
append = jax.jit(jax.vmap(alx.History.append))

shift = jnp.linspace(0, 3, 1000)  # each experiment measures a function of its own
empty = alx.History.empty(config.capacity, config.dim)
histories = jax.tree.map(lambda leaf: jnp.tile(leaf, (1000,) + (1,) * leaf.ndim), empty)
for _ in range(config.T):
    x = propose(policy, histories)
    histories = append(histories, x, jnp.sin(10 * x).sum(-1) + shift)
print(
    f"{histories.x.shape[0]} experiments of {config.T} queries; the first ends at {x[0]}, the last at {x[-1]}"
)
