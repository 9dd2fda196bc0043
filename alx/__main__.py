"""``python -m alx``: list the shipped policies, export one, propose a point for a CSV of points, or serve."""

import csv
import os
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

import alx
from alx.io.files import read_text
from alx.io.store import card, load, shipped
from alx.learner.learner import Learner
from alx.network.policy import PolicyConfig
from alx.serve.command import serve

__all__ = ["main"]

Positional = tyro.conf.Positional


def list_policies(name: Positional[str | None] = None) -> None:
    """Print the shipped policies, a line each with the title of their cards, or the card of one.

    Args:
        name: the policy whose whole card is printed.
    """
    if name is not None:
        print(card(name).rstrip())
        return
    for each in shipped():
        print(card(each).strip().splitlines()[0].lstrip("# "))


def export(policy: Positional[str], out: Path, dim: int | None = None, capacity: int | None = None) -> None:
    """Write a policy as one file that runs without alx.

    Args:
        policy: a shipped name or the path of a policy file.
        out: the file; with the ending .onnx an ONNX model, with any other a jax.export artefact.
        dim: the number of inputs; needed for the general policy, others have their own.
        capacity: the number of points it takes; needed for the general policy, what it was trained for by
            default for others.
    """
    alx.export(load(policy), out, dim, capacity)
    print(f"wrote {out}")


def propose(
    policy: Positional[str],
    points: Positional[Path],
    bounds: tuple[float, ...] | None = None,
    n: Annotated[int, tyro.conf.arg(aliases=["-n"])] = 1,
    y_mean: float | None = None,
    y_std: float | None = None,
) -> None:
    """Print the next point, or the next n, as comma-separated values.

    Args:
        policy: a shipped name or the path of a policy file.
        points: a CSV of the points so far, a row for each with its inputs and then its output, with or
            without a header; - reads standard input.
        bounds: low and high of each input, one after the other; 0 1 for each by default.
        n: how many points.
        y_mean: the mean of the outputs if it is known.
        y_std: the standard deviation of the outputs if it is known.
    """
    chosen, text = load(policy), sys.stdin.read() if str(points) == "-" else read_text(points)
    if isinstance(chosen.config, PolicyConfig):
        dim, least = chosen.config.dim, chosen.config.capacity
    elif bounds is not None:
        dim, least = len(bounds) // 2, 0
    else:
        dim, least = _width(points, text) - 1, 0
    if bounds is None:
        bounds = (0.0, 1.0) * dim
    if len(bounds) != 2 * dim:
        raise ValueError(f"--bounds takes low and high of each of {dim} inputs, got {len(bounds)} numbers")
    rows = _read_csv(points, text, dim + 1)
    budget = max(least, len(rows) + n)
    box = np.reshape(bounds, (dim, 2))
    learner = Learner(chosen, box, y_mean=y_mean, y_std=y_std, budget=budget)
    if len(rows):
        learner.tell(rows[:, :dim], rows[:, dim])
    for point in learner.ask(n):
        print(",".join(f"{value:.9g}" for value in point))


def _width(path: Path, text: str) -> int:
    """How many numbers a row has."""
    lines = _lines(path, text)
    if not lines or len(lines[0]) < 2:
        raise ValueError(f"{path} has no row of inputs and an output; without one, --bounds is needed")
    return len(lines[0])


def _lines(path: Path, text: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(text.splitlines()) if row]
    except csv.Error:
        raise ValueError(f"{path} is not a CSV file") from None


def _read_csv(path: Path, text: str, width: int) -> np.ndarray:
    lines = _lines(path, text)
    # A header has no number at all: a row with a typing error must not pass for one and be left out.
    if lines and len(lines[0]) == width and not any(map(_is_number, lines[0])):
        lines = lines[1:]
    for number, row in enumerate(lines, 1):
        if len(row) != width or not all(map(_is_number, row)):
            raise ValueError(
                f"{path} needs {width} numbers in each row, got {','.join(row)[:60]!r} in row {number}"
            )
    return np.array(lines, float).reshape(-1, width)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def main() -> None:
    """Run the command line; bad input ends in one sentence and exit code 2."""
    commands = {"list": list_policies, "export": export, "propose": propose, "serve": serve}
    try:
        tyro.extras.subcommand_cli_from_dict(commands, prog="alx", description=__doc__)
        sys.stdout.flush()
    except BrokenPipeError:  # a reader such as `head` has what it wanted; nothing more can be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
        print(f"alx: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
