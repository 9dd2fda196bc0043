"""The ablation figure: what the training objective and its seed do to the loss, the RMSE and the time."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from benchmarks.statistics import final, summary
from benchmarks.tables import Evaluation

__all__ = ["CAPTION", "groups", "picture"]

CAPTION = (
    "Policies by training objective, one mark per training seed: the loss during training, the RMSE after the last "
    "query on each task (mean over evaluation seeds), and the query time of one run."
)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def groups(evaluation: Evaluation) -> dict[str, list[str]]:
    """The user's policies by objective, when at least one objective has several."""
    found: dict[str, list[str]] = {}
    for method, record in evaluation.records.items():
        found.setdefault(str(record.get("objective", "unknown")), []).append(method)
    return found if any(len(methods) > 1 for methods in found.values()) else {}


def picture(evaluation: Evaluation) -> Figure | None:
    """Losses on top, then an RMSE panel per task, then the times; None without several seeds."""
    found = groups(evaluation)
    if not found:
        return None
    methods = [m for members in found.values() for m in members]
    tasks = [t.name for t in evaluation.tasks if any(final(evaluation.rows, t.name, m) for m in methods)]
    figure, axes = plt.subplots(len(tasks) + 2, 1, figsize=(6, 2.6 * (len(tasks) + 2)))
    _losses(axes[0], evaluation, found)
    for axis, task in zip(axes[1:-1], tasks, strict=True):
        _marks(axis, evaluation, found, [task], lambda s: s.mean)
        axis.set(ylabel="RMSE", title=task)
    _marks(axes[-1], evaluation, found, tasks, lambda s: s.query_ms)
    axes[-1].set(ylabel="query time [ms per run]", title="all tasks")
    return figure


def _losses(axis, evaluation: Evaluation, found: dict[str, list[str]]) -> None:
    for i, (objective, methods) in enumerate(found.items()):
        for j, method in enumerate(methods):
            losses = np.asarray(evaluation.records[method].get("losses", []), float)
            name = objective if j == 0 else None
            axis.plot(np.arange(1, len(losses) + 1), losses, color=COLOURS[i % len(COLOURS)], alpha=0.8, label=name)
    axis.set(xlabel="epoch", ylabel="training loss", title="training")
    axis.legend(fontsize=9)


def _marks(axis, evaluation: Evaluation, found: dict[str, list[str]], tasks: list[str], value) -> None:
    for i, methods in enumerate(found.values()):
        values = [
            value(summary(evaluation.rows, task, method))
            for task in tasks
            for method in methods
            if final(evaluation.rows, task, method)
        ]
        spread = np.linspace(-0.15, 0.15, len(values)) if len(values) > 1 else np.zeros(len(values))
        axis.plot(i + spread, values, "o", color=COLOURS[i % len(COLOURS)])
        if values:
            axis.hlines(np.mean(values), i - 0.25, i + 0.25, color=COLOURS[i % len(COLOURS)])
    axis.set_xticks(range(len(found)), list(found))
    axis.set_xlim(-0.5, len(found) - 0.5)
