"""An experiment in one file: everything a learner needs to go on, on any machine."""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from alx.io import files
from alx.io.store import from_tensors, read_config, tensor_spec, to_tensors
from alx.learner.checks import as_numbers, as_whole_number
from alx.learner.domain import from_inputs
from alx.learner.inputs import Choice, Input, Integer, Real
from alx.learner.merge import continues, merge
from alx.learner.outputs import Output, from_outputs
from alx.learner.state import LearnerState
from alx.network.policy import Policy

try:
    import fcntl
except ImportError:  # Windows: a file that changed is still noticed, two saves at the same instant are not
    fcntl = None

__all__ = ["Snapshot", "read", "save"]

KIND = "learner"
PREFIX = "policy."


class Snapshot(NamedTuple):
    """All that a learner is, except for a constraint, which is a function and stays outside."""

    policy: Policy
    inputs: tuple[Input, ...]
    constrained: bool
    outputs: tuple[Output, ...]
    y_mean: np.ndarray | None
    y_std: np.ndarray | None
    tolerance: np.ndarray
    count_failures: bool
    pool: np.ndarray | None
    budget: int | None
    state: LearnerState

    def same_experiment(self, other: "Snapshot") -> bool:
        """Whether points of one are points of the other."""
        names = [[each.name for each in snapshot.outputs] for snapshot in (self, other)]
        empty = np.zeros((0, len(self.inputs)))
        pools = [empty if snapshot.pool is None else snapshot.pool for snapshot in (self, other)]
        return self.inputs == other.inputs and names[0] == names[1] and np.array_equal(pools[0], pools[1])


def save(path: str | os.PathLike, mine: Snapshot, base: Snapshot | None) -> Snapshot:
    """Write the snapshot, atomically, together with what another process has added to the file meanwhile.

    Args:
        path: where to.
        mine: what is to be saved.
        base: what this process has last read from or written to this path, None for nothing.

    Returns:
        What is in the file now.
    """
    with _locked(Path(path)):
        if Path(path).exists():
            mine = _with_theirs(path, mine, base)
        _write(path, mine)
    return mine


def _with_theirs(path: str | os.PathLike, mine: Snapshot, base: Snapshot | None) -> Snapshot:
    theirs = read(path, lambda snapshot: snapshot)
    if not mine.same_experiment(theirs):
        raise ValueError(f"{path} holds another experiment with another domain or outputs: nothing was saved")
    if base is None:
        if not continues(mine.state, theirs.state):
            raise ValueError(
                f"{path} holds {len(theirs.state.y)} points that this learner does not know: "
                "nothing was saved; Learner.load goes on from them"
            )
        return mine
    if not continues(theirs.state, base.state):
        raise ValueError(
            f"{path} was changed by another process, and not by adding points only: nothing was saved; "
            "save under another name"
        )
    budget = theirs.budget if mine.budget == base.budget else mine.budget
    return mine._replace(budget=budget, state=merge(base.state, mine.state, theirs.state))


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time, by a lock beside the file, which is replaced; dying processes let go."""
    if fcntl is None:
        yield
        return
    with open(path.with_name(f".{path.name}.lock"), "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _write(path: str | os.PathLike, snapshot: Snapshot) -> None:
    state, pool = snapshot.state, snapshot.pool
    meta = {
        "config": dataclasses.asdict(snapshot.policy.config),
        "inputs": [{"kind": type(each).__name__, **dataclasses.asdict(each)} for each in snapshot.inputs],
        "constrained": snapshot.constrained,
        "outputs": [dataclasses.asdict(each) for each in snapshot.outputs],
        "y_mean": None if snapshot.y_mean is None else snapshot.y_mean.tolist(),
        "y_std": None if snapshot.y_std is None else snapshot.y_std.tolist(),
        "tolerance": snapshot.tolerance.tolist(),
        "count_failures": snapshot.count_failures,
        "budget": snapshot.budget,
        "told": len(state.y),
        "pending": len(state.pending),
        "pool": None if pool is None else len(pool),
        "extra": {str(i): dict(each) for i, each in enumerate(state.extra) if each},
    }
    tensors = {PREFIX + name: value for name, value in to_tensors(snapshot.policy).items()}
    tensors |= {name: getattr(state, name) for name in _arrays(0, 0, 0, 0)}
    files.write(path, KIND, meta, tensors if pool is None else tensors | {"pool": pool})


def read(path: str | os.PathLike, build: Callable[[Snapshot], Any]) -> Any:
    """What ``build`` makes of the snapshot in a file; its ValueErrors name the file."""
    meta, tensors = files.read(path, KIND, _expected)
    try:
        return build(_snapshot(meta, tensors))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} holds no usable experiment: {error}") from None


def _arrays(dim: int, outputs: int, told: int, pending: int) -> files.Spec:
    return {
        "x": ("F64", (told, dim)),
        "y": ("F64", (told, outputs)),
        "rows": ("I64", (told,)),
        "pending": ("F64", (pending, dim)),
        "pending_rows": ("I64", (pending,)),
    }


def _expected(meta: dict) -> files.Spec:
    config = read_config(meta.get("config"))
    told = as_whole_number("told", meta.get("told"), 0)
    pending = as_whole_number("pending", meta.get("pending"), 0)
    dim, outputs = (_length(meta, name) for name in ("inputs", "outputs"))
    spec: files.Spec = {PREFIX + name: entry for name, entry in tensor_spec(config).items()}
    spec |= _arrays(dim, outputs, told, pending)
    if meta.get("pool") is not None:
        spec["pool"] = ("F64", (as_whole_number("pool", meta["pool"], 1), dim))
    return spec


def _length(meta: dict, name: str) -> int:
    value = meta.get(name)
    if not isinstance(value, list) or not value:
        raise ValueError(f"it lacks {name}")
    return len(value)


def _snapshot(meta: dict, tensors: dict[str, np.ndarray]) -> Snapshot:
    weights = {name.removeprefix(PREFIX): value for name, value in tensors.items() if name.startswith(PREFIX)}
    inputs = from_inputs([_input(fields) for fields in meta["inputs"]])
    known = {
        name: None if meta.get(name) is None else as_numbers(name, meta[name]) for name in ("y_mean", "y_std")
    }
    told = {name: tensors[name] for name in _arrays(0, 0, 0, 0)}
    extra = meta["extra"]
    budget = meta.get("budget")
    return Snapshot(
        from_tensors(read_config(meta["config"]), weights),
        inputs,
        bool(meta.get("constrained")),
        from_outputs([Output(**fields) for fields in meta["outputs"]], tuple(each.name for each in inputs)),
        known["y_mean"],
        known["y_std"],
        as_numbers("tolerance", meta.get("tolerance")),
        bool(meta.get("count_failures")),
        tensors.get("pool"),
        None if budget is None else as_whole_number("budget", budget, 1),
        LearnerState(extra=tuple(extra.get(str(i), {}) for i in range(len(told["y"]))), **told),
    )


def _input(fields: dict) -> Input:
    kinds = {kind.__name__: kind for kind in (Real, Integer, Choice)}
    fields = dict(fields)
    kind = kinds.get(fields.pop("kind", None))
    if kind is None:
        raise ValueError("one of its inputs is of a kind that this alx does not know")
    return kind(**fields)
