"""The figures of an evaluation, each small enough to be read on a phone."""

import dataclasses
import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from alx.io.files import write_bytes
from benchmarks.evaluation import comparison, figure_runs
from benchmarks.evaluation.figure_style import COLOURS, INK, SETTINGS, WIDTH, style, svg
from benchmarks.evaluation.registry import label
from benchmarks.evaluation.statistics import curves, standard_error, summarize
from benchmarks.evaluation.tables import Evaluation
from benchmarks.evaluation.tasks import Task
from benchmarks.studies import ablation

__all__ = ["COLOURS", "SETTINGS", "Picture", "draw"]

DIFFERENCES, FIGURE2, CURVES, LOOK, TRAINING = (
    "Difference to each rival",
    "RMSE and query time",
    "Learning curves",
    "Where they look",
    "Training objectives",
)


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes:
        section: the heading it belongs under.
        caption: what it shows and how it was made.
        path: the PNG file.
        svg: the same as an SVG element.
    """

    section: str
    caption: str
    path: Path
    svg: str


def draw(evaluation: Evaluation, directory: Path) -> list[Picture]:
    """Draw all figures into the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    drawn = []
    # The file backend: the figures are the same on a machine with a screen and on one without.
    matplotlib.use("agg")
    with plt.rc_context(SETTINGS):
        for name, section, caption, figure in _all(evaluation):
            path, content = directory / f"{re.sub('[^A-Za-z0-9-]+', '-', name)}.png", io.BytesIO()
            figure.savefig(content, metadata={"Description": json.dumps(evaluation.environment)})
            write_bytes(path, content.getvalue())
            drawn.append(Picture(section, caption, path, svg(figure)))
            plt.close(figure)
    return drawn


def _all(evaluation: Evaluation) -> Iterator[tuple[str, str, str, Figure]]:
    seeds, first = evaluation.seeds, label(next(iter(evaluation.methods)))
    for task in evaluation.tasks:
        figure = _differences(evaluation, task)
        if figure is not None:
            caption = (
                f"{task.name}: RMSE of {first} less each rival's after the last query, in % of the rival's; "
                f"mean and 95 % interval over {seeds} paired seeds."
            )
            yield f"differences-{task.name}", DIFFERENCES, caption, figure
    for task, method in itertools.product(evaluation.tasks, figure_runs.shown(evaluation)):
        figure = figure_runs.picture(evaluation, task, method, style(method, [*evaluation.methods])["color"])
        if figure is not None:
            yield f"queries-{task.name}-{method}", LOOK, figure_runs.caption(evaluation, task, method), figure
    for task in evaluation.tasks:
        caption = (
            f"{task.name}: RMSE of the refitted model against the number of points, mean over {seeds} seeds; "
            "the bands are one standard error."
        )
        yield f"curves-{task.name}", CURVES, caption, _learning_curves(evaluation, task)
    for task in evaluation.tasks:
        caption = (
            f"{task.name}: RMSE after the last query (mean, standard error over {seeds} seeds; * below "
            "Random, † below GP AL) and time of all queries of one run (logarithmic)."
        )
        yield f"figure2-{task.name}", FIGURE2, caption, _figure2(evaluation, task)
    for dim in evaluation.dims:
        figure = ablation.picture(evaluation, dim)
        if figure is not None:
            yield f"ablation-dim{dim}", TRAINING, ablation.caption(dim), figure


def _differences(evaluation: Evaluation, task: Task) -> Figure | None:
    """A line for each rival; left of zero the first method is better."""
    methods = [*evaluation.methods]
    first = methods[0]
    every = (comparison.difference(evaluation.rows, task.name, first, m) for m in methods if m != first)
    found = [d for d in every if d is not None][::-1]
    if not found:
        return None
    figure, axis = plt.subplots(figsize=(WIDTH, 1.15 + 0.3 * len(found)))
    axis.axvline(0, color=INK, linewidth=1)
    for i, d in enumerate(found):
        look: dict[str, Any] = style(d.rival, methods) | {"linestyle": "none"}
        centre, *ends = (100 * np.array([d.mean, d.low, d.high])).tolist()
        reach = [[centre - ends[0]], [ends[1] - centre]] if np.isfinite(ends).all() else None
        axis.errorbar(centre, i, xerr=reach, capsize=3, **look)
    axis.set_yticks(range(len(found)), [label(d.rival) for d in found])
    axis.set_ylim(-0.6, len(found) - 0.4)
    axis.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:+.0f} %" if x else "0")
    axis.set_xlabel(f"← {label(first)} better | worse →")
    axis.set_title(task.name, fontweight="bold")
    return figure


def _figure2(evaluation: Evaluation, task: Task) -> Figure:
    methods = [*evaluation.methods]
    found = summarize(evaluation.rows, task.name, methods)[::-1]
    size = (WIDTH, 1.2 + 0.3 * len(found))
    figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=size, width_ratios=(1.35, 1))
    for i, s in enumerate(found):
        look: dict[str, Any] = style(s.method, methods) | {"linestyle": "none"}
        left.errorbar(s.mean, i, xerr=s.error, capsize=3, **look)
        place = (s.mean + s.error, i)
        left.annotate(s.marks, place, (4, -2), textcoords="offset points", va="center", fontsize=12)
        right.plot(max(s.query_ms, 1e-3), i, **look)
    left.set_yticks(range(len(found)), [label(s.method) for s in found])
    left.set_ylim(-0.6, len(found) - 0.4)
    left.margins(x=0.2)
    left.xaxis.set_major_locator(MaxNLocator(nbins=3))
    left.set_xlabel("RMSE")
    right.set_xscale("log")
    right.margins(x=0.15)
    right.set_xlabel("query ms")
    figure.suptitle(task.name, fontweight="bold", fontsize=11)
    return figure


def _learning_curves(evaluation: Evaluation, task: Task) -> Figure:
    methods = [*evaluation.methods]
    figure, axis = plt.subplots(figsize=(WIDTH, 3.4 + 0.12 * len(methods)))
    for method in methods:
        counts, curve = curves(evaluation.rows, task.name, method)
        if not len(curve):
            continue
        look = style(method, methods)
        mean, error = curve.mean(0), np.array([standard_error(column) for column in curve.T])
        main = not method.startswith("paper-")
        width = 2 if main else 1.2
        axis.plot(counts, mean, label=label(method), markersize=4, linewidth=width, markevery=(0, 2), **look)
        if main:
            band = (mean - error, mean + error)
            axis.fill_between(counts, *band, color=look["color"], alpha=0.13, linewidth=0)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter("")
    axis.set_xlabel("points")
    axis.set_ylabel("RMSE (standardised y)")
    axis.set_title(task.name, fontweight="bold")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
