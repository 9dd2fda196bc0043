"""Results on disk: one JSON line per run, appended as it comes, so that a stopped evaluation resumes.

A line counts only when it is whole: what a crash left half-written is cut off before the next line is added.
"""

import csv
import json
import os
from pathlib import Path
from typing import Any

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
            if not row.keys() >= FIELDS:
                raise ValueError
        except (ValueError, AttributeError):
            raise ValueError(
                f"{path}, line {number}, is not a row of an evaluation; choose another --out."
            ) from None
        rows.append(row)
    if len(whole) < len(content):
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return rows


def append(path: Path, rows: list[Row]) -> None:
    """Add rows and wait until they are on disk."""
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(row, allow_nan=False) + "\n" for row in rows))
        file.flush()
        os.fsync(file.fileno())


def write_csv(path: Path, rows: list[Row]) -> None:
    """The same rows flat, one line per query, for a spreadsheet; step 0 is before the first query."""
    dim = max(len(row["x"][0]) for row in rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "task",
                "method",
                "seed",
                "step",
                *(f"x{d + 1}" for d in range(dim)),
                "y",
                "rmse",
                "query_seconds",
            ]
        )
        for row in rows:
            seconds = [""] * (len(row["x"]) - len(row["query_seconds"])) + row["query_seconds"]
            for step, (x, y, rmse, second) in enumerate(
                zip(row["x"], row["y"], row["rmse"], seconds, strict=True)
            ):
                padded = [*x, *[""] * (dim - len(x))]
                writer.writerow([row["task"], row["method"], row["seed"], step, *padded, y, rmse, second])
