"""Which of several policies to ship, by simulation alone: python -m benchmarks.studies.selection POLICY ...

A policy is worth what a user has after the last query: the RMSE of his own fit, theta unknown. The score is
its logarithm less that of a Sobol design on the same function, so that smooth and rough functions count
alike: the mean over the functions of a prior, then over priors. Functions have unit variance over the domain,
as outputs have when they are standardised.
"""

import dataclasses
import sys

import numpy as np
import tyro

import alx
from alx.io import cache
from alx.network.policy import Policy
from alx.train.prior import PRIORS
from benchmarks.studies import simulated


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Compare policies of the same number of inputs by what a user's fit makes of their queries.

    Attributes:
        policies: shipped names or policy files.
        functions: simulated functions per prior.
        seed: seed of the functions.
    """

    policies: tyro.conf.Positional[tuple[str, ...]]
    functions: int = 1000
    seed: int = 3


def scores(policies: dict[str, Policy], prior: str, functions: int, seed: int) -> dict[str, np.ndarray]:
    """log RMSE less that of a Sobol design, for each policy and function."""
    config = next(iter(policies.values())).config
    standardised = dataclasses.replace(PRIORS[prior], standardised=True)
    problem = simulated.draw(standardised, config, functions, seed)
    sobol = np.log(simulated.rmse_refitted(problem, simulated.sobol_queries(problem)))
    ways = {"GP AL, theta known": simulated.greedy_queries(problem)}
    for name, policy in policies.items():
        ways[name] = simulated.policy_queries(problem, policy.params, policy.config)
    return {name: np.log(simulated.rmse_refitted(problem, x)) - sobol for name, x in ways.items()}


def table(columns: dict[str, dict[str, np.ndarray]]) -> str:
    """Means of each prior and of all, best first, and how far each is above the best, with standard error."""
    ways = list(next(iter(columns.values())))
    means = {way: np.array([column[way].mean() for column in columns.values()]) for way in ways}
    order = sorted(ways, key=lambda way: means[way].mean())
    lines = [
        f"| queries | {' | '.join(columns)} | mean | above the best |",
        "|---|" + "---:|" * (len(columns) + 2),
    ]
    for way in order:
        above = [column[way] - column[order[0]] for column in columns.values()]
        error = np.sqrt(sum(a.var(ddof=1) / a.size for a in above)) / len(above)
        cells = [f"{value:+.4f}" for value in (*means[way], means[way].mean())]
        lines.append(f"| {way} | {' | '.join(cells)} | {np.mean(above):.4f} ± {error:.4f} |")
    return "\n".join(lines)


def main() -> int:
    arguments = tyro.cli(Arguments)
    cache.enable()
    try:
        policies = {name: alx.load(name) for name in arguments.policies}
        shapes = {dataclasses.replace(policy.config, network="paper") for policy in policies.values()}
        if len(shapes) != 1:
            raise ValueError(f"policies must share dim, T and n_init, got {len(shapes)} kinds")
        if arguments.functions < 2:
            raise ValueError(f"--functions must be at least 2, got {arguments.functions}")
    except (OSError, ValueError) as error:
        print(f"selection: {error}", file=sys.stderr)
        return 2
    names = [name for name, prior in PRIORS.items() if not prior.standardised]  # others are copies of these
    print(table({name: scores(policies, name, arguments.functions, arguments.seed) for name in names}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
