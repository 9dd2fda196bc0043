"""Checkpoints from strangers: whatever is done to them ends in an error or in the very state that was saved.

Orbax reads them with threads of its own and C++ code, so a process of their own does the reading: were it to
crash, hang or take too much memory, this one would notice.
"""

import logging
import os
import resource
import selectors
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np

__all__ = ["damage"]

ROOT = Path(__file__).parents[2]
TOGETHER = 1000  # mutations in one process
HANG = 120  # seconds without an answer
MEMORY = 1 << 30  # bytes that reading damaged files may add to a process


def damage(count: int, seed: int, directory: Path) -> Counter:
    """Damage a checkpoint ``count`` times."""
    tally = Counter()
    for first in range(0, count, TOGETHER):
        arguments = (directory / str(first), seed + first, min(TOGETHER, count - first))
        command = [sys.executable, "-m", "benchmarks.reliability.checkpoints", *map(str, arguments)]
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            tally += _listen(process, arguments[-1])
    return tally


def _listen(process: subprocess.Popen, expected: int) -> Counter:
    answers = Counter()
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(HANG) and (line := process.stdout.readline()):
            answers[line.strip()] += 1
    if process.poll() is None and answers.total() < expected:
        process.send_signal(signal.SIGKILL)
        answers["hung"] += 1
    elif process.wait() != 0:
        answers[f"crashed with {process.returncode}"] += 1
    return answers


def work(directory: Path, seed: int, count: int) -> None:
    """Make a checkpoint, damage one of its files at a time, restore, and print what came of each."""
    import jax

    from alx.network.policy import PolicyConfig
    from alx.train import checkpoints as checkpointing
    from alx.train import step as training
    from alx.train.config import TrainConfig

    logging.disable(logging.CRITICAL)
    config = TrainConfig(PolicyConfig(1, 2))
    state = training.initial_state(config, training.make_mesh())
    truth = checkpointing.digest(state)
    with checkpointing.open_in(directory) as checkpoints:
        checkpointing.save(checkpoints, state, directory)
        files = sorted(path for path in (directory / "checkpoints").rglob("*") if path.is_file())
        files = [path for path in files if path.stat().st_size]
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + MEMORY
        rng = np.random.default_rng(seed)
        fresh = jax.tree.map(np.zeros_like, state)
        for _ in range(count):
            path = files[rng.integers(len(files))]
            good = path.read_bytes()
            path.unlink()
            path.write_bytes(_mutant(good, rng))
            try:
                intact = checkpointing.digest(checkpointing.restore(checkpoints, fresh, directory)) == truth
                answer = "unharmed" if intact else "wrong"
            except ValueError as error:
                clear = "is damaged; without it" in str(error) and "\n" not in str(error)
                answer = "refused" if clear else "refused without a clear word"
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > most:
                answer += " with too much memory"
            print(answer, flush=True)
            path.unlink()
            path.write_bytes(good)
    os._exit(0)  # Orbax leaves reads behind that nobody awaits


def _mutant(good: bytes, rng: np.random.Generator) -> bytes:
    if rng.random() < 0.2:
        return good[: rng.integers(len(good))]
    mutant = bytearray(good)
    for place in rng.integers(len(good), size=rng.integers(1, 9)):
        mutant[place] ^= 1 << int(rng.integers(8))
    return bytes(mutant)


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
