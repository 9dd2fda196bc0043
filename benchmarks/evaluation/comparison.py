"""One method against the others on paired seeds, in words: who wins where, by how much, how sure."""

import dataclasses
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from benchmarks.evaluation.registry import OURS, label
from benchmarks.evaluation.statistics import paired

__all__ = ["CONFIDENCE", "Difference", "best_rival", "difference", "rivals", "verdict"]

CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True)
class Difference:
    """RMSE of a method less a rival's after the last query, as a fraction of the rival's mean.

    Attributes:
        task: where.
        rival: against whom.
        mean: of the paired differences.
        low: of its interval, with ``high``; infinite where there are too few seeds for one.
        seeds: how many pairs.
    """

    task: str
    rival: str
    mean: float
    low: float
    high: float
    seeds: int

    @property
    def sign(self) -> int:
        """-1 where the method's RMSE is lower, 1 where it is higher, 0 where the interval holds zero."""
        return -1 if self.high < 0 else 1 if self.low > 0 else 0


def difference(rows: list[dict[str, Any]], task: str, method: str, rival: str) -> Difference | None:
    """The paired difference and its interval by Student's t; None without a seed that both have run."""
    ours, theirs = paired(rows, task, method, rival)
    if not len(ours):
        return None
    gap, scale = ours - theirs, theirs.mean()
    low, high = -np.inf, np.inf
    if len(gap) > 1 and np.ptp(gap) > 0:
        low, high = ttest_rel(ours, theirs).confidence_interval(CONFIDENCE)
    elif len(gap) > 1:
        low = high = gap[0]
    return Difference(task, rival, gap.mean() / scale, float(low / scale), float(high / scale), len(gap))


def rivals(methods: list[str], method: str) -> list[str]:
    """The methods to compare one with; the same policy in other circumstances is none."""
    same = OURS if method in OURS else (method,)
    return [name for name in methods if name not in same]


def best_rival(rows: list[dict[str, Any]], task: str, method: str, methods: list[str]) -> Difference | None:
    """Against the rival of the lowest mean; that it is picked afterwards favours the rival."""
    found = (difference(rows, task, method, rival) for rival in rivals(methods, method))
    # The rival's mean is ours / (1 + mean difference): the lowest has the largest difference.
    return max((d for d in found if d is not None), key=lambda d: d.mean, default=None)


def verdict(rows: list[dict[str, Any]], tasks: list[str], methods: list[str]) -> str:
    """One sentence: the first method against the best rival of each task."""
    subject = methods[0]
    found = [d for task in tasks if (d := best_rival(rows, task, subject, methods)) is not None]
    if not found:
        return f"{label(subject)} was run without a rival, so there is nothing to compare."
    wins, losses, open_ = ([d for d in found if d.sign == sign] for sign in (-1, 1, 0))
    clauses = []
    if wins:
        clauses.append(f"has a lower RMSE than every rival on {_list(map(_amount, wins))}")
    if losses:
        clauses.append(f"is beaten on {_list(map(_amount, losses))}")
    if open_:
        clauses.append(f"does not differ for certain from the best rival on {_list(map(_amount, open_))}")
    seeds = min(d.seeds for d in found)
    score = f"wins {len(wins)}, loses {len(losses)} and leaves {len(open_)} undecided"
    return (
        f"Against the best rival of each of {_count(len(found), 'task')}, {label(subject)} {score}: "
        f"it {_list(clauses, '; it ', '; and it ')} (mean of {_count(seeds, 'paired seed')}; in brackets its "
        "95 % interval)."
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _amount(d: Difference) -> str:
    side = "below" if d.mean < 0 else "above"
    interval = f"{_signed(d.low)} to {_signed(d.high)}" if np.isfinite(d.low) else "unknown"
    return f"{d.task} ({100 * abs(d.mean):.0f} % {side} {label(d.rival)} [{interval}])"


def _signed(fraction: float) -> str:
    return f"{100 * fraction:+.0f}".replace("-", "\N{MINUS SIGN}")


def _list(items, comma: str = ", ", last: str = " and ") -> str:
    items = list(items)
    return items[0] if len(items) == 1 else comma.join(items[:-1]) + last + items[-1]
