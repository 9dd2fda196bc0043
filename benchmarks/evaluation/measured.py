"""Real data inside published packages: engine maps, colours, solar cells, a truss and a heart, as pools.

The packages (extra ``bench``) are found and never imported, and only their text files are read, as their
licences allow: smt BSD-3-Clause, olymp MIT, autoemulate MIT. autoemulate is not in the extra, for it would
bring some hundred packages and another PyTorch; ``pip install --no-deps autoemulate`` brings the files.
"""

import csv
import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.evaluation.data import Unavailable
from benchmarks.evaluation.tasks import Task, from_pool

__all__ = ["TASKS", "folder"]


def folder(task: str, module: str, install: str) -> Path:
    """Where the package that brings ``module`` is installed; ``install`` is what pip would be told."""
    found = importlib.util.find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise Unavailable(f"{task}: not without the package {install.split()[-1]}; pip install {install}.")
    return Path(found.submodule_search_locations[0])


def _b777(name: str, output: int, what: str) -> Task:
    """The engine of a Boeing 777: Mach number, altitude and throttle on a grid of 12 x 11 x 8."""
    directory = folder(name, "smt", "smt") / "examples" / "b777_engine"
    x, y = (_numbers(name, directory / f"b777_engine_{part}.dat", None) for part in ("inputs", "outputs"))
    inputs = ("Mach", "altitude [km]", "throttle")
    return from_pool(name, x.reshape(-1, 3), y.reshape(-1, 2)[:, output], inputs=inputs, output=what)


def _olympus(name: str, dataset: str, inputs: tuple[str, ...], what: str) -> Task:
    """Self-driving laboratories; of parts that add up to one the last is left out."""
    directory = folder(name, "olympus", "olymp") / "datasets" / f"dataset_{dataset}"
    values = _numbers(name, directory / "data.csv", ",")
    return from_pool(name, values[:, : len(inputs)], values[:, -1], inputs=inputs, output=what)


def _autoemulate(name: str, dataset: str, what: str) -> Task:
    """Simulations of engineers and physicians."""
    directory = folder(name, "autoemulate", "--no-deps autoemulate") / "datasets" / dataset / "processed"
    x, y = (_numbers(name, directory / f"{part}.csv", ",", skip=1) for part in ("parameters", "outputs"))
    inputs, outputs = (_header(directory / f"{part}.csv") for part in ("parameters", "outputs"))
    return from_pool(name, x, y[:, outputs.index(what)], inputs=inputs, output=what)


def _numbers(name: str, path: Path, delimiter: str | None, skip: int = 0) -> np.ndarray:
    try:
        values = np.loadtxt(path, delimiter=delimiter, skiprows=skip, ndmin=2)
    except (OSError, ValueError) as error:
        raise Unavailable(f"{name}: {path.name} of the installed package cannot be read ({error}).") from None
    if not np.isfinite(values).all():
        raise Unavailable(f"{name}: {path.name} of the installed package holds something else than numbers.")
    return values


def _header(path: Path) -> tuple[str, ...]:
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(next(csv.reader(file)))


PAINTS = ("red", "orange", "yellow", "blue", "green")
OFF_GREEN = "distance to green"
LIGHT = "degradation by light"
TASKS: dict[str, Callable[[], Task]] = {
    "b777-thrust": lambda: _b777("b777-thrust", 0, "thrust [N]"),
    "b777-fuel": lambda: _b777("b777-fuel", 1, "specific fuel consumption"),
    "colours-n9": lambda: _olympus("colours-n9", "colors_n9", ("red", "green", "blue"), OFF_GREEN),
    "colours-bob": lambda: _olympus("colours-bob", "colors_bob", PAINTS, OFF_GREEN),
    "photo-pce10": lambda: _olympus("photo-pce10", "photo_pce10", ("PCE10", "P3HT", "PCBM"), LIGHT),
    "photo-wf3": lambda: _olympus("photo-wf3", "photo_wf3", ("WF3", "P3HT", "PCBM"), LIGHT),
    "truss": lambda: _autoemulate("truss", "engineering1", "deflection"),
    "heart": lambda: _autoemulate("heart", "cardiac6", "TAT,v"),
}
TASKS = {name: functools.cache(make) for name, make in TASKS.items()}
