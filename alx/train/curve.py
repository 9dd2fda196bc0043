"""The picture of a training run: losses and validation against the step."""

import io
import itertools
import json
from pathlib import Path
from typing import Any

from alx.io import files
from alx.train.metrics import FIELDS, Epoch

__all__ = ["plot", "split_phases"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#999999")


def split_phases(phases: list[tuple[str, int]], epochs: list[Epoch]) -> dict[str, list[Epoch]]:
    """The epochs of each phase; one that a phase ended within is the mean of two losses, and in neither."""
    starts = [0, *(epoch["step"] for epoch in epochs)]
    first, found = 0, {}
    for name, end in phases:
        inside = [e for start, e in zip(starts, epochs, strict=False) if first <= start and e["step"] <= end]
        found[name] = inside
        first = end
    return found


def plot(path: Path, phases: list[tuple[str, int]], epochs: list[Epoch], origin: dict[str, Any]) -> None:
    """Write the picture as a PNG with its origin in the metadata.

    On the left the loss, a curve for each phase, and what the epochs have that begins with "loss"; on the
    right all else that was measured.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    measured = sorted(epochs[-1].keys() - FIELDS)
    losses = [(name, inside, "loss") for name, inside in split_phases(phases, epochs).items() if inside]
    others = [(name.replace("_", " "), epochs, name) for name in measured]
    bounds = [line for line in others if line[2].startswith("loss")]
    for axes, label, lines in (
        (left, "loss", losses + bounds),
        (right, "validation", [line for line in others if line not in bounds]),
    ):
        for colour, (name, inside, field) in zip(itertools.cycle(COLOURS), lines, strict=False):
            steps, values = ([epoch[key] for epoch in inside] for key in ("step", field))
            axes.plot(steps, values, color=colour, label=name)
        axes.set(xlabel="step", ylabel=label)
        axes.spines[["top", "right"]].set_visible(False)
        if lines:
            axes.legend(frameon=False)
    content = io.BytesIO()
    figure.savefig(content, dpi=130, format="png", metadata={"Description": json.dumps(origin)})
    files.write_bytes(path, content.getvalue())
