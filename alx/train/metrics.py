"""What a training run measured: ``metrics.jsonl``, its provenance first and then a line per epoch."""

import json
import math
import os
from pathlib import Path
from typing import Any

from alx.io import files

__all__ = ["Epoch", "append", "read", "write"]

Epoch = dict[str, float]
FILE = "metrics.jsonl"
FIELDS = {"step", "loss", "norm", "seconds"}  # of every epoch; the others are the trainer's validation


def read(out: Path) -> list[Epoch]:
    """The epochs so far; a last line cut short by a kill is left out."""
    path = out / FILE
    if not path.exists():
        return []
    *lines, _ = path.read_bytes().split(b"\n")
    epochs = [_parse(line, f"{path}, line {number},") for number, line in enumerate(lines, 1)]
    return [epoch for epoch in epochs if "step" in epoch]


def _parse(line: bytes, place: str) -> Epoch:
    try:
        epoch = json.loads(line)
        first = "versions" in epoch
        if not first and not (epoch.keys() >= FIELDS and all(map(math.isfinite, epoch.values()))):
            raise ValueError
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        raise ValueError(f"{place} is not what alx wrote; without it the run cannot go on") from None
    return epoch


def write(out: Path, origin: dict[str, Any], epochs: list[Epoch]) -> None:
    """Write the file anew, atomically."""
    files.write_bytes(out / FILE, "".join(json.dumps(line) + "\n" for line in (origin, *epochs)).encode())


def append(out: Path, epoch: Epoch) -> None:
    """Add a line and wait until it is on disk."""
    with open(out / FILE, "a", encoding="utf-8") as file:
        file.write(json.dumps(epoch) + "\n")
        file.flush()
        os.fsync(file.fileno())
