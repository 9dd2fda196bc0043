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
from alx.network.policy import Policy, PolicyConfig
from benchmarks.evaluation import plugin, protocol, registry, rows, suites, tasks
from benchmarks.evaluation.data import Unavailable
from benchmarks.evaluation.methods import Method, from_policy
from benchmarks.evaluation.registry import label
from benchmarks.evaluation.results import FILE
from benchmarks.evaluation.tasks import Task

__all__ = ["Plan", "Unit", "environment", "load_tasks", "plan", "run"]


@dataclasses.dataclass(frozen=True)
class Unit:
    """The smallest piece of work: one method on one task for a few seeds."""

    task: Task
    method: Method
    seeds: tuple[int, ...]
    budget: int

    @property
    def keys(self) -> list[tuple]:
        """What tells the row of each seed from those of all other experiments."""
        fingerprint = protocol.fingerprint(self.task, self.method, self.budget)
        return [(self.task.name, self.method.name, seed, fingerprint) for seed in self.seeds]


@dataclasses.dataclass(frozen=True)
class Plan:
    """All units, what is left out and why, and the training records of the user's policies.

    ``methods`` says by name, in the order of the tables, how many points each is given.
    """

    tasks: list[Task]
    methods: dict[str, int]
    units: list[Unit]
    notes: list[str]
    records: dict[str, dict[str, Any]]


def load_tasks(
    suite: str,
    csv: Path | None = None,
    target: str | None = None,
    data_dir: Path | None = None,
    own: tuple[str, ...] = (),
) -> tuple[list[Task], list[str]]:
    """The tasks of suites and names with commas between, the user's own, and a sentence for each not there.

    Args:
        suite: suites and tasks.
        csv: a table, as a pool.
        target: the column of it to be learned.
        data_dir: where LGBB's file is.
        own: ``module:function`` of each task of the user's own.
    """
    makers: list[Callable[[], Task]] = [
        lambda name=name: suites.TASKS[name](data_dir) for name in suites.names(suite)
    ]
    if csv is not None:
        makers.append(lambda: tasks.from_csv(csv, target))
    makers += [lambda name=name: plugin.task(name) for name in own]
    found, reasons = [], {}
    for make in makers:
        try:
            found.append(make())
        except Unavailable as error:
            name, _, reason = str(error).partition(": ")
            reasons.setdefault(reason, []).append(name)
    notes = [": ".join(filter(None, ("Not run", ", ".join(names), why))) for why, names in reasons.items()]
    if not found:
        raise ValueError(" ".join(notes).replace("Not run: ", "") or "--suite names no task.")
    twice = {task.name for task in found if sum(other.name == task.name for other in found) > 1}
    if twice:
        raise ValueError(f"--task: two tasks are called {', '.join(sorted(twice))}; give them other names.")
    return found, notes


def plan(
    found: list[Task],
    policies: tuple[str, ...] = (),
    chosen: str | None = None,
    seeds: int = 20,
    budget: int | None = None,
    added: tuple[str, ...] = (),
) -> Plan:
    """Which methods run on which tasks; what cannot is said in a note.

    Args:
        found: the tasks.
        policies: policy files.
        chosen: only these methods, with commas between; the default ones and all of the user's own if None.
        seeds: how many.
        budget: queries of a method that is given one point; `protocol.default_budget` if None.
        added: methods to run beside, by name or as ``module:function``.
    """
    own = {name: (load(path), path) for name, path in _names(policies).items()}
    taken = {*own, *registry.LABELS}
    functions = [plugin.method(name, taken) for name in added if ":" in name]
    known = [*(method.name for method in functions), *own]
    wanted = registry.names(",".join(["default", *known]) if chosen is None else chosen, known)
    beside = {*(m.name for m in functions), *(name for name in added if ":" not in name)}
    wanted = registry.names(",".join([*wanted, *beside]), known)
    by_dim = {
        dim: _methods(dim, {name: policy for name, (policy, _) in own.items()}, functions)
        for dim in sorted({task.dim for task in found})
    }
    notes = _absent({dim: missing for dim, (_, missing) in by_dim.items()}, wanted)
    fitting, units = [], []
    for task in found:
        length = budget or protocol.default_budget(task.dim)
        size = protocol.N_INIT + length
        if task.is_pool and size > len(task.test_x):
            most = len(task.test_x) - protocol.N_INIT
            notes.append(
                f"Not run: {task.name} has room for {most} queries, so --budget must be at most {most}."
            )
            continue
        fitting.append(task)
        methods = by_dim[task.dim][0]
        able = [methods[name] for name in wanted if name in methods]
        late = [m for m in able if m.given >= size]
        notes += [f"Not run: {label(m.name)} on {task.name}, which has {size} points in all." for m in late]
        groups = range(0, seeds, protocol.SEEDS_TOGETHER)
        units += [
            Unit(task, method, tuple(range(i, min(i + protocol.SEEDS_TOGETHER, seeds))), length)
            for method in able
            if method not in late
            for i in groups
        ]
    if not units:
        raise ValueError(" ".join(notes))
    present = {unit.method.name: unit.method.given for unit in units}
    # The general policy has no number of inputs, by which training objectives are compared.
    single = {name for name, (policy, _) in own.items() if isinstance(policy.config, PolicyConfig)}
    records = {name: read_record(own[name][1]) for name in wanted if name in single & present.keys()}
    return Plan(fitting, {name: present[name] for name in wanted if name in present}, units, notes, records)


