"""What an evaluation has found, as data."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evaluation import rows

__all__ = ["FILE", "load"]

FILE = "rows.jsonl"


def load(directory: str | Path) -> Any:
    """The runs in the output directory of an evaluation, one per task, method and seed.

    Returns:
        A pandas dataframe with a line per run if pandas is installed, else a dict of arrays of the same
        columns: ``task``, ``method``, ``seed``, ``rmse`` after the last query, ``query_seconds`` of the whole
        run (NaN where it was not timed), ``compile_seconds``, and as objects ``curve`` (the RMSE after
        ``judged`` points), ``x [n, D]`` in the unit cube and ``y [n]`` standardised. Of runs made again with
        another policy, budget or data the last counts.
    """
    path = Path(directory) / FILE
    if not path.is_file():
        raise ValueError(
            f"directory is {directory}, but must be the --out of an evaluation: {FILE} is missing."
        )
    found = list({(row["task"], row["method"], row["seed"]): row for row in rows.read(path)}.values())
    table = {
        **{name: np.array([row[name] for row in found]) for name in ("task", "method", "seed")},
        "rmse": np.array([row["rmse"][-1] for row in found]),
        "query_seconds": np.array([sum(row["query_seconds"] or [np.nan]) for row in found]),
        "compile_seconds": np.array([row["compile_seconds"] for row in found]),
        "judged": _objects([rows.judged(row) for row in found]),
        "curve": _objects([row["rmse"] for row in found]),
        "x": _objects([row["x"] for row in found]),
        "y": _objects([row["y"] for row in found]),
    }
    if importlib.util.find_spec("pandas") is None:
        return table
    return importlib.import_module("pandas").DataFrame(table)


def _objects(values: list) -> np.ndarray:
    array = np.empty(len(values), object)
    for i, value in enumerate(values):
        array[i] = np.array(value)
    return array
