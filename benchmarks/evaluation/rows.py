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

__all__ = ["append", "read", "write_csv"]

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
        and len(points) == len(row["y"]) == len(row["rmse"]) >= len(row["query_seconds"]) > 0
    )


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(v) in (int, float) and math.isfinite(v) for v in values)


def append(path: Path, rows: list[Row]) -> None:
    """Add rows and wait until they are on disk."""
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(row, allow_nan=False) + "\n" for row in rows))
        file.flush()
        os.fsync(file.fileno())


def write_csv(path: Path, rows: list[Row]) -> None:
    """The same rows flat, one line per query, for a spreadsheet; step 0 is before the first query."""
    dim = max(len(row["x"][0]) for row in rows)
    inputs, origin = [f"x{d + 1}" for d in range(dim)], ["command", "versions", "commit", "device"]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["task", "method", "seed", "step", *inputs, "y", "rmse", "query_seconds", *origin])
    for row in rows:
        seconds = [""] * (len(row["x"]) - len(row["query_seconds"])) + row["query_seconds"]
        made = [row.get("environment", {}).get(key, "") for key in origin]
        for step, (x, y, rmse, second) in enumerate(
            zip(row["x"], row["y"], row["rmse"], seconds, strict=True)
        ):
            padded = [*x, *[""] * (dim - len(x))]
            writer.writerow([row["task"], row["method"], row["seed"], step, *padded, y, rmse, second, *made])
    files.write_bytes(path, text.getvalue().encode())
