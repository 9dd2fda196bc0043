"""The shipped policies on fresh simulated functions: python -m benchmarks.studies.in_distribution

RMSE of the posterior with the true theta after T queries, one-sided Wilcoxon signed-rank tests of the policy
against Random and Sobol, and its ratio to GP AL that knows theta.
"""

import dataclasses
import sys

import numpy as np
import tyro

import alx
from alx.io import cache
from alx.network.policy import Policy
from alx.train.prior import PRIORS, Prior
from benchmarks.evaluation.statistics import p_below
from benchmarks.studies import simulated

COLUMNS = ("policy", "prior", "random", "sobol", "GP AL", "alx", "p, random", "p, sobol", "alx / GP AL")


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Compare policies with other ways to query on functions they were not trained on.

    Attributes:
        policies: shipped names or policy files.
        functions: simulated functions per prior.
        seed: seed of the functions.
    """

    policies: tuple[str, ...] = ("dim1-T10", "dim2-T20", "dim3-T30")
    functions: int = 200
    seed: int = 2


def row(policy: Policy, prior: Prior, functions: int, seed: int) -> list[str]:
    """The cells of one prior, paired over its functions."""
    problem = simulated.draw(prior, policy.config, functions, seed)
    queries = (
        simulated.random_queries(problem),
        simulated.sobol_queries(problem),
        simulated.greedy_queries(problem),
        simulated.policy_queries(problem, policy.params, policy.config),
    )
    rmse = [np.asarray(simulated.rmse(problem, x), float) for x in queries]
    random, sobol, greedy, own = rmse
    p = [p_below(own, other) for other in (random, sobol)]
    return [
        *(f"{values.mean():.4f}" for values in rmse),
        *(f"{value:.1g}" for value in p),
        f"{own.mean() / greedy.mean():.3f}",
    ]


def main() -> int:
    arguments = tyro.cli(Arguments)
    cache.enable()
    try:
        policies = {name: alx.load(name) for name in arguments.policies}
        if arguments.functions < 10:
            raise ValueError(f"--functions must be at least 10 for a test, got {arguments.functions}")
    except (OSError, ValueError) as error:
        print(f"in_distribution: {error}", file=sys.stderr)
        return 2
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---|---|" + "---:|" * (len(COLUMNS) - 2))
    for name, policy in policies.items():
        for prior, value in PRIORS.items():
            cells = row(policy, value, arguments.functions, arguments.seed)
            print(f"| {name} | {prior} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
