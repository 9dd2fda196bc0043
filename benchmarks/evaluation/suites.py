"""The tasks by name and the suites they belong to."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.evaluation import measured, tasks, uq
from benchmarks.evaluation.tasks import Task

__all__ = ["SUITES", "TASKS", "names"]

TASKS: dict[str, Callable[[Path | None], Task]] = {
    **tasks.TASKS,
    **{name: lambda _, make=make: make() for name, make in (measured.TASKS | uq.TASKS).items()},
}
SUITES = {
    "all": tuple(tasks.TASKS),
    "paper-1d": ("sin", "airline"),
    "paper-2d": ("branin", "simionescu", "townsend", "lgbb"),
    "real": tuple(measured.TASKS),
    "uq": uq.SUITE,
}


def names(suite: str) -> list[str]:
    """The tasks of suites and names with commas between."""
    given = [name for name in suite.split(",") if name]
    found = [task for name in given for task in SUITES.get(name, (name,))]
    unknown = [name for name in found if name not in TASKS]
    if unknown:
        known = ", ".join((*SUITES, *TASKS))
        raise ValueError(f"--suite has {', '.join(unknown)}, which is no task; known are {known}.")
    return list(dict.fromkeys(found))
