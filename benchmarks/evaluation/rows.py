"""Results on disk: one JSON line per run, appended as it comes, so that a stopped evaluation resumes.

A line counts only when it is whole: what a crash left half-written is cut off before the next line is added.
"""

import csv
import io
import json
import math
import os
from pathlib import Path
from typing import Any

from alx.io import files

__all__ = ["append", "judged", "read", "write_csv"]

Row = dict[str, Any]
FIELDS = {"task", "method", "seed", "fingerprint", "rmse", "query_seconds", "compile_seconds", "x", "y"}


def read(path: Path) -> list[Row]:
    """All whole rows of the file; a broken end is cut off, a file that holds something else is an error."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    rows = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            row = json.loads(line)
            if not _is_row(row):
                raise ValueError
        except (ValueError, RecursionError):
            raise ValueError(
                f"{path}, line {number}, is not a row of an evaluation; choose another --out."
            ) from None
        rows.append(row)
    if len(whole) < len(content):
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return rows


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or not row.keys() >= FIELDS:
        return False
    names = (row["task"], row["method"], row["fingerprint"])
    curves, points = (row["rmse"], row["y"], row["query_seconds"]), row["x"]
    return (
        all(isinstance(name, str) for name in names)
        and type(row["seed"]) is int
        and all(map(_are_numbers, (*curves, [row["compile_seconds"]])))
        and isinstance(points, list)
        and all(_are_numbers(point) and len(point) == len(points[0]) > 0 for point in points)
        and len(points) == len(row["y"]) >= len(row["query_seconds"])
        and _are_numbers(judged(row))
        and len(judged(row)) == len(row["rmse"])
        and judged(row)[-1] == len(points)
    )


def judged(row: Row) -> list[int]:
    """After how many points the RMSE of each entry was taken; after every one unless the row says so."""
    return row.get("judged", list(range(1, len(row["x"]) + 1)))


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(v) in (int, float) and math.isfinite(v) for v in values)


def append(path: Path, rows: list[Row]) -> None:
    """Add rows and wait until they are on disk."""
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(row, allow_nan=False) + "\n" for row in rows))
        file.flush()
        os.fsync(file.fileno())


def write_csv(path: Path, rows: list[Row]) -> None:
    """The same rows flat, one line per point, for a spreadsheet; what was not measured is left empty."""
    dim = max(len(row["x"][0]) for row in rows)
    inputs, origin = [f"x{d + 1}" for d in range(dim)], ["command", "versions", "commit", "device"]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["task", "method", "seed", "point", *inputs, "y", "rmse", "query_seconds", *origin])
    for row in rows:
        seconds = [""] * (len(row["x"]) - len(row["query_seconds"])) + row["query_seconds"]
        rmse = dict(zip(judged(row), row["rmse"], strict=True))
        made = [row.get("environment", {}).get(key, "") for key in origin]
        for n, (x, y, second) in enumerate(zip(row["x"], row["y"], seconds, strict=True), 1):
            padded = [*x, *[""] * (dim - len(x))]
            who = [row["task"], row["method"], row["seed"], n]
            writer.writerow([*who, *padded, y, rmse.get(n, ""), second, *made])
    files.write_bytes(path, text.getvalue().encode())
