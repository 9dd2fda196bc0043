"""A hundred experiments side by side with jax.vmap: python examples/many_experiments.py"""

import jax
import jax.numpy as jnp

import alx

policy, dim, T = alx.load(), 2, 8
propose = jax.jit(jax.vmap(alx.propose, in_axes=(None, 0)))
append = jax.jit(jax.vmap(alx.History.append))

shift = jnp.linspace(0, 3, 100)  # each experiment measures a function of its own
empty = alx.History.empty(T, dim)
histories = jax.tree.map(lambda leaf: jnp.tile(leaf, (100,) + (1,) * leaf.ndim), empty)
for _ in range(T):
    x = propose(policy, histories)
    histories = append(histories, x, jnp.sin(10 * x).sum(-1) + shift)
print(f"{histories.x.shape[0]} experiments of {T} queries; the first ends at {x[0]}, the last at {x[-1]}")
