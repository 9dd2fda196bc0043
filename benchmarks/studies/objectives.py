"""Every objective after some hundred steps: python -m benchmarks.studies.objectives

Validation RMSE of the GP posterior with the true hyperparameters on held-out simulated functions, of the
untrained policy, of the trained one and of uniform queries; the mean and standard deviation over seeds.
"""

import dataclasses
import os
import sys
import time

import jax
import numpy as np
import tyro

from alx.io import cache
from alx.network.policy import Network, PolicyConfig
from alx.train.config import TrainConfig
from alx.train.objectives import OBJECTIVES
from alx.train.prior import PRIORS
from alx.train.simulate import Batch
from alx.train.step import initial_state, make_mesh, make_step, make_validation


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Train each objective for a few steps and compare it with uniform queries.

    Attributes:
        objectives: which ones (all).
        dim: number of inputs.
        T: number of queries.
        network: anchors, paper or static; but for the paper's, a fresh one is a Sobol design.
        prior: paper, wide, nonstationary, broad or unit.
        steps: steps of training.
        experiments: simulated experiments in a step.
        lr: initial learning rate.
        seeds: training seeds.
    """

    objectives: tuple[str, ...] = tuple(OBJECTIVES)
    dim: int = 1
    T: int = 10
    network: Network = "anchors"
    prior: str = "paper"
    steps: int = 300
    experiments: int = 256
    lr: float = 1e-3
    seeds: int = 3


def scores(arguments: Arguments, objective: str) -> tuple[list[float], list[float], float, float]:
    """RMSE of each seed before and after training, of uniform queries, and the seconds of a step."""
    first = TrainConfig(
        PolicyConfig(arguments.dim, arguments.T, network=arguments.network),
        prior=PRIORS[arguments.prior],
        objective=objective,
        batch=Batch(arguments.experiments),
        steps=arguments.steps,
        lr=arguments.lr,
    )
    mesh = make_mesh()
    rmse, rmse_uniform = make_validation(first, mesh)
    before, after, uniform, spent = [], [], 0.0, 0.0
    for seed in range(arguments.seeds):
        config = dataclasses.replace(first, seed=seed)
        state, step = initial_state(config, mesh), make_step(config, mesh)
        uniform = float(rmse_uniform(state.params))
        before.append(float(rmse(state.params)))
        state, _ = step(state)  # compiles
        start = time.monotonic()
        for _ in range(arguments.steps - 1):
            state, _ = step(state)
        after.append(float(rmse(state.params)))
        spent += time.monotonic() - start
    return before, after, uniform, spent / arguments.seeds / max(arguments.steps - 1, 1)


def main() -> int:
    arguments = tyro.cli(Arguments)
    unknown = [name for name in arguments.objectives if name not in OBJECTIVES]
    if unknown or arguments.prior not in PRIORS or min(arguments.steps, arguments.seeds) < 1:
        print(
            f"benchmarks.studies.objectives: objectives are {', '.join(OBJECTIVES)}; "
            f"priors are {', '.join(PRIORS)}; "
            "steps and seeds are at least 1",
            file=sys.stderr,
        )
        return 2
    jax.config.update("jax_num_cpu_devices", len(os.sched_getaffinity(0)))
    cache.enable()
    print(
        f"D={arguments.dim} T={arguments.T}, {arguments.network} network, {arguments.prior} prior, "
        f"{arguments.steps} steps of {arguments.experiments} experiments, {arguments.seeds} seeds\n"
    )
    print("| objective | untrained | trained | sd over seeds | uniform | trained / uniform | s per step |")
    print("|---|---|---|---|---|---|---|")
    for objective in arguments.objectives:
        before, after, uniform, seconds = scores(arguments, objective)
        print(
            f"| {objective} | {np.mean(before):.4f} | {np.mean(after):.4f} | {np.std(after):.4f} "
            f"| {uniform:.4f} | {np.mean(after) / uniform:.3f} | {seconds:.3f} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
