"""A training run on disk: start, checkpoint, resume, finish.

A run directory holds

    config.json         what is trained, written first
    start.safetensors   the policy it starts from, if it does not start from nothing
    metrics.jsonl       where it came from, then one line per epoch of 50 steps
    checkpoints/        params, optimiser state and step (orbax), the last two epochs
    curve.png           loss and validation RMSE
    policy.safetensors  the policy, written last

A kill loses at most the epoch in progress, and the resumed run goes on to the same numbers.
"""

import contextlib
import dataclasses
import hashlib
import json
import logging
import math
import os
import secrets
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from alx.io import files, lock, provenance, store
from alx.network.policy import Policy, PolicyConfig
from alx.train import curve, metrics
from alx.train.metrics import Epoch
from alx.train.metrics import read as read_metrics
from alx.train.prior import Prior
from alx.train.recipes import Request
from alx.train.simulate import Batch
from alx.train.step import EPOCH, State, TrainConfig, initial_state, make_mesh, make_step, make_validation

__all__ = ["POLICY", "DivergedError", "Epoch", "create", "read_config", "read_metrics", "train"]

POLICY, START = "policy.safetensors", "start.safetensors"


class DivergedError(RuntimeError):
    """The loss stopped being a number."""


def create(out: Path, request: Request, config: TrainConfig) -> None:
    """Make the directory of a new run; one that holds something is an error."""
    text = json.dumps({"request": dataclasses.asdict(request), "config": _to_json(config)}, indent=1)
    start = None if config.start is None else _load_start(config.start, config.policy)
    # Made under another name first, a run never is without its config, whenever the process dies.
    draft = out.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        draft.mkdir(parents=True)
        files.write_bytes(draft / "config.json", text.encode())
        if start is not None:
            store.save(draft / START, start, {"from": config.start})
        os.rename(draft, out)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if os.path.lexists(out):
            raise ValueError(
                f"--out {out} exists already; name another directory, or continue it with --resume {out}"
            ) from None
        raise ValueError(f"--out {out} cannot be written: {error.strerror}") from None


def _load_start(start: str, config: PolicyConfig) -> Policy:
    """The policy to start from, whose weights must fit."""
    found = store.load(start)
    if store.tensor_spec(found.config) != store.tensor_spec(config):
        raise ValueError(
            f"--start {start} has --dim {found.config.dim} --network {found.config.network}; "
            f"it cannot start a policy with --dim {config.dim} --network {config.network}"
        )
    return found


def read_config(out: Path) -> tuple[Request, TrainConfig]:
    """What a run was started with."""
    try:
        stored = json.loads((out / "config.json").read_text("utf-8"))
        request = Request(**_tuples(stored["request"]))
        fields = stored["config"]
        return request, TrainConfig(
            policy=PolicyConfig(**fields.pop("policy")),
            prior=Prior(**_tuples(fields.pop("prior"))),
            batch=Batch(*fields.pop("batch")),
            **fields,
        )
    except FileNotFoundError:
        raise ValueError(f"--resume {out} is not a run: it has no config.json") from None
    except (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError) as error:
        raise ValueError(f"--resume {out} has a config.json that cannot be read: {_line(error)}") from None


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _to_json(config: TrainConfig) -> dict[str, Any]:
    return {**dataclasses.asdict(config), "batch": list(config.batch)}


def train(config: TrainConfig, out: Path, show: Callable[[Epoch], None]) -> Epoch:
    """Train from the last checkpoint in `out`, if there is one, to the end; returns the last epoch.

    `show` is called after each epoch. The policy file is written at the end.
    """
    with _lock(out) as check_lock, _checkpoints(out) as checkpoints:
        mesh = make_mesh()
        params = None if config.start is None else store.load(out / START).params
        state = _restore(checkpoints, initial_state(config, mesh, params), out)
        epochs = _epochs_until(int(state.step), out)
        if int(state.step) < config.steps:
            if jax.process_index() == 0:
                metrics.write(out, _origin(out), epochs)
            step = make_step(config, mesh)
            rmse, rmse_uniform = make_validation(config, mesh)
            uniform = epochs[-1]["rmse_uniform"] if epochs else float(rmse_uniform(state.params))
            while int(state.step) < config.steps:
                state, epoch = _epoch(config, step, state)
                epoch |= {"rmse": float(rmse(state.params)), "rmse_uniform": uniform}
                _check_finite(epoch)
                epoch["seconds"] += epochs[-1]["seconds"] if epochs else 0
                epochs.append(epoch)
                check_lock()
                # The line comes before its checkpoint: a resume drops what the checkpoint does not have.
                if jax.process_index() == 0:
                    metrics.append(out, epoch)
                _save(checkpoints, state, out)
                show(epoch)
        if not (out / POLICY).exists():
            _finish(config, out, state, epochs)
    return epochs[-1]


