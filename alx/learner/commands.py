"""The learner for people outside Python: commands that take a CSV of points, and print or draw the model."""

import csv
import dataclasses
import io
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from alx.io.files import write_bytes
from alx.io.store import GENERAL, load
from alx.learner.checks import as_whole_number
from alx.learner.columns import find_columns
from alx.learner.csv_table import Sheet, read_csv, read_sheet
from alx.learner.inputs import Choice
from alx.learner.learner import Learner
from alx.network.policy import PolicyConfig

__all__ = ["COMMANDS", "Points", "card"]

Positional = tyro.conf.Positional


@dataclasses.dataclass(frozen=True)
class Points:
    """The points so far.

    Attributes:
        points: a CSV with a row for each; - reads standard input. Units may follow names in brackets.
        inputs: names of the columns that are varied; by default all columns of numbers that are no outputs.
            A column of texts is a choice.
        outputs: names of the columns that are measured; by default the last column of numbers.
        bounds: low and high of each input that is a number, one after the other; by default the range of the
            points.
    """

    points: Positional[Path]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()

    def read(self) -> Sheet:
        return read_sheet(io.StringIO(sys.stdin.read()) if str(self.points) == "-" else self.points)

    def learner(self, sheet: Sheet, policy: str = GENERAL, budget: int | None = None, **known) -> Learner:
        """A learner that has been told all points."""
        inputs, outputs = find_columns(sheet, self.inputs, self.outputs, self.bounds)
        learner = Learner(policy, inputs=inputs, outputs=outputs, budget=budget, **known)
        if sheet.rows:
            learner.from_csv(sheet)
        return learner

    def model(self) -> Learner:
        """A learner of which there is a model."""
        learner = self.learner(self.read())
        if len(learner.y) < 2:
            raise ValueError(
                f"{self.points} has {len(learner.y)} measured points, and a model needs two at least"
            )
        return learner


Told = Annotated[Points, tyro.conf.arg(name="")]  # so that flags have no prefix


def fit(points: Told, out: Path = Path("model")) -> None:
    """Fit a model to the points: print its card and write it, with a picture, to OUT.md and OUT.png.

    Args:
        points: the points so far.
        out: where to, without an ending.
    """
    learner = points.model()
    text, picture = card(learner, points.points.name), _picture(learner)
    write_bytes(out.with_name(out.name + ".md"), text.encode())
    write_bytes(out.with_name(out.name + ".png"), picture)
    print(text, end="")


def plot(points: Told, out: Path = Path("model.png")) -> None:
    """Draw the model of the points.

    Args:
        points: the points so far.
        out: the picture, a PNG file.
    """
    write_bytes(out, _picture(points.model()))
    print(f"wrote {out}")


def predict(points: Told, at: Path, level: float = 0.9) -> None:
    """Print the places of a second CSV with mean, standard deviation and interval of each output.

    Args:
        points: the points so far.
        at: a CSV of places, with a column for each input.
        level: how likely the interval is to hold the true value.
    """
    sheet, learner = read_sheet(at), points.model()
    places = read_csv(sheet, learner.inputs, ()).x
    mean, sd = (np.reshape(each, (len(places), -1)) for each in learner.predict(places))
    low, high = (np.reshape(each, (len(places), -1)) for each in learner.interval(places, level))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    kinds = ("mean", "sd", "low", "high")
    names = [f"{each.name} {kind}" for each in learner.outputs for kind in kinds]
    writer.writerow([*(each.name for each in learner.inputs), *names])
    for place, numbers in zip(places, np.stack((mean, sd, low, high), 2), strict=True):
        writer.writerow([*place, *(f"{value:.6g}" for value in numbers.ravel())])


def propose(
    points: Told,
    n: Annotated[int, tyro.conf.arg(aliases=["-n"])] = 1,
    budget: int | None = None,
    policy: str = GENERAL,
    y_mean: float | None = None,
    y_std: float | None = None,
) -> None:
    """Print the next point, or the next n, as comma-separated values.

    Args:
        points: the points so far; --bounds is needed.
        n: how many points.
        budget: how many points there will be in all; by default these are the last.
        policy: a shipped name or the path of a policy file.
        y_mean: the mean of the outputs if it is known.
        y_std: the standard deviation of the outputs if it is known.
    """
    n = as_whole_number("n", n, 1)
    chosen, sheet = load(policy), points.read()
    if not points.bounds:
        raise ValueError("--bounds is needed: low and high of each input, one after the other")
    if isinstance(chosen.config, PolicyConfig):  # trained for so many, and asked beyond them all the same
        budget = max(budget or 0, chosen.config.capacity, len(sheet.rows) + n)
    learner = points.learner(sheet, policy, budget or len(sheet.rows) + n, y_mean=y_mean, y_std=y_std)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for point in learner.ask(n):
        writer.writerow([f"{value:.9g}" if isinstance(value, float) else value for value in point])


def card(learner: Learner, name: str) -> str:
    """What a learner knows, in Markdown."""
    names = [each.name for each in learner.outputs]
    errors = zip(*(np.atleast_1d(part) for part in learner.error()), strict=True)
    lines = [
        f"# Model of {name}",
        "",
        f"Points measured: {len(learner.y)}, failed: {len(learner.failed)}.",
        "",
    ]
    lines += ["| output | error over the domain | nine times of ten within | noise of a measurement |"]
    lines += ["|---|---:|---:|---:|"]
    models = learner.model if isinstance(learner.model, dict) else {names[0]: learner.model}
    for output, (rmse, low, high) in zip(learner.outputs, errors, strict=True):
        unit, kernels = f" {output.unit}" if output.unit else "", models[output.name]
        noise = float(kernels.weight @ kernels.noise_sd)
        lines.append(f"| {output.name} | {rmse:.3g}{unit} | {low:.3g} to {high:.3g} | {noise:.3g} |")
    lines += ["", "Over what distance an output changes (of a choice, levels are 1 apart):", ""]
    lines += ["| input | range | " + " | ".join(names) + " |", "|---|---|" + "---:|" * len(names)]
    for d, each in enumerate(learner.inputs):
        if isinstance(each, Choice):
            span, width = ", ".join(map(str, each.levels)), 1.0
        else:
            span, width = f"{each.low:g} to {each.high:g} {each.unit}".strip(), each.high - each.low
        cells = (_distance(models[output], d, width) for output in names)
        lines.append(f"| {each.name} | {span} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _distance(kernels, d: int, width: float) -> str:
    """The lengthscale of an input, a mean over the likely kernels; beyond the range it hardly matters."""
    length = float(np.exp(kernels.weight @ np.log(kernels.lengthscale[:, d])))
    return f"{length:.3g}" if length < 2 * width else "hardly matters"


def _picture(learner: Learner) -> bytes:
    buffer = io.BytesIO()
    learner.plot().savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()


COMMANDS = {"fit": fit, "plot": plot, "predict": predict, "propose": propose}
