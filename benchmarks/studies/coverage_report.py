"""Rows of the study of coverage to Markdown and to a reliability plot."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.evaluation.figure_style import INK, MARKERS, OTHERS
from benchmarks.evaluation.statistics import standard_error
from benchmarks.studies.coverage_cells import DESIGNS, LEVELS, SIZES

__all__ = ["NEAR", "Cell", "cells", "picture", "report"]

LEVEL = 0.9
INNER, OUTER = (0.85, 0.95), (0.82, 0.97)
NEAR = 1.5  # factor within which the estimated error is to be
Found = Sequence[tuple[Any, list[dict[str, float]]]]


class Cell:
    """All functions of one family with so many inputs, points and one design."""

    def __init__(self, unit: Any, points: int, rows: list[dict[str, float]]):
        self.family, self.dim, self.design, self.points = unit.family, unit.dim, unit.design, points
        own = [row for row in rows if row["points"] == points]
        self.columns = {name: np.array([row[name] for row in own]) for name in own[0]}

    def coverage(self, level: float = LEVEL) -> float:
        """Share of true values inside the interval, over places and functions."""
        return float(self.columns[str(level)].mean())

    @property
    def near(self) -> np.ndarray:
        """Where the estimated error is within the factor of the true one."""
        return np.abs(self.columns["says"] - self.columns["alx"]) <= np.log(NEAR)


def cells(found: Found) -> list[Cell]:
    return [Cell(unit, n, rows) for unit, rows in found for n in SIZES]


def report(found: Found) -> str:
    """All tables."""
    every = cells(found)
    noisy = [cell for cell in every if DESIGNS[cell.design].noise]
    parts = []
    if noisy:
        tables = [
            _by_family(noisy, "Coverage of 90 % intervals, %", lambda cell: f"{100 * cell.coverage():.0f}"),
            *(_summary(noisy, design) for design in (*DESIGNS, "all")),
            _by_family(
                noisy,
                f"Share of functions whose estimated error is within {NEAR:g} of the true one, %",
                lambda cell: f"{100 * cell.near.mean():.0f}",
            ),
            f"Over all {len(noisy)} cells: {_near(noisy)} ("
            + ", ".join(f"n = {n}: {_near([c for c in noisy if c.points == n])}" for n in SIZES)
            + "); "
            f"log of estimated over true error {_bias(noisy)}.",
        ]
        parts += [table for table in tables if table]
    parts += [_models(every, rival) for rival in ("fit", "scikit-learn")]
    return "\n\n".join(part for part in parts if part)


def _by_family(every: list[Cell], title: str, show) -> str:
    families, dims = (list(dict.fromkeys(getattr(c, name) for c in every)) for name in ("family", "dim"))
    designs = list(dict.fromkeys(cell.design for cell in every))
    columns = [(design, n) for design in designs for n in SIZES]
    shown = {(c.family, c.dim, c.design, c.points): show(c) for c in every}
    lines = [f"{title}", "", "| family | D | " + " | ".join(f"{d}, n = {n}" for d, n in columns) + " |"]
    lines.append("|---|---|" + "---:|" * len(columns))
    for family in families:
        for dim in dims:
            row = (shown.get((family, dim, *column), "") for column in columns)
            lines.append(f"| {family} | {dim} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def _summary(every: list[Cell], design: str) -> str:
    own = np.array([cell.coverage() for cell in every if design in (cell.design, "all")])
    if not len(own):
        return ""
    inner, outer = (np.mean((own >= low) & (own <= high)) for low, high in (INNER, OUTER))
    return (
        f"{design}: {100 * inner:.1f} % of {len(own)} cells between {100 * INNER[0]:.0f} and "
        f"{100 * INNER[1]:.0f} %, {100 * outer:.1f} % between {100 * OUTER[0]:.0f} and "
        f"{100 * OUTER[1]:.0f} %; "
        f"from {100 * own.min():.1f} to {100 * own.max():.1f} %, on average {100 * own.mean():.1f} %"
    )


def _near(every: list[Cell]) -> str:
    return f"{100 * np.concatenate([cell.near for cell in every]).mean():.1f} %"


def _bias(every: list[Cell]) -> str:
    off = np.concatenate([cell.columns["says"] - cell.columns["alx"] for cell in every])
    return f"{off.mean():+.3f} on average, deviation {off.std():.3f}"


def _models(every: list[Cell], rival: str) -> str:
    """log RMSE of the learner's mean less that of another model, on the functions where it was tried."""
    rows = []
    for design in dict.fromkeys(cell.design for cell in every if rival in cell.columns):
        own = [cell for cell in every if cell.design == design]
        for dim in dict.fromkeys(cell.dim for cell in own):
            here = [cell for cell in own if cell.dim == dim]
            texts = [_difference([c for c in here if c.points == n], rival) for n in SIZES]
            rows.append(f"| {design} | {dim} | " + " | ".join([*texts, _difference(here, rival)]) + " |")
        by_size = [_difference([c for c in own if c.points == n], rival) for n in SIZES]
        rows.append(f"| {design} | all | " + " | ".join([*by_size, _difference(own, rival)]) + " |")
    if not rows:
        return ""
    head = f"log RMSE of alx less that of {rival} (negative: alx is better), mean and standard error"
    sizes = " | ".join(f"n = {n}" for n in SIZES)
    return "\n".join([head, "", f"| design | D | {sizes} | all n |", "|---|---|---:|---:|---:|---:|", *rows])


def _difference(own: list[Cell], rival: str) -> str:
    off = np.concatenate([cell.columns["alx"] - cell.columns[rival] for cell in own])
    off = off[np.isfinite(off)]
    return f"{off.mean():+.3f} ± {standard_error(off):.3f}" if len(off) > 1 else ""


def picture(found: Found) -> Figure:
    """Coverage against level: a line for each family, over all sizes and numbers of inputs."""
    every = cells(found)
    designs = [name for name in dict.fromkeys(c.design for c in every) if DESIGNS[name].noise]
    figure = Figure(figsize=(4.2 * max(len(designs), 1), 4.2), layout="constrained")
    grid = figure.subplots(1, max(len(designs), 1), squeeze=False, sharey=True)[0]
    families = list(dict.fromkeys(cell.family for cell in every))
    colours = ("#0072B2", "#D55E00", "#7A4FA3", *OTHERS)  # one for each of seven families
    for axes, design in zip(grid, designs, strict=False):
        axes.plot((0.4, 1), (0.4, 1), color=INK, lw=0.8, label="as it should be")
        for i, family in enumerate(families):
            own = [cell for cell in every if (cell.family, cell.design) == (family, design)]
            y = [np.mean([cell.coverage(level) for cell in own]) for level in LEVELS]
            colour = colours[i % len(colours)]
            axes.plot(LEVELS, y, color=colour, marker=MARKERS[i], ms=5, lw=1, label=family)
        axes.set(xlabel="level of the interval", title=f"points: {design}")
    grid[0].set_ylabel("share of true values inside")
    grid[-1].legend(fontsize="small", frameon=False)
    return figure
