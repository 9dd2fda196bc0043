"""Policies on random closed forms, which no kernel drew: python -m benchmarks.studies.closed_forms

Polynomials and compositions of sines, exponentials and the like, standardised, with noise of a tenth, are
unlike anything a policy is trained on and much like what a handbook of test functions holds, but there are as
many of them as one likes. Every method starts from the same point of the same function and is judged by the
same fit, theta unknown.
"""

import dataclasses
import sys
from collections.abc import Sequence

import numpy as np
import tyro

import alx
from alx.io import cache
from benchmarks.evaluation.final import final_rmse
from benchmarks.evaluation.methods import Method, baselines, from_policy
from benchmarks.evaluation.protocol import SEEDS_TOGETHER
from benchmarks.evaluation.statistics import p_below, standard_error
from benchmarks.evaluation.tasks import Task
from benchmarks.studies.families import draw

__all__ = ["FAMILIES", "log_rmse", "table"]

FAMILIES = ("polynomials", "compositions")


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Compare policies of the same number of inputs with GP AL, Sobol and Random on random closed forms.

    Attributes:
        policies: shipped names or policy files.
        functions: functions of each family; five experiments with each.
        seed: seed of the functions, first points and noise.
    """

    policies: tyro.conf.Positional[tuple[str, ...]] = ("dim2-T20",)
    functions: int = 100
    seed: int = 0


def log_rmse(tasks: Sequence[Task], method: Method, budget: int) -> np.ndarray:
    """log of the RMSE after the last query, the mean over experiments with each of the functions."""
    return np.array([np.log(final_rmse(task, method, SEEDS_TOGETHER, budget)).mean() for task in tasks])


def table(columns: dict[str, dict[str, np.ndarray]], reference: str) -> str:
    """Mean and standard error of log RMSE less that of Sobol, and how likely the reference is no better."""
    lines = [
        "| queries | " + " | ".join(f"{family} | p" for family in columns) + " |",
        "|---|" + "---:|" * (2 * len(columns)),
    ]
    for name in next(iter(columns.values())):
        cells = []
        for column in columns.values():
            ratio = column[name] - column["sobol"]
            p = p_below(column[reference], column[name])
            cells += [
                f"{ratio.mean():+.3f} ± {standard_error(ratio):.3f}",
                "" if name == reference else f"{p:.1g}",
            ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    arguments = tyro.cli(Arguments, config=(tyro.conf.FlagCreatePairsOff,))
    cache.enable()
    try:
        policies = {name: alx.load(name) for name in arguments.policies}
        kinds = {(policy.config.dim, policy.config.T) for policy in policies.values()}
        if len(kinds) != 1:
            raise ValueError(f"policies must share dim and T, got {len(kinds)} kinds")
        if arguments.functions < 10:
            raise ValueError(f"--functions must be at least 10 for a test, got {arguments.functions}")
    except (OSError, ValueError) as error:
        print(f"closed_forms: {error}", file=sys.stderr)
        return 2
    ((dim, budget),) = kinds
    methods = {name: from_policy(name, policy) for name, policy in policies.items()}
    first = arguments.policies[0]
    methods[f"{first}, blind"] = from_policy("blind", policies[first], blind=True)
    methods |= baselines()
    columns = {}
    for family in FAMILIES:
        tasks = draw(family, dim, arguments.functions, arguments.seed)
        columns[family] = {name: log_rmse(tasks, method, budget) for name, method in methods.items()}
    print(table(columns, first))
    return 0


if __name__ == "__main__":
    sys.exit(main())
