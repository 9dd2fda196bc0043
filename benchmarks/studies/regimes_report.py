"""Rows of the study to Markdown: differences to Sobol with standard errors, paired tests, a short form.

A method's figure of a situation is the mean over families of its mean difference to Sobol, function by
function. It is left out where the method lacks functions that Sobol has.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.evaluation.registry import label
from benchmarks.evaluation.statistics import p_below, standard_error
from benchmarks.studies.regimes_methods import REGIMES, RIVALS
from benchmarks.studies.regimes_rows import Rows

__all__ = ["Mean", "Situation", "average", "report", "short", "situations"]

OWN = "alx"
SOBOL = "sobol"
ABSENT = ""
# The policy and itself untrained have names of their own here; all others are those of the evaluation.
LABELS = {"alx": "alx", "untrained": "alx, untrained"} | {
    name: label(name) for name in ("blind", "sobol", "random", "maximin", "gp-al", "gp-al-variance")
}


@dataclasses.dataclass(frozen=True)
class Mean:
    """A mean and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:+.3f} ± {self.error:.3f}"


@dataclasses.dataclass(frozen=True)
class Situation:
    """All experiments with so many inputs in one regime.

    Attributes:
        dim: number of inputs.
        regime: given:queries.
        families: log RMSE of each method, function by function, in each family.
    """

    dim: int
    regime: str
    families: dict[str, dict[str, np.ndarray]]

    def has(self, method: str) -> bool:
        return all(method in figures for figures in self.families.values())

    def less(self, method: str, other: str) -> dict[str, np.ndarray]:
        """By how much the one is above the other, function by function."""
        return {family: figures[method] - figures[other] for family, figures in self.families.items()}

    def gain(self, method: str) -> Mean:
        """The difference to Sobol, averaged over families."""
        return average(self.less(method, SOBOL))

    def best_rival(self) -> str:
        """The classical method that is best here on average."""
        return min((m for m in RIVALS if self.has(m)), key=lambda m: self.gain(m).value)

    def p(self, method: str, other: str) -> float:
        """p of a one-sided Wilcoxon test over all functions that the one is below the other."""
        ours, theirs = (np.concatenate([f[m] for f in self.families.values()]) for m in (method, other))
        return p_below(ours, theirs)


def average(families: dict[str, np.ndarray]) -> Mean:
    """The mean over families of the mean over functions, with its standard error."""
    values = list(families.values())
    error = math.sqrt(sum(standard_error(v) ** 2 for v in values)) / len(values)
    return Mean(float(np.mean([v.mean() for v in values])), error)


def situations(rows: Rows) -> list[Situation]:
    """The rows by number of inputs and regime; experiments without Sobol cannot be compared."""
    found: dict[tuple[int, str], Rows] = {}
    for experiment, values in rows.items():
        if SOBOL in values:
            found.setdefault((experiment.dim, experiment.regime), {})[experiment] = values
    order = sorted(found, key=lambda key: (key[0], list(REGIMES).index(key[1])))
    return [Situation(*key, _families(found[key])) for key in order]


def _families(rows: Rows) -> dict[str, dict[str, np.ndarray]]:
    columns: dict[str, list[dict[str, float]]] = {}
    for experiment in sorted(rows):
        columns.setdefault(experiment.family, []).append(rows[experiment])
    return {
        family: {m: np.array([v[m] for v in values]) for m in LABELS if all(m in v for v in values)}
        for family, values in columns.items()
    }


def report(rows: Rows, methods: Sequence[str]) -> str:
    """All tables."""
    every = situations(rows)
    shown = [m for m in methods if m != SOBOL and any(s.has(m) for s in every)]
    parts = ["log RMSE less Sobol's, mean over families ± standard error", _methods(every, shown)]
    own = [s for s in every if s.has(OWN)]
    if own:
        parts += ["alx by family", _by_family(own)]
        parts += ["alx against the best classical method, itself untrained and itself blind", _tests(own)]
        parts += [summary(own), "In short: alx (the best classical method)", short(own)]
    return "\n\n".join(parts)


def _methods(every: Sequence[Situation], shown: Sequence[str]) -> str:
    def cells(s: Situation) -> list[str]:
        functions = sum(len(figures[SOBOL]) for figures in s.families.values())
        return [str(functions), *(str(s.gain(m)) if s.has(m) else ABSENT for m in shown)]

    return _table(["functions", *(LABELS[m] for m in shown)], every, cells)


def _by_family(own: Sequence[Situation]) -> str:
    families = list(dict.fromkeys(family for s in own for family in s.families))

    def cells(s: Situation) -> list[str]:
        less = s.less(OWN, SOBOL)
        return [str(average({f: less[f]})) if f in less else ABSENT for f in families]

    return _table(families, own, cells)


def _tests(own: Sequence[Situation]) -> str:
    def cells(s: Situation) -> list[str]:
        best = s.best_rival()
        twins = [f"{s.p(OWN, m):.1g}" if s.has(m) else ABSENT for m in ("untrained", "blind")]
        return [LABELS[best], str(average(s.less(OWN, best))), f"{s.p(OWN, best):.1g}", *twins]

    return _table(["best classical", "alx less that", "p", "p untrained", "p blind"], own, cells)


def summary(own: Sequence[Situation]) -> str:
    """In how many situations the policy is ahead of the best classical method, and by how much."""
    less = [average(s.less(OWN, s.best_rival())) for s in own]
    ahead, level = (sum(m.value - slack * m.error < 0 for m in less) for slack in (0, 1))
    mean = np.mean([m.value for m in less])
    return (
        f"Against the best classical method of each of {len(own)} situations: ahead in {ahead}, "
        f"within one standard error or ahead in {level}; {mean:+.3f} on average."
    )


def short(own: Sequence[Situation]) -> str:
    """One line for a number of inputs, one column for a regime."""
    dims = sorted({s.dim for s in own})
    regimes = [regime for regime in REGIMES if any(s.regime == regime for s in own)]
    by = {(s.dim, s.regime): f"{s.gain(OWN).value:+.2f} ({s.gain(s.best_rival()).value:+.2f})" for s in own}
    lines = ["| D | " + " | ".join(regimes) + " |", "|---|" + "---:|" * len(regimes)]
    lines += [f"| {dim} | " + " | ".join(by.get((dim, r), ABSENT) for r in regimes) + " |" for dim in dims]
    return "\n".join(lines)


def _table(header: Sequence[str], every: Sequence[Situation], cells: Callable[[Situation], list[str]]) -> str:
    lines = ["| D | given:queries | " + " | ".join(header) + " |", "|---|---|" + "---:|" * len(header)]
    lines += [f"| {s.dim} | {s.regime} | " + " | ".join(cells(s)) + " |" for s in every]
    return "\n".join(lines)
