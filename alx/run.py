"""A training run on disk: start, checkpoint, resume, finish.

A run directory holds

    config.json         what is trained, written first
    metrics.jsonl       one line per epoch of 50 steps
    checkpoints/        params, optimiser state and step (orbax), the last two epochs
    curve.png           loss and validation RMSE
    policy.safetensors  the policy, written last

A kill loses at most the epoch in progress, and the resumed run goes on to the same numbers.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import logging
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from alx import files, provenance, store
from alx.objectives import CONTRASTIVE
from alx.policy import Policy, PolicyConfig
from alx.prior import Prior
from alx.recipes import Request
from alx.rollout import Batch
from alx.training import EPOCH, State, TrainConfig, initial_state, make_mesh, make_step, make_validation

__all__ = ["POLICY", "DivergedError", "Epoch", "create", "read_config", "read_metrics", "train"]

Epoch = dict[str, float]
POLICY = "policy.safetensors"


class DivergedError(RuntimeError):
    """The loss stopped being a number."""


def create(out: Path, request: Request, config: TrainConfig) -> None:
    """Make the directory of a new run; one that exists is an error."""
    text = json.dumps({"request": dataclasses.asdict(request), "config": _to_json(config)}, indent=1)
    try:
        out.mkdir(parents=True)
        files.write_bytes(out / "config.json", text.encode())
    except FileExistsError:
        raise ValueError(
            f"--out {out} exists already; name another directory, or continue it with --resume {out}"
        ) from None
    except OSError as error:
        raise ValueError(f"--out {out} cannot be written: {error.strerror}") from None


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
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        raise ValueError(f"--resume {out} has a config.json that cannot be read: {error}") from None


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _to_json(config: TrainConfig) -> dict[str, Any]:
    return {**dataclasses.asdict(config), "batch": list(config.batch)}


def train(config: TrainConfig, out: Path, show: Callable[[Epoch], None]) -> Epoch:
    """Train from the last checkpoint in `out`, if there is one, to the end; returns the last epoch.

    `show` is called after each epoch. The policy file is written at the end.
    """
    with _lock(out), _checkpoints(out) as checkpoints:
        mesh = make_mesh()
        state = _restore(checkpoints, initial_state(config, mesh), out)
        epochs = [epoch for epoch in read_metrics(out) if epoch["step"] <= int(state.step)]
        if int(state.step) < config.steps:
            _write_metrics(out, epochs)
            step = make_step(config, mesh)
            rmse, rmse_uniform = make_validation(config, mesh)
            uniform = epochs[-1]["rmse_uniform"] if epochs else float(rmse_uniform(state.params))
            while int(state.step) < config.steps:
                state, epoch = _epoch(config, step, state)
                epoch |= {"rmse": float(rmse(state.params)), "rmse_uniform": uniform}
                _check_finite(epoch)
                epoch["seconds"] += epochs[-1]["seconds"] if epochs else 0
                epochs.append(epoch)
                # The line comes before its checkpoint: a resume drops what the checkpoint does not have.
                _append_metrics(out, epoch)
                checkpoints.save(
                    int(state.step),
                    args=ocp.args.Composite(
                        state=ocp.args.StandardSave(state), digest=ocp.args.JsonSave(_digest(state))
                    ),
                )
                show(epoch)
        checkpoints.wait_until_finished()
        if not epochs:
            raise ValueError(f"the run {out} has checkpoints but no metrics.jsonl, so it cannot be finished")
        if not (out / POLICY).exists():
            _finish(config, out, state, epochs)
    return epochs[-1]


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
    draw_curve(out / "curve.png", config, epochs)
    last = {key: value for key, value in epochs[-1].items() if key != "seconds"}
    record = {
        "objective": config.objective,
        "seed": config.seed,
        "losses": [round(epoch["loss"], 5) for epoch in epochs],
        "training": _to_json(config),
        "metrics": {**last, "selection_loss": selection_loss(epochs)},
        **provenance.of_run(),
    }
    params = jax.tree.map(np.asarray, state.params)
    store.save(out / POLICY, Policy(params, config.policy), record)


def selection_loss(epochs: list[Epoch]) -> float:
    """Mean of the last 500 losses, by which the best of several seeds is chosen."""
    return float(np.mean([epoch["loss"] for epoch in epochs[-500 // EPOCH :]]))


@contextlib.contextmanager
def _lock(out: Path) -> Iterator[None]:
    """Two processes must not write to one run."""
    if jax.process_index() > 0:
        yield
        return
    try:
        handle = open(out / "lock", "w")  # noqa: SIM115
    except OSError as error:
        raise ValueError(f"the run {out} cannot be written: {error.strerror}") from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"the run {out} is being trained by another process") from None
        yield


@contextlib.contextmanager
def _checkpoints(out: Path) -> Iterator[ocp.CheckpointManager]:
    logging.getLogger("absl").setLevel(logging.ERROR)
    options = ocp.CheckpointManagerOptions(max_to_keep=2, create=True)
    manager = ocp.CheckpointManager((out / "checkpoints").absolute(), options=options)
    try:
        yield manager
    finally:
        manager.close()


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


def read_metrics(out: Path) -> list[Epoch]:
    """The epochs of a run so far; a last line cut short by a kill is left out."""
    path = out / "metrics.jsonl"
    epochs = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        try:
            epochs.append(json.loads(line))
        except ValueError:
            break
    return epochs


def _write_metrics(out: Path, epochs: list[Epoch]) -> None:
    if jax.process_index() == 0:
        files.write_bytes(out / "metrics.jsonl", "".join(json.dumps(e) + "\n" for e in epochs).encode())


def _append_metrics(out: Path, epoch: Epoch) -> None:
    if jax.process_index() == 0:
        with open(out / "metrics.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(epoch) + "\n")


def draw_curve(path: Path, config: TrainConfig, epochs: list[Epoch]) -> None:
    """Loss and validation RMSE against the step."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    steps = [epoch["step"] for epoch in epochs]
    left.plot(steps, [epoch["loss"] for epoch in epochs], color="#0072B2")
    left.set(xlabel="step", ylabel=f"{config.objective} loss")
    if config.objective == "dad":
        bound = -math.log(CONTRASTIVE + 1)
        left.axhline(bound, color="#999999", linestyle=":", label=f"bound {bound:.2f}")
        left.legend(frameon=False)
    right.plot(steps, [epoch["rmse"] for epoch in epochs], color="#D55E00", label="policy")
    right.axhline(epochs[-1]["rmse_uniform"], color="#999999", linestyle="--", label="uniform queries")
    right.set(xlabel="step", ylabel="validation RMSE")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
