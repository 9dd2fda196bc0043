"""What was measured, kept as CSV: a line for each experiment, a column for each method, log RMSE to 4 digits.

A file is read, completed and rewritten as a whole, so that a stopped study resumes and a new policy meets
rivals that nobody has to run again.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from alx.io import files

__all__ = ["Experiment", "Rows", "complete", "merge", "missing", "read"]

DIGITS = 4


class Experiment(NamedTuple):
    """One function in one situation."""

    dim: int
    regime: str
    family: str
    function: int


Rows = dict[Experiment, dict[str, float]]  # log RMSE by method


def read(path: Path) -> Rows:
    """The rows of a file; none where there is no file."""
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {_experiment(line): _values(line) for line in csv.DictReader(file, strict=True)}
    except (ValueError, TypeError, KeyError, csv.Error) as error:
        raise ValueError(f"{path} holds no rows of this study: {error!r}") from None


def _experiment(line: dict[str, str]) -> Experiment:
    return Experiment(int(line["dim"]), line["regime"], line["family"], int(line["function"]))


def _values(line: dict[str, str]) -> dict[str, float]:
    names = (name for name in line if name not in Experiment._fields)
    return {name: float(line[name]) for name in names if line[name]}


def merge(*tables: Rows) -> Rows:
    """All rows together; of two figures for the same the later table's."""
    experiments = sorted({experiment for table in tables for experiment in table})
    return {e: {k: v for table in tables for k, v in table.get(e, {}).items()} for e in experiments}


def complete(path: Path, new: Rows) -> None:
    """Put new rows into a file. Another process may have added its own meanwhile, so it is read again."""
    rows = merge(read(path), new)
    methods = sorted({method for values in rows.values() for method in values})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*Experiment._fields, *methods])
    for experiment, values in rows.items():
        figures = (f"{values[m]:.{DIGITS}f}" if m in values else "" for m in methods)
        writer.writerow([*experiment, *figures])
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_bytes(path, text.getvalue().encode())


def missing(rows: Rows, experiments: Sequence[Experiment], method: str) -> list[Experiment]:
    """The experiments that have no figure of this method yet."""
    return [experiment for experiment in experiments if method not in rows.get(experiment, {})]
