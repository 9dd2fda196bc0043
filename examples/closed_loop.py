"""A whole experiment as one compiled program, with lax.scan: python examples/closed_loop.py [POLICY]"""

import sys

import jax
import jax.numpy as jnp

import alx

policy = alx.load(sys.argv[1] if len(sys.argv) > 1 else "dim2-T20")
config = policy.config


def measure(x, key):
    return jnp.sin(10 * x).sum() + 0.1 * jax.random.normal(key)


@jax.jit
def run(policy, key):
    def step(history, key):
        x = alx.propose(policy, history)
        return history.append(x, measure(x, key)), x

    return jax.lax.scan(step, alx.History.empty(config.capacity, config.dim), jax.random.split(key, config.T))


history, queries = run(policy, jax.random.key(0))
print(queries)
