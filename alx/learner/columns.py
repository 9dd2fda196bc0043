"""What the columns of a table are, for those who have a table and nothing else: inputs and outputs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from alx.learner.checks import short
from alx.learner.csv_table import Sheet, is_number, split_title
from alx.learner.inputs import Choice, Input, Real
from alx.learner.outputs import Output

__all__ = ["Columns", "find_columns"]


class Columns(NamedTuple):
    """The variables of a table."""

    inputs: list[Input]
    outputs: list[Output]


class _Column(NamedTuple):
    name: str
    unit: str
    cells: list[str]
    numbers: np.ndarray | None  # NaN where a cell is empty; None where one is no number


def find_columns(
    sheet: Sheet, inputs: Sequence[str] = (), outputs: Sequence[str] = (), bounds: Sequence[float] = ()
) -> Columns:
    """Which columns are which.

    Without names the output is the last column of numbers, and the inputs are the other columns of numbers.
    An input that is no number is a choice among the values it has.

    Args:
        sheet: the table; empty, the bounds say how many inputs there are.
        inputs: names of the inputs.
        outputs: names of the outputs.
        bounds: low and high of each input that is a number, one after the other; their range if left out.
    """
    columns = _columns(sheet) or _unnamed(len(bounds) // 2)
    numbers = [name for name, column in columns.items() if column.numbers is not None]
    outputs = list(outputs) or numbers[-1:]
    inputs = list(inputs) or [name for name in numbers if name not in outputs]
    for name in (*inputs, *outputs):
        if name not in columns:
            raise ValueError(f"{sheet.name} has no column {name!r}, got {short(', '.join(columns))}")
    if not inputs or not outputs:
        raise ValueError(f"{sheet.name} needs a column for each input and for an output")
    real = [name for name in inputs if columns[name].numbers is not None]
    if bounds and len(bounds) != 2 * len(real):
        raise ValueError(
            f"--bounds takes low and high of each of {len(real)} inputs, got {len(bounds)} numbers"
        )
    pairs = dict(zip(real, np.reshape(bounds, (-1, 2)).tolist(), strict=True)) if bounds else {}
    found = [_input(sheet, columns[name], pairs.get(name)) for name in inputs]
    return Columns(found, [Output(name, columns[name].unit) for name in outputs])


def _columns(sheet: Sheet) -> dict[str, _Column]:
    """By name, and without a header x1, x2 ... and at last y."""
    if not sheet.rows:
        return {}
    header, rows = sheet.rows[0][1], [row for _, row in sheet.rows[1:]]
    titles = [split_title(title) for title in header]
    if not any(map(str.strip, header)) or any(_may_be_number(cell) for cell in header):
        rows = [header, *rows]
        titles = [(name, "") for name in _unnamed(len(header) - 1)]
    found = {}
    for at, (name, unit) in enumerate(titles):
        cells = [row[at] if at < len(row) else "" for row in rows]
        if name:
            found[name] = _Column(name, unit, cells, _numbers(sheet, cells))
    return found


def _unnamed(dim: int) -> dict[str, _Column]:
    names = [*(f"x{d}" for d in range(1, dim + 1)), "y"] if dim else []
    return {name: _Column(name, "", [], np.zeros(0)) for name in names}


def _may_be_number(cell: str) -> bool:
    return is_number(cell.replace(",", "."))


def _numbers(sheet: Sheet, cells: list[str]) -> np.ndarray | None:
    """The cells as numbers, or None; most have to be, so that one slip of the pen is not taken for a text."""
    there = [cell for cell in cells if cell]
    comma = sheet.decimal_comma(there)
    texts = [cell.replace(",", ".") if comma else cell for cell in cells]
    good = [is_number(text) for text in texts]
    if sum(good) * 2 < len(there) or (there and not any(good)):
        return None
    return np.array([float(text) if ok else np.nan for text, ok in zip(texts, good, strict=True)])


def _input(sheet: Sheet, column: _Column, pair: list[float] | None) -> Input:
    if column.numbers is None:
        return Choice(column.name, list(dict.fromkeys(cell for cell in column.cells if cell)))
    if pair is not None:
        return Real(column.name, pair[0], pair[1], column.unit)
    finite = column.numbers[np.isfinite(column.numbers)]
    if len(finite) == 0 or np.ptp(finite) == 0:
        raise ValueError(f"{sheet.name} has no two values of {column.name}: give --bounds")
    return Real(column.name, float(finite.min()), float(finite.max()), column.unit)
