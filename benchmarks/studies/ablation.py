"""The ablation figures: what the training objective and its seed do to the loss, the RMSE and the time."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from benchmarks.evaluation.statistics import summary
from benchmarks.evaluation.tables import Evaluation

__all__ = ["caption", "groups", "picture"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def caption(dim: int) -> str:
    return (
        f"Policies for D = {dim} by training objective, one mark per training seed and a line at their mean: "
        "the loss of each epoch of training, the RMSE after the last query on each task (mean over the "
        "evaluation's seeds), and the query time of one run (mean over tasks)."
    )


def groups(evaluation: Evaluation, dim: int) -> dict[str, list[str]]:
    """The user's policies of one dimension by objective, when at least one objective has several."""
    found: dict[str, list[str]] = {}
    for method, record in evaluation.records.items():
        if record["config"]["dim"] == dim:
            objective = str(record.get("objective", "unknown"))
            single_queries = record.get("training", {}).get("myopic", False)
            found.setdefault(f"myopic {objective}" if single_queries else objective, []).append(method)
    return found if any(len(methods) > 1 for methods in found.values()) else {}


def picture(evaluation: Evaluation, dim: int) -> Figure | None:
    """Losses on top, then an RMSE panel per task, then the times; None without several seeds."""
    found = groups(evaluation, dim)
    if not found:
        return None
    tasks = [task.name for task in evaluation.tasks if task.dim == dim]
    methods = [method for members in found.values() for method in members]
    rmse = {task: {m: summary(evaluation.rows, task, m).mean for m in methods} for task in tasks}
    times = {m: float(np.mean([summary(evaluation.rows, t, m).query_ms for t in tasks])) for m in methods}
    losses = any(evaluation.records[m].get("losses") for m in times)
    panels = losses + len(tasks) + 1
    figure, axes = plt.subplots(panels, 1, figsize=(6, 2.7 * panels), squeeze=False)
    axes = list(axes[:, 0])
    if losses:
        _losses(axes.pop(0), evaluation, found)
    for axis, task in zip(axes, tasks, strict=False):
        _marks(axis, found, rmse[task])
        axis.set_ylabel("RMSE")
        axis.set_title(task, fontweight="bold", fontsize=12)
    _marks(axes[-1], found, times)
    axes[-1].set_ylabel("query time\n[ms per run]")
    return figure


def _losses(axis, evaluation: Evaluation, found: dict[str, list[str]]) -> None:
    for i, (objective, methods) in enumerate(found.items()):
        for j, method in enumerate(methods):
            losses = np.asarray(evaluation.records[method].get("losses", []), float)
            name = objective if j == 0 else None
            epochs = np.arange(1, len(losses) + 1)
            axis.plot(epochs, losses, color=COLOURS[i % len(COLOURS)], alpha=0.8, label=name)
    axis.set(xlabel="epoch", ylabel="training loss")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(fontsize=9)


def _marks(axis, found: dict[str, list[str]], value: dict[str, float]) -> None:
    for i, methods in enumerate(found.values()):
        values = [value[method] for method in methods]
        spread = np.linspace(-0.15, 0.15, len(values)) if len(values) > 1 else np.zeros(1)
        axis.plot(i + spread, values, "o", color=COLOURS[i % len(COLOURS)])
        axis.hlines(np.mean(values), i - 0.25, i + 0.25, color=COLOURS[i % len(COLOURS)])
    axis.set_xticks(range(len(found)), [name.replace(" ", "\n").replace("-", "-\n") for name in found])
    axis.set_xlim(-0.5, len(found) - 0.5)
