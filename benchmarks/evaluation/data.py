"""Measured data as pools: inputs scaled to the unit cube, outputs as they are.

Only LGBB, which may not be redistributed, is fetched, when it is asked for.
"""

import csv
import io
import logging
import tarfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pooch

from alx.io import cache
from alx.io.files import TEXT_LIMIT, read_text

__all__ = ["Unavailable", "airline", "lgbb", "parse_lgbb", "table"]

LGBB_FILE = "lgbb_original.txt"
LARGEST = 1e100  # squares of larger numbers overflow
LGBB_URL = "https://bobby.gramacy.com/surrogates/lgbb.tar.gz"


class Unavailable(ValueError):  # noqa: N818 - it is a state of the data, not a mistake
    """A task whose data cannot be had; the message says in one sentence what to do."""


def airline() -> tuple[np.ndarray, np.ndarray]:
    """AirPassengers: x ``[144, 1]`` the time, y ``[144]`` the passengers in thousands."""
    text = (Path(__file__).parent / "series" / "airpassengers.csv").read_text("utf-8")
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    months = np.array([row["month"].split("-") for row in rows], float)
    time = months[:, 0] + (months[:, 1] - 1) / 12
    return _unit(time[:, None]), np.array([float(row["passengers"]) for row in rows])


def lgbb(data_dir: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Lift of the Langley glide-back booster at zero side slip against speed and angle of attack.

    The file may not be redistributed: it is read from ``data_dir``, else fetched into the cache.
    """
    if data_dir is None:
        return parse_lgbb(_unpack(_fetch()))
    path = data_dir / LGBB_FILE
    if not path.is_file():
        raise Unavailable(
            f"lgbb: --data-dir {data_dir} holds no {LGBB_FILE}; unpack it there from {LGBB_URL}."
        )
    return parse_lgbb(path.read_text("utf-8", errors="replace"))


def _fetch() -> Path:
    """The archive of LGBB's authors, in the cache."""
    archive = cache.directory() / "lgbb.tar.gz"
    if archive.is_file():
        return archive
    pooch.get_logger().setLevel(logging.WARNING)
    download: Any = pooch.HTTPDownloader(timeout=20)
    try:
        pooch.retrieve(LGBB_URL, None, fname=archive.name, path=archive.parent, downloader=download)
    except OSError as error:  # what requests raises is one
        raise Unavailable(
            f"lgbb: its data could not be fetched ({type(error).__name__}); put {LGBB_FILE} of {LGBB_URL} "
            "into a directory and name it with --data-dir."
        ) from None
    return archive


def _unpack(archive: Path) -> str:
    try:
        with tarfile.open(archive) as tar:
            member = next(m for m in tar if Path(m.name).name == LGBB_FILE and m.isfile())
            content = tar.extractfile(member)
            assert content is not None
            return content.read(TEXT_LIMIT).decode("utf-8", errors="replace")
    except (OSError, EOFError, zlib.error, tarfile.TarError, StopIteration):
        raise Unavailable(f"lgbb: {archive} is damaged; remove it, and it is fetched again.") from None


def parse_lgbb(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (mach/6, (alpha+5)/35) and lift of the rows with beta = 0."""
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("##")]
    header, *rows = lines or [[]]
    wanted = ("mach", "alpha", "beta", "lift")
    if not set(wanted) <= set(header):
        raise Unavailable(
            f"lgbb: {LGBB_FILE} must have the columns {', '.join(wanted)}, got {', '.join(header)}."
        )
    try:
        values = np.array([[float(row[header.index(name)]) for name in wanted] for row in rows])
        numbers = np.isfinite(values).all()
    except (ValueError, IndexError):
        values, numbers = np.empty(0), False
    if not numbers:
        raise Unavailable(f"lgbb: {LGBB_FILE} must hold numbers only below its header.")
    mach, alpha, beta, lift = values.reshape(-1, 4).T
    level = beta == 0
    if not level.any():
        raise Unavailable(f"lgbb: {LGBB_FILE} has no row with beta = 0.")
    return np.stack([mach / 6, (alpha + 5) / 35], 1)[level], lift[level]


def table(path: Path, target: str | None) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """A user's CSV with a header: the column ``target`` is the output, all others are inputs, with names."""
    name = f"--csv {path}"
    try:
        text = read_text(path)
        header, *rows = [row for row in csv.reader(io.StringIO(text)) if row] or [[]]
    except (OSError, ValueError, csv.Error) as error:
        raise Unavailable(f"{name} cannot be read as a text file ({error}).") from None
    header = [" ".join(column.split()) for column in header]
    if not rows:
        raise Unavailable(f"{name} is empty: it must have a header and rows of numbers.")
    if target not in header or len(header) < 2:
        given = "is missing" if target is None else f"is {target}"
        raise Unavailable(f"--target {given}, but must be one of the columns of {path}: {', '.join(header)}.")
    if len({*header}) < len(header):
        raise Unavailable(f"{name} has two columns of the same name: {', '.join(header)}.")
    values = _numbers(name, header, rows)
    output = header.index(target)
    inputs = np.delete(values, output, 1)
    names = tuple(column for column in header if column != target)
    constant = [c for c, column in zip(names, inputs.T, strict=True) if np.ptp(column) == 0]
    if constant or np.ptp(values[:, output]) == 0:
        raise Unavailable(f"{name}: the column {(constant or [target])[0]} never changes; leave it out.")
    size = np.abs(values).max(0)
    extreme = (size > LARGEST) | (np.ptp(values, 0) < 1 / LARGEST)
    if extreme.any():
        column = header[int(extreme.argmax())]
        raise Unavailable(f"{name}: the numbers of the column {column} are too large or too close together.")
    return inputs, values[:, output], names


def _numbers(name: str, header: list[str], rows: list[list[str]]) -> np.ndarray:
    values = np.empty((len(rows), len(header)))
    for i, row in enumerate(rows):
        if len(row) != len(header):
            raise Unavailable(
                f"{name}: data row {i + 1} has {len(row)} cells, but the header has {len(header)}."
            )
        for j, cell in enumerate(row):
            try:
                values[i, j] = float(cell)
            except ValueError:
                values[i, j] = np.nan
            if not np.isfinite(values[i, j]):
                place = f"{name}: data row {i + 1}, column {header[j]}"
                raise Unavailable(f"{place} holds {cell!r}, but must hold a finite number.")
    return values


def _unit(x: np.ndarray) -> np.ndarray:
    return (x - x.min(0)) / np.ptp(x, 0)
