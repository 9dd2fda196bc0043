"""Plan an evaluation, run what is not on disk yet, and stream the rows there."""

import dataclasses
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import scipy

from alx.io import lock, provenance
from alx.io.store import load, read_record
from alx.network.policy import Policy
from benchmarks.evaluation import protocol, rows, tasks
from benchmarks.evaluation.data import Unavailable
from benchmarks.evaluation.methods import LABELS, Method, baselines, from_policy, shipped_methods
from benchmarks.evaluation.tasks import Task

__all__ = ["Plan", "Unit", "environment", "load_tasks", "plan", "run"]

FILE = "rows.jsonl"


@dataclasses.dataclass(frozen=True)
class Unit:
    """The smallest piece of work: one method on one task for a few seeds."""

    task: Task
    method: Method
    seeds: tuple[int, ...]
    budget: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """All units, what is left out and why, and the training records of the user's policies."""

    tasks: list[Task]
    methods: list[str]
    units: list[Unit]
    notes: list[str]
    records: dict[str, dict[str, Any]]


def load_tasks(
    suite: str, csv: Path | None, target: str | None, data_dir: Path | None
) -> tuple[list[Task], list[str]]:
    """The tasks of a suite or of a comma-separated list, and a sentence for each that cannot be had."""
    names = [name for name in suite.split(",") if name] if suite not in tasks.SUITES else tasks.SUITES[suite]
    unknown = [name for name in names if name not in tasks.TASKS]
    if unknown:
        known = ", ".join((*tasks.SUITES, *tasks.TASKS))
        raise ValueError(f"--suite has {', '.join(unknown)}, which is no task; known are {known}.")
    makers: list[Callable[[], Task]] = [
        lambda name=name: tasks.TASKS[name](data_dir) for name in dict.fromkeys(names)
    ]
    if csv is not None:
        makers.append(lambda: tasks.from_csv(csv, target))
    found, notes = [], []
    for make in makers:
        try:
            found.append(make())
        except Unavailable as error:
            notes.append(f"Not run: {error}")
    if not found:
        raise ValueError(" ".join(notes).replace("Not run: ", "") or "--suite names no task.")
    return found, notes


def plan(
    found: list[Task], policies: tuple[str, ...], chosen: str | None, seeds: int, budget: int | None
) -> Plan:
    """Which methods run on which tasks; what cannot is said in a note."""
    own = {name: (load(path), path) for name, path in _names(policies).items()}
    order = [*own, *LABELS]
    wanted = order if chosen is None else list(dict.fromkeys(name for name in chosen.split(",") if name))
    unknown = [name for name in wanted if name not in order]
    if unknown or not wanted:
        raise ValueError(f"--methods has {', '.join(unknown) or 'no name'}; known are {', '.join(order)}.")
    wanted = [name for name in order if name in wanted]
    by_dim, notes = {}, []
    for dim in sorted({task.dim for task in found}):
        by_dim[dim], new = _methods(dim, {name: policy for name, (policy, _) in own.items()}, wanted)
        notes += new
    fitting, units = [], []
    for task in found:
        length = budget or protocol.default_budget(task.dim)
        if task.is_pool and protocol.N_INIT + length > len(task.test_x):
            most = len(task.test_x) - protocol.N_INIT
            notes.append(
                f"Not run: {task.name} has room for {most} queries, so --budget must be at most {most}."
            )
            continue
        fitting.append(task)
        for method in by_dim[task.dim]:
            groups = range(0, seeds, protocol.SEEDS_TOGETHER)
            units += [
                Unit(task, method, tuple(range(i, min(i + protocol.SEEDS_TOGETHER, seeds))), length)
                for i in groups
            ]
    if not units:
        raise ValueError(" ".join(notes))
    present = {unit.method.name for unit in units}
    records = {name: read_record(path) for name, (_, path) in own.items() if name in present}
    return Plan(fitting, [name for name in wanted if name in present], units, notes, records)


def _names(policies: tuple[str, ...]) -> dict[str, str]:
    """A name for every policy file: its stem, or its whole path where stems meet."""
    stems = [Path(path).stem for path in policies]
    taken = {stem for stem in stems if stems.count(stem) > 1} | LABELS.keys()
    return {path if stem in taken else stem: path for stem, path in zip(stems, policies, strict=True)}


def _methods(dim: int, own: dict[str, Policy], wanted: list[str]) -> tuple[list[Method], list[str]]:
    shipped, missing = shipped_methods(dim)
    available = baselines() | shipped
    available |= {name: from_policy(name, policy) for name, policy in own.items() if policy.config.dim == dim}
    misfits = [name for name in own if name in wanted and name not in available]
    notes = []
    if misfits:
        others = ", ".join(f"{name} (D = {own[name].config.dim})" for name in misfits)
        notes.append(f"Not run at D = {dim}, for they were trained for another dimension: {others}.")
    absent = [name for name in missing if name in wanted]
    if absent:
        notes.append(f"Not run at D = {dim}, for no policy is shipped: {', '.join(absent)}.")
    return [available[name] for name in wanted if name in available], notes


def run(planned: Plan, out: Path, origin: dict[str, Any]) -> Iterator[tuple[Unit, bool]]:
    """Run every unit whose rows are missing; yields each with whether it is done, before and after."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / FILE
    with lock.hold(out) as check_lock:
        present = _check(planned, rows.read(path), out)
        for unit in planned.units:
            yield unit, False
            missing = [s for s in unit.seeds if (unit.task.name, unit.method.name, s) not in present]
            if missing:
                fresh = protocol.run(unit.task, unit.method, unit.seeds, unit.budget)
                check_lock()
                rows.append(path, [row | {"environment": origin} for row in fresh if row["seed"] in missing])
            yield unit, True


def finished(planned: Plan, out: Path) -> list[rows.Row]:
    """The rows on disk that belong to the plan."""
    wanted = {(u.task.name, u.method.name, seed) for u in planned.units for seed in u.seeds}
    return [row for row in rows.read(out / FILE) if (row["task"], row["method"], row["seed"]) in wanted]


def _check(planned: Plan, found: list[rows.Row], out: Path) -> set[tuple[str, str, int]]:
    """The runs already there; rows of another experiment under the same name are an error."""
    expected = {
        (u.task.name, u.method.name): protocol.fingerprint(u.task, u.method, u.budget) for u in planned.units
    }
    for row in found:
        if expected.get((row["task"], row["method"]), row["fingerprint"]) != row["fingerprint"]:
            raise ValueError(
                f"--out {out} holds rows of {row['method']} on {row['task']} with another budget, data or "
                "policy; choose another --out."
            )
    return {(row["task"], row["method"], row["seed"]) for row in found}


def environment(command: str) -> dict[str, str]:
    """What it takes to make a result again."""
    made = provenance.of_run(command)
    device, versions = made["device"], made["versions"] | {"scipy": scipy.__version__}
    return {
        "command": made["command"],
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "commit": made["commit"] or "unknown",
        "device": f"{device['platform']} {device['kind']}, {os.cpu_count()} cores, {platform.machine()}",
    }