def _names(policies: tuple[str, ...]) -> dict[str, str]:
    """A name for every policy file: its stem, or its whole path where stems meet."""
    stems = [Path(path).stem for path in policies]
    taken = {stem for stem in stems if stems.count(stem) > 1} | registry.LABELS.keys()
    return {path if stem in taken else stem: path for stem, path in zip(stems, policies, strict=True)}


def _methods(
    dim: int, own: dict[str, Policy], functions: list[Method]
) -> tuple[dict[str, Method], dict[str, str]]:
    """All methods for this many inputs by name, and of each that cannot run the reason."""
    found, missing = registry.available(dim)
    found |= {method.name: method for method in functions}
    for name, policy in own.items():
        trained = getattr(policy.config, "dim", dim)
        if trained == dim:
            found[name] = from_policy(name, policy)
        else:
            missing[name] = f"it was trained for D = {trained}"
    return found, missing


def _absent(missing: dict[int, dict[str, str]], wanted: list[str]) -> list[str]:
    """A sentence for each reason why methods that are wanted cannot run, given the reasons by dimension."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in wanted:
        reasons = {dim: by_name[name] for dim, by_name in missing.items() if name in by_name}
        for reason in dict.fromkeys(reasons.values()):
            dims = ", ".join(str(dim) for dim, why in reasons.items() if why == reason)
            found.setdefault((dims, reason), []).append(label(name))
    return [
        f"Not run at D = {dims}, for {reason}: {', '.join(names)}." for (dims, reason), names in found.items()
    ]


def run(planned: Plan, out: Path, origin: dict[str, Any]) -> Iterator[tuple[Unit, bool]]:
    """Run every unit whose rows are missing; yields each with whether it is done, before and after."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / FILE
    with lock.hold(out) as check_lock:
        present = {_key(row) for row in rows.read(path)}
        for unit in planned.units:
            yield unit, False
            missing = [s for s, key in zip(unit.seeds, unit.keys, strict=True) if key not in present]
            if missing:
                fresh = protocol.run(unit.task, unit.method, unit.seeds, unit.budget)
                check_lock()
                rows.append(path, [row | {"environment": origin} for row in fresh if row["seed"] in missing])
            yield unit, True


def finished(planned: Plan, out: Path) -> list[rows.Row]:
    """The rows on disk that belong to the plan; others stay there, such as those of an earlier policy."""
    wanted = {key for unit in planned.units for key in unit.keys}
    return [row for row in rows.read(out / FILE) if _key(row) in wanted]


def _key(row: rows.Row) -> tuple:
    return row["task"], row["method"], row["seed"], row["fingerprint"]


def environment(command: str) -> dict[str, str]:
    """What it takes to make a result again."""
    made = provenance.of_run(command)
    device, versions = made["device"], made["versions"] | {"scipy": scipy.__version__}
    return {
        "command": made["command"],
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "commit": made["commit"] or "unknown",
        "device": f"{device['kind'].upper()}, {os.cpu_count()} cores, {platform.machine()}",
    }
