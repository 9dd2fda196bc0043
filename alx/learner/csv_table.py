"""Points as tables: named columns with units, to and from CSV as spreadsheets of any country write it."""

import csv
import importlib.util
import io
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from alx.io.files import read_text, write_bytes
from alx.learner.checks import short
from alx.learner.inputs import Choice, Input, Integer
from alx.learner.outputs import Output

__all__ = [
    "CsvFile",
    "Sheet",
    "Table",
    "is_number",
    "read_csv",
    "read_sheet",
    "split_title",
    "to_columns",
    "to_dataframe",
    "write_csv",
]

CsvFile = str | os.PathLike | io.StringIO


class Sheet(NamedTuple):
    """A file as cells.

    Attributes:
        name: of the file, for messages.
        rows: the line of the file and the cells of each row that is not empty, a header among them.
        separator: what separates cells.
    """

    name: str
    rows: list[tuple[int, list[str]]]
    separator: str

    def decimal_comma(self, cells: Sequence[str]) -> bool:
        """Whether numbers have commas: where these cannot separate columns and nobody writes points."""
        return self.separator != "," and not any("." in cell for cell in cells)


class Table(NamedTuple):
    """The rows of a file.

    Attributes:
        x: values of the inputs, a list of ``D`` for each row.
        y: outputs ``[n, P]``, NaN where a cell is empty.
        extra: the other columns of each row, as texts.
        lines: the line of the file each row stands in.
    """

    x: list[list[Any]]
    y: np.ndarray
    extra: list[dict[str, str]]
    lines: list[int]


def to_columns(
    inputs: Sequence[Input], outputs: Sequence[Output], x: np.ndarray, y: np.ndarray, extra: Sequence[Mapping]
) -> dict[str, np.ndarray]:
    """A column by name for each input, output and whatever was carried along; failed rows have NaN."""
    columns = {each.name: _typed(each, x[:, d]) for d, each in enumerate(inputs)}
    columns |= {each.name: y[:, p].copy() for p, each in enumerate(outputs)}
    names = dict.fromkeys(name for row in extra for name in row)
    return columns | {name: np.array([row.get(name, "") for row in extra], object) for name in names}


def to_dataframe(columns: dict[str, np.ndarray]) -> Any:
    """The columns as a pandas frame, or as they are when pandas is not installed."""
    if importlib.util.find_spec("pandas") is None:
        return columns
    import pandas  # pyright: ignore[reportMissingImports]

    return pandas.DataFrame(columns)


def write_csv(
    path: CsvFile,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    columns: dict[str, np.ndarray],
) -> None:
    """Write the columns with units in the header, atomically; numbers come back as they were."""
    titles = {each.name: _title(each) for each in (*inputs, *outputs)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([titles.get(name, name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if _is_missing(value) else _text(value) for value in row])
    if isinstance(path, io.StringIO):
        path.write(text.getvalue())
    else:
        write_bytes(path, text.getvalue().encode())


def read_sheet(source: Any) -> Sheet:
    """The cells of a CSV file, given by its path or open: separated by commas, semicolons or tabs."""
    if isinstance(source, Sheet):
        return source
    is_open = hasattr(source, "read")
    name = getattr(source, "name", "the text") if is_open else source
    try:
        text = source.read() if is_open else read_text(source)
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror or error}") from None
    first = text.lstrip().split("\n", 1)[0]
    separator = next((each for each in ";\t" if each in first), ",")
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise ValueError(f"{name} is not a CSV file: {error} in line {reader.line_num}") from None
    return Sheet(str(name), [(line, row) for line, row in rows if any(row)], separator)


def read_csv(source: Any, inputs: Sequence[Input], outputs: Sequence[Output]) -> Table:
    """The points of a CSV, given by its path, open, or as a sheet; with decimal points or commas.

    A header names the columns, in any order, with or without units in brackets; other columns are carried
    along. Without a header the columns are the inputs and then the outputs. An empty output, or NaN, is
    missing.
    """
    sheet = read_sheet(source)
    if not sheet.rows:
        raise ValueError(f"{sheet.name} has no rows")
    places, others, rows = _layout(sheet.name, sheet.rows, inputs, outputs)
    numeric = [places[each.name] for each in (*inputs, *outputs) if not isinstance(each, Choice)]
    comma = sheet.decimal_comma([row[at] for _, row in rows for at in numeric if at < len(row)])
    return _table(sheet.name, rows, (inputs, outputs), places, others, comma)


def _layout(path, rows, inputs, outputs) -> tuple[dict[str, int], dict[str, int], list]:
    """Where each variable and each other column stands, and the rows without the header."""
    known = {each.name: each for each in (*inputs, *outputs)}
    header = rows[0][1]
    units = [split_title(title) for title in header]
    found = [title if title in known else name for title, (name, _) in zip(header, units, strict=True)]
    if not any(name in known for name in found):
        if len(header) == len(known) and all(is_number(cell.replace(",", ".")) for cell in header if cell):
            return {name: at for at, name in enumerate(known)}, {}, rows
        raise ValueError(
            f"{path} needs a header with the columns {', '.join(known)}, got {short(','.join(header))}"
        )
    for name in known:
        if found.count(name) != 1:
            count = "no column" if name not in found else "several columns"
            raise ValueError(f"{path} has {count} {name!r}, got the columns {short(','.join(header))}")
    for title, name, (_, unit) in zip(header, found, units, strict=True):
        wanted = known[name].unit if name in known else ""
        if title != name and wanted and unit and unit != wanted:
            raise ValueError(f"{path} has {name} in {unit!r}, and the learner in {wanted!r}")
    places = {name: found.index(name) for name in known}
    others = {title: at for at, title in enumerate(header) if found[at] not in known and title}
    return places, others, rows[1:]


def _table(path, rows, variables, places, others, comma) -> Table:
    inputs, outputs = variables
    width = 1 + max(places.values())
    x, y, extra = [], [], []
    for line, row in rows:
        if len(row) < width:
            raise ValueError(f"{path} needs {width} cells in each row, got {len(row)} in line {line}")

        def cell(each, empty_is_nan, line=line, row=row):
            text = row[places[each.name]]
            if isinstance(each, Choice):
                return text
            if text == "" and empty_is_nan:
                return np.nan
            number = text.replace(",", ".") if comma else text
            if not is_number(number):
                raise ValueError(f"{path} needs a number for {each.name}, got {short(text)} in line {line}")
            return float(number)

        x.append([cell(each, False) for each in inputs])
        y.append([cell(each, True) for each in outputs])
        extra.append({name: row[at] for name, at in others.items() if at < len(row)})
    return Table(x, np.array(y).reshape(len(rows), len(outputs)), extra, [line for line, _ in rows])


def _typed(each: Input, values: np.ndarray) -> np.ndarray:
    if isinstance(each, Choice):
        return np.array(values, object)
    return values.astype(np.int64 if isinstance(each, Integer) else np.float64)


def _title(each: Input | Output) -> str:
    return f"{each.name} [{each.unit}]" if each.unit else each.name


def split_title(title: str) -> tuple[str, str]:
    """The name and the unit of a title such as torque [Nm] or torque (Nm)."""
    for left, right in ("[]", "()"):
        name, found, unit = title.partition(left)
        if found and unit.endswith(right):
            return name.strip(), unit[:-1].strip()
    return title, ""


def _text(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)


def _is_missing(value: Any) -> bool:
    return isinstance(value, float | np.floating) and np.isnan(value)


def is_number(text: str) -> bool:
    """Whether it is one, with a decimal point."""
    try:
        float(text)
    except ValueError:
        return False
    return True
