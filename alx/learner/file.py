"""An experiment in one file: everything a learner needs to go on, on any machine."""

import dataclasses
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from alx.io import files
from alx.io.store import from_tensors, read_config, tensor_spec, to_tensors
from alx.learner.checks import as_bounds, as_scalar, as_whole_number
from alx.learner.state import Experiment
from alx.network.policy import Policy

__all__ = ["Snapshot", "read", "write"]

KIND = "learner"
PREFIX = "policy."


class Snapshot(NamedTuple):
    """All that a learner is."""

    policy: Policy
    bounds: np.ndarray
    y_mean: float | None
    y_std: float | None
    pool: np.ndarray | None
    budget: int
    experiment: Experiment


def write(path: str | os.PathLike, snapshot: Snapshot) -> None:
    """Write the snapshot, atomically."""
    policy, bounds, y_mean, y_std, pool, budget, experiment = snapshot
    meta = {
        "config": dataclasses.asdict(policy.config),
        "bounds": bounds.tolist(),
        "y_mean": y_mean,
        "y_std": y_std,
        "budget": budget,
        "told": len(experiment.y),
        "pending": len(experiment.pending),
        "pool": None if pool is None else len(pool),
    }
    tensors = {PREFIX + name: value for name, value in to_tensors(policy).items()} | experiment._asdict()
    files.write(path, KIND, meta, tensors if pool is None else tensors | {"pool": pool})


def read(path: str | os.PathLike, build: Callable[[Snapshot], Any]) -> Any:
    """What ``build`` makes of the snapshot in a file; its ValueErrors name the file."""
    meta, tensors = files.read(path, KIND, _expected)
    try:
        return build(_snapshot(meta, tensors))
    except ValueError as error:
        raise ValueError(f"{path} holds no usable experiment: {error}") from None


def _expected(meta: dict) -> files.Spec:
    config = read_config(meta.get("config"))
    told = as_whole_number("told", meta.get("told"), 0)
    pending = as_whole_number("pending", meta.get("pending"), 0)
    spec: files.Spec = {PREFIX + name: entry for name, entry in tensor_spec(config).items()}
    spec |= {"x": ("F64", (told, config.dim)), "y": ("F64", (told,))}
    spec |= {"pending": ("F64", (pending, config.dim)), "rows": ("I64", (told + pending,))}
    if meta.get("pool") is not None:
        spec["pool"] = ("F64", (as_whole_number("pool", meta["pool"], 1), config.dim))
    return spec


def _snapshot(meta: dict, tensors: dict[str, np.ndarray]) -> Snapshot:
    weights = {name.removeprefix(PREFIX): value for name, value in tensors.items() if name.startswith(PREFIX)}
    known = {
        name: None if meta.get(name) is None else as_scalar(name, meta[name]) for name in ("y_mean", "y_std")
    }
    return Snapshot(
        from_tensors(read_config(meta["config"]), weights),
        as_bounds(meta.get("bounds")),
        known["y_mean"],
        known["y_std"],
        tensors.get("pool"),
        as_whole_number("budget", meta.get("budget"), 1),
        Experiment(*(tensors[name] for name in Experiment._fields)),
    )
