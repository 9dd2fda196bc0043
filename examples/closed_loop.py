"""A whole experiment as one compiled program, with lax.scan: python examples/closed_loop.py"""

import jax
import jax.numpy as jnp

import alx

policy, dim, T = alx.load(), 2, 10


def measure(x, key):
    return jnp.sin(10 * x).sum() + 0.1 * jax.random.normal(key)


@jax.jit
def run(policy, key):
    def step(history, key):
        x = alx.propose(policy, history)
        return history.append(x, measure(x, key)), x

    return jax.lax.scan(step, alx.History.empty(T, dim), jax.random.split(key, T))


history, queries = run(policy, jax.random.key(0))
print(queries)
