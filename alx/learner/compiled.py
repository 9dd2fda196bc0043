"""A policy as two warm executables: encode the points when they arrive, decide when asked.

The weights are constants of the executables, so a call passes nothing but the data, and encoding happens
outside the moment when somebody waits for an answer. One compilation per policy and capacity serves every
learner of the process.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alx.io.store import fingerprint
from alx.network.policy import Policy, decide, encode

__all__ = ["Compiled", "compiled"]


class Compiled(NamedTuple):
    """Executables for float32 histories of one capacity.

    Attributes:
        encode: ``x [capacity, D]``, ``y [capacity]`` -> encoded points, on the device.
        decide: encoded points, ``mask [capacity]`` -> the next input ``[D]``.
    """

    encode: Callable[[np.ndarray, np.ndarray], Any]
    decide: Callable[[Any, np.ndarray], jax.Array]


def compiled(policy: Policy, capacity: int) -> Compiled:
    """The executables of this policy, compiled at the first call for these weights and this capacity."""
    return _compile(_Key(fingerprint(policy), capacity, policy))


@dataclasses.dataclass(frozen=True)
class _Key:
    fingerprint: str
    capacity: int
    policy: Policy = dataclasses.field(compare=False)


@functools.lru_cache(maxsize=64)
def _compile(key: _Key) -> Compiled:
    params, config, n = key.policy.params, key.policy.config, key.capacity
    x, y = jax.ShapeDtypeStruct((n, config.dim), jnp.float32), jax.ShapeDtypeStruct((n,), jnp.float32)
    first = jax.jit(lambda x, y: encode(params, config, x.T, y)).lower(x, y)
    second = jax.jit(lambda points, mask: decide(params, config, points, mask))
    mask = jax.ShapeDtypeStruct((n,), bool)
    return Compiled(first.compile(), second.lower(first.out_info, mask).compile())
