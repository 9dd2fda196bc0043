"""The picture of a training run: loss and validation RMSE against the step."""

import io
import json
import math
from pathlib import Path
from typing import Any

from alx.io import files
from alx.train.metrics import Epoch
from alx.train.objectives import CONTRASTIVE

__all__ = ["plot"]


def plot(path: Path, objective: str, epochs: list[Epoch], origin: dict[str, Any]) -> None:
    """Write the picture as a PNG with its origin in the metadata."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    steps = [epoch["step"] for epoch in epochs]
    left.plot(steps, [epoch["loss"] for epoch in epochs], color="#0072B2")
    left.set(xlabel="step", ylabel=f"{objective} loss")
    if objective == "dad":
        bound = -math.log(CONTRASTIVE + 1)
        left.axhline(bound, color="#999999", linestyle=":", label=f"bound {bound:.2f}")
        left.legend(frameon=False)
    right.plot(steps, [epoch["rmse"] for epoch in epochs], color="#D55E00", label="policy")
    right.axhline(epochs[-1]["rmse_uniform"], color="#999999", linestyle="--", label="uniform queries")
    right.set(xlabel="step", ylabel="validation RMSE")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    content = io.BytesIO()
    figure.savefig(content, dpi=130, format="png", metadata={"Description": json.dumps(origin)})
    files.write_bytes(path, content.getvalue())
