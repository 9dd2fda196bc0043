"""Checkpoints of a run: written whole, and read only if they are what was written."""

import contextlib
import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import orbax.checkpoint as ocp

from alx.train.step import State

__all__ = ["digest", "one_line", "open_in", "restore", "save"]


@contextlib.contextmanager
def open_in(out: Path) -> Iterator[ocp.CheckpointManager]:
    logging.getLogger("absl").setLevel(logging.ERROR)
    # Saving in the background would report a full disk an epoch late.
    options = ocp.CheckpointManagerOptions(max_to_keep=2, create=True, enable_async_checkpointing=False)
    manager = ocp.CheckpointManager((out / "checkpoints").absolute(), options=options)
    try:
        yield manager
    finally:
        manager.close()


def save(checkpoints: ocp.CheckpointManager, state: State, out: Path) -> None:
    items = ocp.args.Composite(state=ocp.args.StandardSave(state), digest=ocp.args.JsonSave(digest(state)))
    try:
        checkpoints.save(int(state.step), args=items)
    except Exception as error:  # orbax raises many kinds for what the disk refuses
        raise OSError(f"{out}/checkpoints cannot be written: {one_line(error)}") from None


def restore(checkpoints: ocp.CheckpointManager, fresh: State, out: Path) -> State:
    step = checkpoints.latest_step()
    if step is None:
        return fresh
    try:
        items = checkpoints.restore(
            step,
            args=ocp.args.Composite(state=ocp.args.StandardRestore(fresh), digest=ocp.args.JsonRestore()),
        )
        state = State(*items["state"])
        intact = items["digest"] == digest(state)
        problem = "its checksum differs"
    except Exception as error:  # orbax raises many kinds for damaged files
        intact, state, problem = False, fresh, one_line(error)
    if not intact:
        raise ValueError(
            f"the checkpoint {out}/checkpoints/{step} is damaged; without it the run goes on from the one "
            f"before: {problem}"
        )
    return state


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def digest(state: State) -> dict[str, str]:
    sha = hashlib.sha256()
    for leaf in jax.tree.leaves(state):
        sha.update(np.asarray(leaf).tobytes())
    return {"sha256": sha.hexdigest()}
