"""Training from one seed or from several, of which the best is kept."""

import dataclasses
from pathlib import Path
from typing import Any

import jax

from alx.io import files
from alx.train import run
from alx.train.progress import Progress, summary

__all__ = ["train_seeds"]


def train_seeds(out: Path, seeds: int, trainer: Any) -> Path:
    """Train each seed in a directory of its own, if there are several; returns the best policy's file.

    Args:
        out: the run, which was created before.
        seeds: how many, from the trainer's own on.
        trainer: a `Trainer` that is a dataclass with a `config`.
    """
    if seeds == 1:
        _train_one(out, trainer)
        return out / run.POLICY
    made_by, losses = run.read(out).command, {}
    for seed in range(trainer.seed, trainer.seed + seeds):
        directory = out / f"seed-{seed}"
        own = dataclasses.replace(trainer, config=dataclasses.replace(trainer.config, seed=seed))
        if not directory.exists() and jax.process_index() == 0:
            run.create(directory, own, made_by)
        try:
            _train_one(directory, own)
        except run.DivergedError as error:
            print(f"seed {seed}: {error}")
            continue
        losses[directory] = run.selection_loss(run.read_metrics(directory))
        print(f"seed {seed}: mean of the last 500 losses {losses[directory]:.4f}")
    if not losses:
        raise run.DivergedError("no seed ended with a finite loss; try a smaller --lr")
    best = min(losses, key=lambda directory: losses[directory])
    files.write_bytes(out / run.POLICY, (best / run.POLICY).read_bytes())
    print(f"best: {best}")
    return out / run.POLICY


def _train_one(out: Path, trainer: run.Trainer) -> None:
    with Progress(trainer.steps, quiet=jax.process_index() > 0) as progress:
        last = run.train(trainer, out, progress.show)
    if jax.process_index() == 0:
        print(f"{out}: {last['step']} steps, {summary(last)}, {last['seconds'] / 60:.1f} minutes")
