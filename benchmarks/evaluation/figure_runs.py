"""Pictures of single runs: the function, what the model believes at the end, and the queries in order."""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation

from benchmarks.evaluation import gp_model
from benchmarks.evaluation.figure_style import GREY, INK, WIDTH
from benchmarks.evaluation.registry import LABELS, label
from benchmarks.evaluation.tables import Evaluation
from benchmarks.evaluation.tasks import Task

__all__ = ["caption", "picture", "shown"]

SEED = 0


def shown(evaluation: Evaluation) -> list[str]:
    """The methods worth a picture: the first, the user's own, the classical rival, and chance."""
    first = next(iter(evaluation.methods))
    own = [method for method in evaluation.methods if method not in LABELS]
    return list(dict.fromkeys(m for m in (first, *own, "gp-al", "random") if m in evaluation.methods))


def caption(evaluation: Evaluation, task: Task, method: str) -> str:
    what = "truth, posterior mean and two standard deviations" if task.dim == 1 else "the function in colour"
    given = evaluation.methods[method]
    points = "points in order" if not given else "points in order, 0 was given"
    return f"{task.name}, {label(method)}, seed {SEED}: {what}; {points}."


def picture(evaluation: Evaluation, task: Task, method: str, colour: str) -> Figure | None:
    """The run of seed 0 in the task's own units, for one or two inputs; None when it was not run."""
    runs = (r for r in evaluation.rows if (r["task"], r["method"], r["seed"]) == (task.name, method, SEED))
    row = next(runs, None)
    if row is None or task.dim > 2:
        return None
    x, y = np.array(row["x"]), np.array(row["y"])
    figure = _line(task, x, y, colour) if task.dim == 1 else _map(task, x)
    figure.axes[0].set_title(f"{task.name}: {label(method)}", fontweight="bold")
    return figure


def _line(task: Task, x: np.ndarray, y: np.ndarray, colour: str) -> Figure:
    order, units = np.argsort(task.test_x[:, 0]), task.units
    grid = task.test_x[order]
    mean, sd = _posterior(x, y, grid)
    figure, axis = plt.subplots(figsize=(WIDTH, 3.3))
    at, points, labels = units.x(grid)[:, 0], units.x(x)[:, 0], units.y(y)
    band = units.y(mean - 2 * sd), units.y(mean + 2 * sd)
    axis.fill_between(at, *band, color=colour, alpha=0.25, linewidth=0, label="± 2 sd")
    axis.plot(at, units.y(task.test_y[order]), color=GREY, linewidth=1.5, label="truth")
    axis.plot(at, units.y(mean), color=colour, linewidth=2, label="posterior mean")
    axis.plot(points, labels, "o", color=INK, markersize=4, label="labels")
    for i, place in enumerate(zip(points, labels, strict=True)):
        axis.annotate(str(i), place, (0, 6), textcoords="offset points", ha="center", fontsize=9)
    axis.set(xlabel=units.names[0], ylabel=units.output)
    axis.margins(x=0.02, y=0.08)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _posterior(x: np.ndarray, y: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mask = np.ones((1, len(y)), bool)
    theta, _ = gp_model.fit_many(x[None], y[None], mask)
    with jax.enable_x64(True):
        arrays = (theta.T, x.T[..., None], y[:, None], mask.T, grid.T[..., None])
        *given, at = map(jnp.asarray, arrays)
        mean, variance = gp_model.predict(gp_model.condition(*given), at)
        return np.asarray(mean)[:, 0], np.sqrt(np.asarray(variance)[:, 0])


def _map(task: Task, x: np.ndarray) -> Figure:
    figure, axis = plt.subplots(figsize=(WIDTH, 3.6))
    units, points, values = task.units, task.test_x, task.test_y
    if task.truth is not None:
        side = np.linspace(0, 1, 61)
        points = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
        values = task.truth(points)
    places = Triangulation(*units.x(points).T)
    contour = axis.tricontourf(places, units.y(values), levels=14, cmap="cividis")
    contour.set_rasterized(True)  # thousands of small areas otherwise
    figure.colorbar(contour, ax=axis, label=units.output)
    box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "black", "linewidth": 0.7}
    for i, (first, second) in enumerate(units.x(x)):
        number = {"color": "black", "fontsize": 8, "ha": "center", "va": "center"}
        axis.text(first, second, str(i), bbox=box, clip_on=False, **number)
    margin = 0.02 * (np.asarray(units.high) - np.asarray(units.low))
    (left, bottom), (right, top) = np.asarray(units.low) - margin, np.asarray(units.high) + margin
    axis.set(xlim=(left, right), ylim=(bottom, top), xlabel=units.names[0], ylabel=units.names[1])
    axis.grid(visible=False)
    return figure
