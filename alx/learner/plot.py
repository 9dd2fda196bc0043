"""Pictures of what was learned, in the user's units and in colours that everybody can tell apart."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from alx.learner.curve import error_curve
from alx.learner.inputs import Choice, Input, Integer, Real
from alx.learner.outputs import Output

__all__ = ["plot"]

MEAN, POINT, NEXT = "#0072B2", "#000000", "#D55E00"  # of Okabe and Ito: blue, black, vermilion
LINE, SURFACE, OTHERS = 201, 61, 128  # places along a line, along a side of a surface, to average over
CURVE = 20  # numbers of points at which the error is estimated once more


def plot(learner: Any) -> Figure:
    """The model with its points: a curve, a surface, or with more inputs the effect of each.

    One input: mean, 90 % interval, the points in the order they were told, and the next proposal. Two: mean
    and standard deviation side by side. More, or choices: the mean over all other inputs for each input, and
    the estimated error against the number of points.
    """
    if len(learner.y) == 0 or not np.isfinite(learner.error().rmse).all():
        raise ValueError("a picture needs at least two different outputs of each kind, or y_std")
    numbers = not any(isinstance(each, Choice) for each in learner.inputs)
    dim = len(learner.inputs)
    draw = _curves if numbers and dim == 1 else _surfaces if numbers and dim == 2 else _effects
    columns = {_curves: 1, _surfaces: 2, _effects: dim + 1}[draw]
    size = (6.4, 4.2) if columns == 1 else (4.2 * min(columns, 4), 3.6 * -(-columns // 4))
    rows = len(learner.outputs)
    figure = Figure(figsize=(size[0], size[1] * rows), layout="constrained")
    parts = figure.subfigures(rows, 1, squeeze=False)[:, 0]
    upcoming = learner.peek()
    for p, (part, output) in enumerate(zip(parts, learner.outputs, strict=True)):
        draw(learner, p, output, part, upcoming)
    return figure


def _curves(learner, p: int, output: Output, part, upcoming) -> None:
    axes = part.subplots()
    x = np.linspace(learner.bounds[0, 0], learner.bounds[0, 1], LINE)
    x = np.unique(np.round(x)) if isinstance(learner.inputs[0], Integer) else x
    allowed = learner._domain.allows(x[:, None])
    mean, low, high = (np.where(allowed, a, np.nan) for a in _predicted(learner, p, x[:, None]))
    axes.fill_between(x, low, high, color=MEAN, alpha=0.2, lw=0, label="90 % interval")
    axes.plot(x, mean, color=MEAN, label="mean")
    told, y = learner.x[:, 0], learner.y.reshape(len(learner.y), -1)[:, p]
    axes.plot(told, y, "o", color=POINT, ms=4, label="measured")
    _number(axes, told, y)
    if len(failed := learner.failed):  # at the foot of the picture, for they have no output
        foot = np.full(len(failed), 0.03)
        axes.plot(failed[:, 0], foot, "x", color=NEXT, transform=axes.get_xaxis_transform(), label="failed")
    if upcoming is not None:
        axes.axvline(upcoming[0], color=NEXT, ls="--", label="next")
    axes.set(xlabel=_label(learner.inputs[0]), ylabel=_label(output))
    axes.legend(fontsize="small")


def _surfaces(learner, p: int, output: Output, part, upcoming) -> None:
    sides = [np.linspace(low, high, SURFACE) for low, high in learner.bounds]
    whole = [isinstance(each, Integer) for each in learner.inputs]
    grid = np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, 2)
    grid = np.where(whole, np.round(grid), grid)
    allowed = learner._domain.allows(grid)
    mean, sd = (_output(a, p) for a in learner.predict(grid))
    told, failed = learner.x, learner.failed
    left, right = part.subplots(1, 2, sharex=True, sharey=True)
    for axes, values, colours, title in ((left, mean, "viridis", ""), (right, sd, "cividis", "sd of ")):
        shown = np.where(allowed, values, np.nan).reshape(SURFACE, SURFACE).T
        image = axes.pcolormesh(*sides, shown, cmap=colours, shading="nearest", rasterized=True)
        part.colorbar(image, ax=axes, label=title + _label(output))
        axes.plot(*told.T, "o", mfc="white", mec=POINT, ms=5, label="measured")
        if len(failed):
            axes.plot(*failed.T, "x", color=NEXT, label="failed")
        if upcoming is not None:
            axes.plot(*upcoming, "*", color=NEXT, mec="white", ms=14, label="next")
        axes.set(xlabel=_label(learner.inputs[0]), title="standard deviation" if title else "mean")
    _number(left, *told.T)
    left.set_ylabel(_label(learner.inputs[1]))
    part.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")


def _effects(learner, p: int, output: Output, part, upcoming) -> None:
    del upcoming
    dim = len(learner.inputs)
    columns = min(dim + 1, 4)
    grid = part.subplots(-(-(dim + 1) // columns), columns, squeeze=False).ravel()
    others = learner._asker.error_places[:OTHERS]
    for d, (axes, each) in enumerate(zip(grid, learner.inputs, strict=False)):
        low, high = learner.bounds[d]
        values = np.linspace(low, high, 21) if isinstance(each, Real) else np.arange(low, high + 1)
        codes = np.repeat(others[None], len(values), 0)
        codes[:, :, d] = values[:, None]
        codes = codes.reshape(-1, dim)
        mean = _output(learner.predict(learner._domain.rows(codes))[0], p)
        # The constraint may leave no other point for a value: then there is nothing to average.
        table = np.ma.masked_where(~learner._domain.allows(codes), mean).reshape(len(values), -1)
        centre, spread = table.mean(1).filled(np.nan), table.std(1).filled(np.nan)
        if isinstance(each, Choice):
            axes.errorbar(values, centre, spread, fmt="o", color=MEAN, capsize=4)
            axes.set_xticks(values, [str(level) for level in each.levels])
        else:
            axes.fill_between(values, centre - spread, centre + spread, color=MEAN, alpha=0.2, lw=0)
            axes.plot(values, centre, color=MEAN)
        axes.set(xlabel=_label(each), ylabel=f"mean {_label(output)}")
    top = [axes.get_ylim() for axes in grid[:dim]]
    for axes in grid[:dim]:  # one scale, so that an input without effect looks like one
        axes.set_ylim(min(low for low, _ in top), max(high for _, high in top))
    grid[0].set_title("mean over the other inputs, and its spread", fontsize="small", loc="left")
    _error_curve(learner, p, output, grid[dim])
    for axes in grid[dim + 1 :]:
        axes.set_axis_off()


def _error_curve(learner, p: int, output: Output, axes: Axes) -> None:
    n = len(learner._told_beliefs()[p].y)
    counts = np.unique(np.linspace(min(2, n), n, CURVE).astype(int))
    rmse, low, high = (np.array(values) for values in error_curve(learner, p, counts))
    finite = np.isfinite(rmse)
    axes.fill_between(counts[finite], low[finite], high[finite], color=MEAN, alpha=0.2, lw=0)
    axes.plot(counts[finite], rmse[finite], color=MEAN)
    axes.set(xlabel="points", ylabel=f"estimated error of {_label(output)}", ylim=(0, None))


def _predicted(learner, p: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    mean, _ = learner.predict(x)
    low, high = learner.interval(x, 0.9)
    return _output(mean, p), _output(low, p), _output(high, p)


def _output(values: np.ndarray, p: int) -> np.ndarray:
    return values if values.ndim == 1 else values[:, p]


def _number(axes: Axes, x: np.ndarray, y: np.ndarray) -> None:
    for i, at in enumerate(zip(x, y, strict=True), 1):
        text = axes.annotate(str(i), at, xytext=(4, 3), textcoords="offset points", fontsize="x-small")
        text.set_path_effects([withStroke(linewidth=2, foreground="white")])  # readable on any colour


def _label(each: Input | Output) -> str:
    return f"{each.name} [{each.unit}]" if each.unit else each.name
