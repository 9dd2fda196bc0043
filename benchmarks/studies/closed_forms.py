"""Policies on random closed forms, which no kernel drew: python -m benchmarks.studies.closed_forms

Polynomials and compositions of sines, exponentials and the like, standardised, with noise of a tenth, are
unlike anything a policy is trained on and much like what a handbook of test functions holds, but there are as
many of them as one likes. Every method starts from the same point of the same function and is judged by the
same fit, theta unknown.
"""

import dataclasses
import itertools
import sys
from collections.abc import Sequence

import numpy as np
import tyro
from numpy.polynomial import legendre

import alx
from alx.io import cache
from benchmarks.evaluation.final import final_rmse
from benchmarks.evaluation.methods import Method, baselines, from_policy, generator
from benchmarks.evaluation.protocol import SEEDS_TOGETHER
from benchmarks.evaluation.statistics import p_below, standard_error
from benchmarks.evaluation.tasks import Function, Task, from_function

__all__ = ["FAMILIES", "composition", "draw", "log_rmse", "polynomial", "table"]

DEGREE = 4
TERMS, FACTORS = 3, 2
SHAPES: tuple[Function, ...] = (
    np.sin,
    np.tanh,
    lambda z: np.exp(np.clip(z / 2, -4, 3)),
    np.square,
    lambda z: z,
    lambda z: np.exp(-np.square(z) / 2),
    np.ones_like,
)


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


def polynomial(random: np.random.Generator, dim: int) -> Function:
    """A sum of products of Legendre polynomials up to total degree 4, higher ones the smaller."""
    decay = random.uniform(0.4, 1.0)
    degrees = [each for each in itertools.product(range(DEGREE + 1), repeat=dim) if 0 < sum(each) <= DEGREE]
    weights = np.array([random.standard_normal() * decay ** sum(each) for each in degrees])

    def truth(x: np.ndarray) -> np.ndarray:
        bases = legendre.legvander(2 * x - 1, DEGREE)  # [m, D, degree]
        terms = np.stack([bases[:, range(dim), each].prod(1) for each in degrees])
        return weights @ terms

    return truth


def composition(random: np.random.Generator, dim: int) -> Function:
    """A sum of three products of two shapes, each of a random linear combination of some inputs."""
    shape = (TERMS, FACTORS)
    size = np.exp(random.uniform(np.log(0.5), np.log(4), (*shape, 1)))
    slopes = random.standard_normal((*shape, dim)) * size * (random.random((*shape, dim)) < 0.75)
    offsets = random.uniform(-np.pi, np.pi, shape)
    shapes = random.integers(0, len(SHAPES), shape)
    weights = random.standard_normal(TERMS)

    def truth(x: np.ndarray) -> np.ndarray:
        inner = np.einsum("tfd,md->tfm", slopes, 2 * x - 1) + offsets[..., None]
        outer = [
            [SHAPES[i](z) for i, z in zip(*pair, strict=True)] for pair in zip(shapes, inner, strict=True)
        ]
        return weights @ np.prod(outer, axis=1)

    return truth


FAMILIES = {"polynomials": polynomial, "compositions": composition}


def draw(family: str, dim: int, number: int, seed: int) -> list[Task]:
    """So many functions of a family; one that hardly varies is drawn again."""
    random, found = generator(family, seed, dim), []
    while len(found) < number:
        truth = FAMILIES[family](random, dim)
        if truth(random.random((100, dim))).std() > 0.01:
            found.append(from_function(f"{family}-{seed}-{len(found)}", dim, truth))
    return found


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
