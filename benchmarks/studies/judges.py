"""Which of several general policies is the better one? python -m benchmarks.studies.judges general FILE ...

Policies are chosen by simulation and never by tasks. All play the same simulated experiments of every kind
that training draws from, with seeds that no training has; the score is the loss of training, the log of the
squared error after the last query. It is printed for the first policy, and for the others less that of the
first, with standard errors of the paired difference: negative is better.
"""

import dataclasses
import sys
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import alx
from alx.network.policy import Policy
from alx.network.score_network import JudgeConfig
from alx.train import general
from alx.train.general_config import Shape, default
from benchmarks.evaluation.registry import untrained
from benchmarks.evaluation.statistics import standard_error
from benchmarks.studies import command

__all__ = ["Situation", "compare", "log_errors"]

SEED = 2**31 + 2  # that no training has
CHUNK = 32


@dataclasses.dataclass(frozen=True)
class Situation:
    """Number of inputs, of given points and of queries."""

    dim: int
    given: int
    T: int


SITUATIONS = tuple(
    Situation(*numbers)
    for numbers in (
        *((1, 1, 10), (1, 4, 8), (1, 1, 20), (1, 15, 25), (2, 1, 10), (2, 1, 20), (2, 8, 12), (2, 15, 25)),
        *((3, 1, 20), (3, 8, 12), (3, 15, 25), (5, 1, 20), (5, 8, 12), (5, 15, 25), (6, 8, 12)),
    )
)


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Compare general policies in simulation.

    Attributes:
        policies: shipped names, policy files, or untrained.
        dims: numbers of inputs.
        functions: simulated experiments of each situation.
    """

    policies: tyro.conf.Positional[tuple[str, ...]]
    dims: tuple[int, ...] = (1, 2, 3, 5, 6)
    functions: int = 256


def log_errors(policy: Policy, situation: Situation, functions: int) -> np.ndarray:
    """The log of the squared error after the last query of each experiment ``[functions]``."""
    assert isinstance(policy.config, JudgeConfig)
    shape = Shape(situation.dim, situation.given + situation.T)
    config = dataclasses.replace(
        default((situation.dim,), (situation.T,), (situation.given,)), judge=policy.config
    )

    @jax.jit
    def chunk(params, key):
        case = general.simulate(key, config, shape, CHUNK)
        case = case._replace(start=case.start._replace(given=jnp.asarray(situation.given)))
        played = general.play(params, config, shape, case)
        kernels = jax.tree.map(
            lambda a: jnp.moveaxis(a, 0, -1), jax.vmap(general.best_kernels)(played.belief)
        )
        return general.losses(config, case, kernels, played.x)

    keys = jax.random.split(jax.random.key(SEED), -(-functions // CHUNK))
    return np.concatenate([chunk(policy.params, key) for key in keys])[:functions]


def compare(policies: Sequence[Policy], situation: Situation, functions: int) -> list[tuple[float, float]]:
    """Mean and standard error: of the first policy, and of the others' differences from it."""
    first, *others = [log_errors(policy, situation, functions) for policy in policies]
    return [
        (float(a.mean()), float(standard_error(a))) for a in (first, *(other - first for other in others))
    ]


def _load(name: str) -> Policy:
    if name == "untrained":
        return untrained()
    policy = alx.load(name)
    if not isinstance(policy.config, JudgeConfig):
        raise ValueError(f"policies must be general ones, got {name} with another network")
    return policy


def main() -> int:
    return command.run(Arguments, _prepare, _run)


def _prepare(arguments: Arguments) -> list[Policy]:
    command.known("dims", arguments.dims, dict.fromkeys(each.dim for each in SITUATIONS))
    command.at_least("functions", arguments.functions, 2, "for a standard error")
    return [_load(name) for name in arguments.policies]


def _run(arguments: Arguments, policies: list[Policy]) -> None:
    print("| D | given:queries | " + " | ".join(arguments.policies) + " |")
    print("|---|---|" + "---:|" * len(policies))
    for situation in SITUATIONS:
        if situation.dim in arguments.dims:
            values = compare(policies, situation, arguments.functions)
            cells = " | ".join(f"{mean:+.3f} ± {error:.3f}" for mean, error in values)
            print(f"| {situation.dim} | {situation.given}:{situation.T} | {cells} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
