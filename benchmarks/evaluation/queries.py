"""Pictures of single runs: the function, what the model believes at the end, and the queries in order."""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation

from benchmarks.evaluation import model
from benchmarks.evaluation.tables import Evaluation, label
from benchmarks.evaluation.tasks import Task

__all__ = ["caption", "picture", "shown"]

SEED = 0


def shown(evaluation: Evaluation) -> list[str]:
    """The methods worth a picture: policies people use, the classical rival, and chance."""
    own = [m for m in evaluation.methods if m in evaluation.records]
    return [m for m in ("alx", *own[:2], "gp-al", "random") if m in evaluation.methods]


def caption(task: Task, method: str) -> str:
    what = "truth, posterior mean and two standard deviations" if task.dim == 1 else "the function in colour"
    return (
        f"{task.name}, {label(method)}, seed {SEED}: {what}; queries numbered in order, 0 is the given point."
    )


def picture(evaluation: Evaluation, task: Task, method: str, colour: str) -> Figure | None:
    """The run of seed 0, for one or two inputs; None when it was not run."""
    runs = (r for r in evaluation.rows if (r["task"], r["method"], r["seed"]) == (task.name, method, SEED))
    row = next(runs, None)
    if row is None or task.dim > 2:
        return None
    x, y = np.array(row["x"]), np.array(row["y"])
    figure = _line(task, x, y, colour) if task.dim == 1 else _map(task, x)
    figure.axes[0].set_title(f"{task.name}: {label(method)}", fontweight="bold", fontsize=12)
    return figure


def _line(task: Task, x: np.ndarray, y: np.ndarray, colour: str) -> Figure:
    order = np.argsort(task.test_x[:, 0])
    grid = task.test_x[order]
    mean, sd = _posterior(x, y, grid)
    figure, axis = plt.subplots(figsize=(6, 3.9))
    axis.fill_between(
        grid[:, 0], mean - 2 * sd, mean + 2 * sd, color=colour, alpha=0.18, linewidth=0, label="± 2 sd"
    )
    axis.plot(grid[:, 0], task.test_y[order], color="#888888", linewidth=1.5, label="truth")
    axis.plot(grid[:, 0], mean, color=colour, linewidth=2, label="posterior mean")
    axis.plot(x[:, 0], y, "o", color="black", markersize=4, label="labels")
    for i, (point, value) in enumerate(zip(x[:, 0], y, strict=True)):
        axis.annotate(str(i), (point, value), (0, 6), textcoords="offset points", ha="center", fontsize=9)
    axis.set_xlabel("x")
    axis.set_ylabel("y (standardised)")
    axis.margins(x=0.02, y=0.08)
    figure.legend(loc="outside lower center", ncols=4, fontsize=10)
    return figure


def _posterior(x: np.ndarray, y: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mask = np.ones((1, len(y)), bool)
    theta, _ = model.fit_many(x[None], y[None], mask)
    with jax.enable_x64(True):
        arrays = (theta.T, x.T[..., None], y[:, None], mask.T, grid.T[..., None])
        *given, at = map(jnp.asarray, arrays)
        mean, variance = model.predict(model.condition(*given), at)
        return np.asarray(mean)[:, 0], np.sqrt(np.asarray(variance)[:, 0])


def _map(task: Task, x: np.ndarray) -> Figure:
    figure, axis = plt.subplots(figsize=(5, 4.4))
    points, values = task.test_x, task.test_y
    if task.truth is not None:
        side = np.linspace(0, 1, 101)
        points = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
        values = task.truth(points)
    contour = axis.tricontourf(Triangulation(*points.T), values, levels=18, cmap="cividis")
    figure.colorbar(contour, ax=axis, label="y (standardised)")
    box = {"boxstyle": "circle,pad=0.18", "facecolor": "white", "edgecolor": "black", "linewidth": 0.8}
    for i, point in enumerate(x):
        axis.text(point[0], point[1], str(i), ha="center", va="center", fontsize=8, bbox=box, clip_on=False)
    axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="x1", ylabel="x2", aspect="equal")
    axis.grid(visible=False)
    return figure
