"""How often a learner's intervals hold, and how far off it says it is: python -m benchmarks.studies.coverage

Random functions of two simulated priors and five families of closed forms, two of which nothing is trained
on, standardised, with noise of a tenth: at 8, 20 and 40 points, uniform or asked for by the policy, the share
of true values inside the 90 % interval, the estimated error over the true one, and the log RMSE of the mean
against that of a maximum-likelihood fit and of scikit-learn's. Rows are kept, so that a stopped study resumes
and a new policy does not pay for the others' fits again.
"""

import csv
import dataclasses
import functools
import io
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import alx
from alx.io import files
from alx.io.store import GENERAL, fingerprint
from alx.network.policy import Policy
from benchmarks.evaluation.tasks import Task
from benchmarks.studies import command, coverage_report, drawn
from benchmarks.studies.coverage_cells import DESIGNS, LEVELS, SIZES, said
from benchmarks.studies.coverage_fits import FITS

__all__ = ["Unit", "collect", "measure", "units"]

SEED = 0
DIMS = (1, 2, 3, 5)
FEW = {"exact": 30}  # functions where it is only the means that are compared
SCIKIT = 5  # functions for scikit-learn, which is slow
Table = list[dict[str, float]]


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Hold what a learner says of random functions against the truth.

    Attributes:
        policy: a shipped name or a policy file.
        dims: numbers of inputs.
        families: families of functions; paper: those of the paper's tasks, for one input and two.
        designs: where the points come from; exact: uniform and without noise.
        functions: of each family.
        out: where rows are kept.
        picture: where the reliability plot goes; by default beside the rows.
    """

    policy: str = GENERAL
    dims: tuple[int, ...] = DIMS
    families: tuple[str, ...] = drawn.NAMES
    designs: tuple[str, ...] = tuple(DESIGNS)
    functions: int = 100
    out: Path = Path("runs/coverage")
    picture: Path | None = None


@dataclasses.dataclass(frozen=True)
class Unit:
    """What is measured and kept together: functions of one family with one design."""

    family: str
    dim: int
    design: str
    functions: int

    @property
    def file(self) -> str:
        return f"{self.family}-D{self.dim}-{self.design}-{self.functions}.csv"


def units(arguments: Arguments) -> list[Unit]:
    """All of them, in the order in which they are measured."""
    every = itertools.product(arguments.dims, arguments.designs, arguments.families)
    many = arguments.functions
    found = [Unit(family, dim, d, min(many, FEW.get(d, many))) for dim, d, family in every]
    return [unit for unit in found if drawn.draw(unit.family, unit.dim, 1, SEED)]


def measure(policy: Policy, unit: Unit) -> Table:
    """A row for each function and size."""
    rows = []
    for i, task in enumerate(_tasks(unit)):
        for each in said(policy, task, DESIGNS[unit.design]):
            row = {"function": i, "points": each.points, "alx": each.log_rmse, "says": each.log_estimate}
            rows.append(row | dict(zip(map(str, LEVELS), each.covered, strict=True)))
    return rows


def fits(unit: Unit) -> Table:
    """A row for each function and size with the log RMSE of other models; NaN where one was not tried."""
    tasks, design, rows = _tasks(unit), DESIGNS[unit.design], []
    for n in SIZES:
        figures = {"fit": FITS["fit"](tasks, design, n), "scikit-learn": np.full(len(tasks), np.nan)}
        few = tasks[: min(SCIKIT, len(tasks))]
        figures["scikit-learn"][: len(few)] = FITS["scikit-learn"](few, design, n)
        rows += [
            {"function": i, "points": n, **{name: float(values[i]) for name, values in figures.items()}}
            for i in range(len(tasks))
        ]
    return rows


@functools.lru_cache(maxsize=4)
def _drawn(family: str, dim: int, number: int) -> list[Task]:
    return drawn.draw(family, dim, number, SEED)


def _tasks(unit: Unit) -> list[Task]:
    return _drawn(unit.family, unit.dim, unit.functions)


def collect(path: Path, make: Callable[[], Table]) -> Table:
    """The rows of a file; made and written first when there is none."""
    if not path.exists():
        begin, rows = time.perf_counter(), make()
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([{name: f"{value:.6g}" for name, value in row.items()} for row in rows])
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_bytes(path, text.getvalue().encode())
        print(f"{path}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def _prepare(arguments: Arguments) -> Policy:
    command.known("families", arguments.families, (*drawn.NAMES, drawn.PAPER))
    command.known("designs", arguments.designs, DESIGNS)
    command.at_least("dims", min(arguments.dims), 1)
    command.at_least("functions", arguments.functions, 2, "for a standard error")
    return alx.load(arguments.policy)


def _run(arguments: Arguments, policy: Policy) -> None:
    own, others = arguments.out / fingerprint(policy)[:12], arguments.out / "fits"
    found = []
    for unit in units(arguments):
        rows = collect(own / unit.file, functools.partial(measure, policy, unit))
        if DESIGNS[unit.design].uniform:
            fitted = collect(others / unit.file, functools.partial(fits, unit))
            rows = _joined(rows, fitted)
        found.append((unit, rows))
    picture = arguments.picture or own / "reliability.png"
    coverage_report.picture(found).savefig(picture, dpi=150)
    print(f"wrote {picture}", file=sys.stderr)
    print(coverage_report.report(found))


def _joined(rows: Table, others: Table) -> Table:
    known = {(row["function"], row["points"]): row for row in others}
    return [row | known[row["function"], row["points"]] for row in rows]


def main() -> int:
    return command.run(Arguments, _prepare, _run)


if __name__ == "__main__":
    sys.exit(main())