def _epochs_until(step: int, out: Path) -> list[Epoch]:
    """The epochs that the checkpoint of this step has behind it."""
    epochs = [epoch for epoch in read_metrics(out) if epoch["step"] <= step]
    reached = int(epochs[-1]["step"]) if epochs else 0
    if reached != step:
        raise ValueError(
            f"the run {out} has a checkpoint of step {step} but a metrics.jsonl that ends at step {reached}, "
            "so it cannot go on"
        )
    return epochs


def _origin(out: Path) -> dict[str, Any]:
    """Provenance with the command that makes the same run again, whatever its directory and its resumes."""
    request = dataclasses.asdict(read_config(out)[0])
    words = ["python", "train.py"]
    for name, default in dataclasses.asdict(Request()).items():
        if (value := request[name]) != default:
            values = value if isinstance(value, tuple) else () if value is True else (value,)
            words += [f"--{name.replace('_', '-')}", *map(str, values)]
    return provenance.of_run(shlex.join(words))


def _epoch(config: TrainConfig, step: Callable, state: State) -> tuple[State, Epoch]:
    start, losses, norms = time.monotonic(), [], []
    for _ in range(min(EPOCH - int(state.step) % EPOCH, config.steps - int(state.step))):
        state, metrics = step(state)
        losses.append(float(metrics["loss"]))
        norms.append(float(metrics["norm"]))
        _check_finite({"step": int(state.step), "loss": losses[-1], "norm": norms[-1]})
    means = {"loss": float(np.mean(losses)), "norm": float(np.mean(norms))}
    return state, {"step": int(state.step), **means, "seconds": time.monotonic() - start}


def _check_finite(epoch: Epoch) -> None:
    if not all(math.isfinite(value) for value in epoch.values()):
        raise DivergedError(
            f"the loss or its gradient is not finite at step {epoch['step']}: training stopped, the last "
            "good checkpoint is kept; try a smaller --lr"
        )


def _finish(config: TrainConfig, out: Path, state: State, epochs: list[Epoch]) -> None:
    if jax.process_index() > 0:
        return
    origin = _origin(out)
    curve.plot(out / "curve.png", config.objective, epochs, origin)
    last = {key: value for key, value in epochs[-1].items() if key != "seconds"}
    record = {
        "objective": config.objective,
        "seed": config.seed,
        "losses": [round(epoch["loss"], 5) for epoch in epochs],
        "training": _to_json(config),
        "metrics": {**last, "selection_loss": selection_loss(epochs)},
        **origin,
    }
    params = jax.tree.map(np.asarray, state.params)
    store.save(out / POLICY, Policy(params, config.policy), record)


def selection_loss(epochs: list[Epoch]) -> float:
    """Mean of the last 500 losses, by which the best of several seeds is chosen."""
    return float(np.mean([epoch["loss"] for epoch in epochs[-500 // EPOCH :]]))


@contextlib.contextmanager
def _lock(out: Path) -> Iterator[Callable[[], None]]:
    """Two processes must not write to one run; the first of several that train it together has the lock."""
    if jax.process_index() > 0:
        yield lambda: None
        return
    with lock.hold(out) as check:
        for draft in out.glob(".*.tmp"):  # of a process that was killed
            draft.unlink(missing_ok=True)
        yield check


@contextlib.contextmanager
def _checkpoints(out: Path) -> Iterator[ocp.CheckpointManager]:
    logging.getLogger("absl").setLevel(logging.ERROR)
    # Saving in the background would report a full disk an epoch late.
    options = ocp.CheckpointManagerOptions(max_to_keep=2, create=True, enable_async_checkpointing=False)
    manager = ocp.CheckpointManager((out / "checkpoints").absolute(), options=options)
    try:
        yield manager
    finally:
        manager.close()


def _save(checkpoints: ocp.CheckpointManager, state: State, out: Path) -> None:
    items = ocp.args.Composite(state=ocp.args.StandardSave(state), digest=ocp.args.JsonSave(_digest(state)))
    try:
        checkpoints.save(int(state.step), args=items)
    except Exception as error:  # orbax raises many kinds for what the disk refuses
        raise OSError(f"{out}/checkpoints cannot be written: {_line(error)}") from None


def _restore(checkpoints: ocp.CheckpointManager, fresh: State, out: Path) -> State:
    step = checkpoints.latest_step()
    if step is None:
        return fresh
    try:
        items = checkpoints.restore(
            step,
            args=ocp.args.Composite(state=ocp.args.StandardRestore(fresh), digest=ocp.args.JsonRestore()),
        )
        state = State(*items["state"])
        intact = items["digest"] == _digest(state)
        problem = "its checksum differs"
    except Exception as error:  # orbax raises many kinds for damaged files
        intact, state, problem = False, fresh, _line(error)
    if not intact:
        raise ValueError(
            f"the checkpoint {out}/checkpoints/{step} is damaged; without it the run goes on from the one "
            f"before: {problem}"
        )
    return state


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _digest(state: State) -> dict[str, str]:
    sha = hashlib.sha256()
    for leaf in jax.tree.leaves(state):
        sha.update(np.asarray(leaf).tobytes())
    return {"sha256": sha.hexdigest()}
