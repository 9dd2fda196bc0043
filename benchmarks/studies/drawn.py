"""Functions of simulated priors as tasks, beside families of closed forms and the paper's own functions."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from alx.train import functions
from alx.train.prior import PRIORS, Prior, sample
from benchmarks.evaluation.tasks import TASKS, Function, Task, from_function
from benchmarks.studies import families

__all__ = ["NAMES", "PAPER", "draw"]

SIMULATED: dict[str, Prior] = {"simulated": PRIORS["general"], "simulated-paper": PRIORS["paper"]}
NAMES = (*SIMULATED, *families.FAMILIES)
# The paper's functions by their number of inputs; as a family, each again and again with other points.
PAPER, OF_PAPER = "paper", {1: ("sin",), 2: ("branin", "simionescu", "townsend")}
BLOCK = 1024  # points evaluated at once, so that one size is compiled


def draw(family: str, dim: int, number: int, seed: int) -> list[Task]:
    """So many functions of a prior or of a family of closed forms; more begin with the same ones.

    Of the paper's there are none but with one input and with two.
    """
    if family == PAPER:
        tasks = [TASKS[name](None) for name in OF_PAPER.get(dim, ())]
        return [
            dataclasses.replace(tasks[i % len(tasks)], name=f"{tasks[i % len(tasks)].name}-{seed}-{i}")
            for i in range(number if tasks else 0)
        ]
    if family not in SIMULATED:
        return families.draw(family, dim, number, seed)
    return [
        from_function(f"{family}-{seed}-{i}", dim, _function(family, dim, seed, i)) for i in range(number)
    ]


def _function(family: str, dim: int, seed: int, number: int) -> Function:
    key = jax.random.fold_in(jax.random.key(seed), 1000 * dim + number)
    drawn = _draw(family, dim, key)

    def truth(x: np.ndarray) -> np.ndarray:
        padded = np.pad(x, ((0, -len(x) % BLOCK), (0, 0))).reshape(-1, BLOCK, dim).astype(np.float32)
        values = [np.asarray(_evaluate(family, *drawn, jnp.asarray(part.T)), float) for part in padded]
        return np.concatenate(values)[: len(x)]

    return truth


@functools.partial(jax.jit, static_argnums=(0, 1))
def _draw(family: str, dim: int, key):
    key_theta, key = jax.random.split(key)
    theta = sample(key_theta, SIMULATED[family], dim)
    return theta, functions.draw_function(key, SIMULATED[family], theta)


@functools.partial(jax.jit, static_argnums=0)
def _evaluate(family: str, theta, function, x):
    return functions.evaluate(SIMULATED[family], theta, function, x)
