"""A training run on disk: start, checkpoint, resume, finish.

A run directory holds

    config.json         what is trained and the command that does, written first
    start.safetensors   the policy it starts from, if it does not start from nothing
    metrics.jsonl       where it came from, then one line per epoch of 50 steps
    checkpoints/        params, optimiser state and step (orbax), the last two epochs
    curve.png           losses and validation
    policy.safetensors  the policy, written last

A kill loses at most the current epoch, and the resumed run ends with the same numbers. What is trained, and
how, is up to a `Trainer`.
"""

import contextlib
import json
import math
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh

from alx.io import files, lock, provenance, store
from alx.network.policy import Params, Policy
from alx.train import checkpoints, curve, metrics, plugin
from alx.train.metrics import Epoch
from alx.train.metrics import read as read_metrics
from alx.train.step import EPOCH, State, make_mesh

__all__ = ["POLICY", "DivergedError", "Epoch", "Stored", "Trainer", "create", "read", "read_metrics", "train"]

POLICY, START = "policy.safetensors", "start.safetensors"


class DivergedError(RuntimeError):
    """The loss stopped being a number."""


class Trainer(Protocol):
    """Anything that can be trained in steps: a config, and how it becomes a step and a policy.

    It is a class with these members, importable by its module and name, which config.json records. Equal
    trainers give equal numbers: all randomness comes from `seed` and the step.
    """

    @property
    def steps(self) -> int:
        """How many steps."""
        ...

    @property
    def seed(self) -> int:
        """Seed of everything random."""
        ...

    @property
    def start(self) -> str | None:
        """A shipped name or a policy file from whose weights to start."""
        ...

    @property
    def phases(self) -> list[tuple[str, int]]:
        """What is minimised, and up to which step, in order."""
        ...

    def initial_state(self, mesh: Mesh, params: Params | None) -> State:
        """The given weights or fresh ones, a new optimiser and step 0, the same on every device."""
        ...

    def make_step(self, mesh: Mesh) -> Callable[[State], tuple[State, dict[str, Array]]]:
        """The compiled step: state -> next state, and at least its "loss" and gradient "norm"."""
        ...

    def make_validation(self, mesh: Mesh) -> Callable[[Params], dict[str, float]]:
        """What is measured after each epoch, by name; what begins with "loss" is drawn beside the loss."""
        ...

    def policy(self, params: Params) -> Policy:
        """The policy with these weights, as it is saved."""
        ...

    def to_json(self) -> dict[str, Any]:
        """What makes the same trainer again."""
        ...

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """The inverse of `to_json`."""
        ...


class Stored(NamedTuple):
    """What a run was started with; with several seeds each has a run of its own inside."""

    trainer: Any  # a Trainer
    command: str
    seeds: int


def create(out: Path, trainer: Trainer, command: str, seeds: int = 1) -> None:
    """Make the directory of a new run; it must not hold anything yet."""
    kind = plugin.name_of(type(trainer), "the trainer")
    stored = {"command": command, "seeds": seeds, "trainer": kind, "config": trainer.to_json()}
    start = None if trainer.start is None else _load_start(trainer.start, trainer)
    # Made under another name first, a run never is without its config, whenever the process dies.
    draft = out.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        draft.mkdir(parents=True)
        files.write_bytes(draft / "config.json", json.dumps(stored, indent=1).encode())
        if start is not None:
            store.save(draft / START, start, {"from": trainer.start})
        os.rename(draft, out)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if os.path.lexists(out):
            raise ValueError(
                f"--out {out} exists already; name another directory, or continue it with --resume {out}"
            ) from None
        raise ValueError(f"--out {out} cannot be written: {error.strerror}") from None


def _load_start(start: str, trainer: Trainer) -> Policy:
    """The policy to start from, whose weights must fit."""
    found = store.load(start)
    wanted = trainer.policy(found.params).config
    if store.tensor_spec(found.config) != store.tensor_spec(wanted):
        raise ValueError(f"--start {start} is of {found.config}; its weights cannot start {wanted}")
    return found


def read(out: Path) -> Stored:
    """What a run was started with."""
    try:
        stored = json.loads((out / "config.json").read_text("utf-8"))
        trainer = plugin.find(stored["trainer"], {}, "the trainer").from_json(stored["config"])
        return Stored(trainer, stored["command"], stored["seeds"])
    except FileNotFoundError:
        raise ValueError(f"--resume {out} is not a run: it has no config.json") from None
    except (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError) as error:
        raise ValueError(
            f"--resume {out} has a config.json that cannot be read: {checkpoints.one_line(error)}"
        ) from None


def train(trainer: Trainer, out: Path, show: Callable[[Epoch], None]) -> Epoch:
    """Train from the last checkpoint in `out`, if there is one, to the end; returns the last epoch.

    `show` is called after each epoch. The policy file is written at the end.
    """
    with _lock(out) as check_lock, checkpoints.open_in(out) as manager:
        mesh = make_mesh()
        params = None if trainer.start is None else store.load(out / START).params
        state = checkpoints.restore(manager, trainer.initial_state(mesh, params), out)
        epochs = _epochs_until(int(state.step), out)
        if int(state.step) < trainer.steps:
            if jax.process_index() == 0:
                metrics.write(out, _origin(out), epochs)
            step, validate = trainer.make_step(mesh), trainer.make_validation(mesh)
            while int(state.step) < trainer.steps:
                state, epoch = _epoch(trainer.steps, step, state)
                epoch |= validate(state.params)
                _check_finite(epoch)
                epoch["seconds"] += epochs[-1]["seconds"] if epochs else 0
                epochs.append(epoch)
                check_lock()
                # The line comes before its checkpoint: a resume drops what the checkpoint does not have.
                if jax.process_index() == 0:
                    metrics.append(out, epoch)
                checkpoints.save(manager, state, out)
                show(epoch)
        if not (out / POLICY).exists():
            _finish(trainer, out, state, epochs)
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
    """Provenance, with the command that started the run."""
    return provenance.of_run(read(out).command)


def _epoch(steps: int, step: Callable, state: State) -> tuple[State, Epoch]:
    start, losses, norms = time.monotonic(), [], []
    for _ in range(min(EPOCH - int(state.step) % EPOCH, steps - int(state.step))):
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


def _finish(trainer: Trainer, out: Path, state: State, epochs: list[Epoch]) -> None:
    if jax.process_index() > 0:
        return
    origin = _origin(out)
    curve.plot(out / "curve.png", trainer.phases, epochs, origin)
    last = {key: value for key, value in epochs[-1].items() if key != "seconds"}
    record = {
        "objective": trainer.phases[-1][0],
        "seed": trainer.seed,
        "losses": [round(epoch["loss"], 5) for epoch in epochs],
        "training": trainer.to_json(),
        "metrics": {**last, "selection_loss": selection_loss(epochs)},
        **origin,
    }
    store.save(out / POLICY, trainer.policy(jax.tree.map(np.asarray, state.params)), record)


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
