"""Rows to numbers: means, standard errors and paired tests."""

import dataclasses
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from benchmarks.evaluation.rows import judged

__all__ = ["Summary", "curves", "final", "p_below", "paired", "summarize", "summary"]

SIGNIFICANT = 0.05


@dataclasses.dataclass(frozen=True)
class Summary:
    """One method on one task, over its seeds.

    Attributes:
        mean: of the RMSE after the last query, with its standard error and median.
        seeds: how many.
        p_random: one-sided Wilcoxon signed-rank p of being below Random on paired seeds; None without it.
        p_gp_al: the same against GP AL.
        query_ms: median over the timed seeds of the summed time of all T selections.
        compile_s: the compilation, apart.
    """

    task: str
    method: str
    mean: float
    error: float
    median: float
    seeds: int
    p_random: float | None
    p_gp_al: float | None
    query_ms: float
    compile_s: float

    @property
    def marks(self) -> str:
        """* significantly below Random, † significantly below GP AL."""
        pairs = (("*", self.p_random), ("†", self.p_gp_al))
        return "".join(mark for mark, p in pairs if p is not None and p < SIGNIFICANT)


def summarize(rows: list[dict[str, Any]], task: str, methods: list[str]) -> list[Summary]:
    """One summary per method that has rows on the task, in the given order."""
    return [summary(rows, task, m) for m in methods if _select(rows, task, m)]


def summary(rows: list[dict[str, Any]], task: str, method: str) -> Summary:
    """The numbers of one method on one task."""
    own = _select(rows, task, method)
    last = np.array(list(final(rows, task, method).values()))

    def against(rival: str) -> float | None:
        pairs = paired(rows, task, method, rival)
        return p_below(*pairs) if method != rival and len(pairs[0]) else None

    return Summary(
        task,
        method,
        float(last.mean()),
        standard_error(last),
        float(np.median(last)),
        len(last),
        against("random"),
        against("gp-al"),
        1e3 * float(np.median([sum(row["query_seconds"]) for row in own if row["query_seconds"]])),
        max(row["compile_seconds"] for row in own),
    )


def final(rows: list[dict[str, Any]], task: str, method: str) -> dict[int, float]:
    """RMSE after the last query by seed."""
    return {row["seed"]: row["rmse"][-1] for row in _select(rows, task, method)}


def curves(rows: list[dict[str, Any]], task: str, method: str) -> tuple[np.ndarray, np.ndarray]:
    """After how many points it was judged ``[k]``, and the RMSE ``[seeds, k]``."""
    own = _select(rows, task, method)
    return np.array(judged(own[0]) if own else []), np.array([row["rmse"] for row in own])


def standard_error(values: np.ndarray) -> float:
    """Of the mean; 0 for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def p_below(ours: np.ndarray, theirs: np.ndarray) -> float:
    """p of a one-sided Wilcoxon signed-rank test that ``ours`` is below ``theirs``, pair by pair."""
    if np.array_equal(ours, theirs):
        return 1.0
    result: Any = wilcoxon(ours, theirs, alternative="less")
    return float(result.pvalue)


def paired(rows: list[dict[str, Any]], task: str, method: str, rival: str) -> tuple[np.ndarray, np.ndarray]:
    """The final RMSEs of two methods on the seeds that both have run."""
    ours, theirs = final(rows, task, method), final(rows, task, rival)
    seeds = sorted(ours.keys() & theirs.keys())
    return np.array([ours[s] for s in seeds]), np.array([theirs[s] for s in seeds])


def _select(rows: list[dict[str, Any]], task: str, method: str) -> list[dict[str, Any]]:
    return sorted(
        (row for row in rows if row["task"] == task and row["method"] == method), key=lambda row: row["seed"]
    )
