"""The general policy with untrained weights, for tests that need a policy and not a good one."""

import functools

import jax

from alx.network.policy import Policy, init
from alx.network.score_network import JudgeConfig


@functools.cache
def untrained() -> Policy:
    return Policy(init(jax.random.key(0), JudgeConfig()), JudgeConfig())
