"""A policy in the situations of users, against classical ways to choose: python -m benchmarks.studies.regimes

A situation is a number of inputs, of given points and of queries. Random functions of several families,
standardised, are measured with noise of a tenth. A GP with unknown theta is fitted to all points at the end,
and its log RMSE is compared with that of a Sobol design which goes on from the same given points and meets
the same noise: negative is better. Figures of the classical methods are kept beside this file and not
computed again; those of a policy go to a directory of its own. A stopped study resumes.
"""

import dataclasses
import functools
import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import jax

import alx
from alx.io.store import GENERAL, fingerprint
from alx.network.policy import Policy, init
from benchmarks.studies import command, regimes_report, regimes_rows
from benchmarks.studies.families import FAMILIES, UNSEEN, draw
from benchmarks.studies.regimes_methods import REGIMES, RIVALS, SEED, Choose, from_policy, log_rmse, run
from benchmarks.studies.regimes_rows import Experiment, Rows

__all__ = ["Cell", "cells", "experiments", "methods_of", "study"]

DIMS = (1, 2, 3, 5, 6)
USUAL = tuple(name for name in REGIMES if name != "130:20")
BEYOND = (8,)  # inputs: what to expect where nothing was trained is asked for by name, and so is 130:20
MANY = {1: 240, 2: 100, 3: 100}  # functions of each family; with other numbers of inputs FEW
UNSEEN_IN = (2, 3)  # inputs
FEW = 60
TOGETHER = 20  # experiments between two writes
OWN = ("alx", "untrained", "blind")
RIVALS_FILE = Path(__file__).with_name("regimes_rivals.csv")
Sources = list[tuple[Path, dict[str, Choose]]]


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Compare a policy with classical methods for many numbers of inputs, given points and queries.

    Attributes:
        policy: a shipped name or a policy file.
        dims: numbers of inputs.
        regimes: given:queries, of those the study knows.
        families: families of functions; those that nothing is trained on are for two and three inputs.
        methods: ways to choose queries.
        functions: at most so many functions of each family.
        out: directory of the policy's figures; by default runs/regimes/ and the policy's fingerprint.
    """

    policy: str = GENERAL
    dims: tuple[int, ...] = DIMS
    regimes: tuple[str, ...] = USUAL
    families: tuple[str, ...] = tuple(FAMILIES)
    methods: tuple[str, ...] = (*OWN, *RIVALS)
    functions: int = max(MANY.values())
    out: Path | None = None


@dataclasses.dataclass(frozen=True)
class Cell:
    """Functions of one family in one situation."""

    dim: int
    regime: str
    family: str


def cells(dims: Sequence[int], regimes: Sequence[str], families: Sequence[str]) -> list[Cell]:
    """What is to be run, in the order given; unseen families only with two and three inputs."""
    every = itertools.starmap(Cell, itertools.product(dims, regimes, families))
    return [cell for cell in every if cell.family not in UNSEEN or cell.dim in UNSEEN_IN]


def experiments(cell: Cell, functions: int) -> list[Experiment]:
    """The experiments of a cell."""
    number = min(functions, MANY.get(cell.dim, FEW))
    return [Experiment(cell.dim, cell.regime, cell.family, i) for i in range(number)]


def methods_of(policy: Policy) -> dict[str, Choose]:
    """A policy, itself untrained, and itself told y = 0."""
    untrained = Policy(init(jax.random.key(0), policy.config), policy.config)
    return {
        "alx": from_policy(policy),
        "untrained": from_policy(untrained),
        "blind": from_policy(policy, blind=True),
    }


def study(cell: Cell, methods: dict[str, Choose], path: Path, functions: int) -> None:
    """Run what the file lacks of a cell, some experiments at a time, and keep it there."""
    known = regimes_rows.read(path)
    for name, choose in methods.items():
        lacking = regimes_rows.missing(known, experiments(cell, functions), name)
        for start in range(0, len(lacking), TOGETHER):
            part, begin = lacking[start : start + TOGETHER], time.perf_counter()
            regimes_rows.complete(path, _measure(cell, part, name, choose))
            what = f"D={cell.dim} {cell.regime} {cell.family} {name}"
            print(f"{what}: {len(part)} in {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)


def _measure(cell: Cell, part: Sequence[Experiment], name: str, choose: Choose) -> Rows:
    drawn = _functions(cell.family, cell.dim)
    tasks = [drawn[experiment.function] for experiment in part]
    errors = log_rmse(tasks, *run(tasks, REGIMES[cell.regime], choose))
    return {experiment: {name: float(error)} for experiment, error in zip(part, errors, strict=True)}


@functools.cache
def _functions(family: str, dim: int):
    return draw(family, dim, MANY.get(dim, FEW), SEED)


def main() -> int:
    return command.run(Arguments, _prepare, _run)


def _prepare(arguments: Arguments) -> Sources:
    """The files of the methods asked for, and those methods."""
    command.known("dims", arguments.dims, (*DIMS, *BEYOND))
    command.known("regimes", arguments.regimes, REGIMES)
    command.known("families", arguments.families, FAMILIES)
    command.known("methods", arguments.methods, (*OWN, *RIVALS))
    command.at_least("functions", arguments.functions, 2, "for a standard error")
    sources = [(RIVALS_FILE, RIVALS)]
    if set(OWN) & set(arguments.methods):
        policy = alx.load(arguments.policy)
        out = arguments.out or Path("runs/regimes") / fingerprint(policy)[:12]
        sources.append((out / "rows.csv", methods_of(policy)))
    for path, _ in sources:
        regimes_rows.read(path)  # a file of something else is refused now, not after an hour
    return sources


def _run(arguments: Arguments, sources: Sources) -> None:
    """Complete the files, cell by cell, and print what they hold of the cells asked for."""
    todo = cells(arguments.dims, arguments.regimes, arguments.families)
    for cell in todo:
        for path, methods in sources:
            chosen = {name: choose for name, choose in methods.items() if name in arguments.methods}
            study(cell, chosen, path, arguments.functions)
    rows = regimes_rows.merge(*(regimes_rows.read(path) for path, _ in sources))
    wanted = {experiment for cell in todo for experiment in experiments(cell, arguments.functions)}
    rows = {experiment: values for experiment, values in rows.items() if experiment in wanted}
    print(regimes_report.report(rows, [m for m in (*OWN, *RIVALS) if m in arguments.methods]))


if __name__ == "__main__":
    sys.exit(main())
