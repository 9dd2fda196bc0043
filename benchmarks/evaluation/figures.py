"""The figures of an evaluation, each small enough to be read on a phone."""

import dataclasses
import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from alx.io.files import write_bytes
from benchmarks.evaluation import queries
from benchmarks.evaluation.statistics import curves, standard_error, summarize
from benchmarks.evaluation.tables import Evaluation, label
from benchmarks.evaluation.tasks import Task
from benchmarks.studies import ablation

__all__ = ["Picture", "draw", "style"]

# Okabe and Ito's palette, then Tol's muted one: both are told apart by people who are colour-blind.
COLOURS = {
    "alx": "#D55E00",
    "blind": "#E69F00",
    "static": "#CC79A7",
    "gp-al": "#0072B2",
    "gp-al-variance": "#56B4E9",
    "sobol": "#009E73",
    "random": "#000000",
    "paper-regularized-entropy": "#882255",
    "paper-entropy": "#AA4499",
    "paper-myopic": "#999933",
    "paper-dad": "#332288",
}
OTHERS = ("#CC6677", "#661100", "#6699CC", "#117733", "#44AA99")
MARKERS = "osD^vP*X<>hp"
SETTINGS: Any = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 160,
}


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure on disk.

    Attributes:
        section: the heading it belongs under.
        caption: what it shows and how it was made.
        path: the PNG file.
    """

    section: str
    caption: str
    path: Path


def style(method: str, methods: list[str]) -> dict:
    """Colour, marker and dash of a method: the same in every figure."""
    own = [m for m in methods if m not in COLOURS]
    colour = COLOURS[method] if method in COLOURS else OTHERS[own.index(method) % len(OTHERS)]
    known = [*COLOURS, *own]
    dash = "--" if method.startswith("paper-") else "-." if method in own else "-"
    return {"color": colour, "marker": MARKERS[known.index(method) % len(MARKERS)], "linestyle": dash}


def draw(evaluation: Evaluation, directory: Path) -> list[Picture]:
    """Draw all figures into the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    pictures = []
    # The file backend: the figures are the same on a machine with a screen and on one without.
    matplotlib.use("agg")
    with plt.rc_context(SETTINGS):
        for name, section, caption, figure in _all(evaluation):
            path, content = directory / f"{name}.png", io.BytesIO()
            figure.savefig(content, metadata={"Description": json.dumps(evaluation.environment)})
            write_bytes(path, content.getvalue())
            plt.close(figure)
            pictures.append(Picture(section, caption, path))
    return pictures


def _all(evaluation: Evaluation) -> Iterator[tuple[str, str, str, Figure]]:
    seeds = evaluation.seeds
    for task in evaluation.tasks:
        yield (
            f"figure2-{task.name}",
            "RMSE and query time",
            f"{task.name}: RMSE after the last query (mean, standard error over {seeds} seeds; * below "
            "Random, † below GP AL) and time of all queries of one run (logarithmic).",
            _figure2(evaluation, task),
        )
    for task in evaluation.tasks:
        yield (
            f"curves-{task.name}",
            "Learning curves",
            f"{task.name}: RMSE of the refitted model after every query, mean over {seeds} seeds; the bands "
            "are one standard error.",
            _learning_curves(evaluation, task),
        )
    for task, method in itertools.product(evaluation.tasks, queries.shown(evaluation)):
        figure = queries.picture(evaluation, task, method, style(method, evaluation.methods)["color"])
        if figure is not None:
            yield f"queries-{task.name}-{method}", "Where they look", queries.caption(task, method), figure
    for dim in evaluation.dims:
        figure = ablation.picture(evaluation, dim)
        if figure is not None:
            yield f"ablation-dim{dim}", "Training objectives", ablation.caption(dim), figure


def _figure2(evaluation: Evaluation, task: Task) -> Figure:
    found = summarize(evaluation.rows, task.name, evaluation.methods)[::-1]
    figure, (left, right) = plt.subplots(
        1, 2, sharey=True, figsize=(6, 1.3 + 0.33 * len(found)), width_ratios=(1.35, 1)
    )
    for i, s in enumerate(found):
        look = style(s.method, evaluation.methods) | {"linestyle": "none"}
        left.errorbar(s.mean, i, xerr=s.error, capsize=3, **look)
        left.annotate(
            s.marks, (s.mean + s.error, i), (5, -2), textcoords="offset points", va="center", fontsize=13
        )
        right.plot(max(s.query_ms, 1e-3), i, **look)
    left.set_yticks(range(len(found)), [label(s.method) for s in found])
    left.set_ylim(-0.6, len(found) - 0.4)
    left.margins(x=0.14)
    left.set_xlabel("RMSE (standardised y)")
    right.set_xscale("log")
    right.margins(x=0.12)
    right.set_xlabel("query time [ms per run]")
    figure.suptitle(task.name, fontsize=12, fontweight="bold")
    return figure


def _learning_curves(evaluation: Evaluation, task: Task) -> Figure:
    figure, axis = plt.subplots(figsize=(6, 5.2))
    for method in evaluation.methods:
        curve = curves(evaluation.rows, task.name, method)
        if not len(curve):
            continue
        look = style(method, evaluation.methods)
        mean, error = curve.mean(0), np.array([standard_error(column) for column in curve.T])
        steps = np.arange(len(mean))
        main = not method.startswith("paper-")
        axis.plot(
            steps,
            mean,
            label=label(method),
            markersize=4,
            linewidth=2 if main else 1.2,
            markevery=(0, 2),
            **look,
        )
        if main:
            band = (mean - error, mean + error)
            axis.fill_between(steps, *band, color=look["color"], alpha=0.13, linewidth=0)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter("{x:g}")
    axis.tick_params(axis="y", which="minor", labelsize=8)
    axis.set_xlabel("queries made")
    axis.set_ylabel("RMSE (standardised y)")
    axis.set_title(task.name, fontweight="bold", fontsize=12)
    figure.legend(loc="outside lower center", ncols=2, fontsize=10)
    return figure
