"""The changes of one experiment since its learner was last saved: lines of JSON, on disk before they count.

The first line says which learner file the others continue, so replacing this one file, which is atomic, moves
to another learner file and empties the journal in one step. A line that a crash cut short was never answered
and is cut off.
"""

import json
import os
from pathlib import Path
from typing import Any

from alx.io.files import write_bytes

__all__ = ["Journal", "read", "read_head"]

NAME = "journal.jsonl"


def read_head(directory: Path) -> dict:
    """The first line."""
    with open(directory / NAME, "rb") as file:
        return _line(directory, file.readline(), 1)


def read(directory: Path) -> tuple[dict, list[dict]]:
    """The first line, and the changes after it."""
    lines = (directory / NAME).read_bytes().split(b"\n")[:-1]
    head, *changes = [_line(directory, text, number) for number, text in enumerate(lines, 1)]
    return head, changes


def _line(directory: Path, text: bytes, number: int) -> dict:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"{directory / NAME} is damaged in line {number}")
    return value


class Journal:
    """Open for changes; ``start`` writes a new one, the constructor goes on with what is there."""

    def __init__(self, directory: Path):
        self._handle = os.open(directory / NAME, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
        whole = (directory / NAME).read_bytes().rfind(b"\n") + 1
        os.ftruncate(self._handle, whole)

    @classmethod
    def start(cls, directory: Path, head: dict) -> "Journal":
        write_bytes(directory / NAME, _text(head))
        return cls(directory)

    def append(self, change: dict) -> None:
        """Returns when the line is on disk; after an error the journal has to be opened again."""
        text = _text(change)
        if os.write(self._handle, text) < len(text):
            raise OSError("there is no room on the disk")
        os.fsync(self._handle)

    def close(self) -> None:
        os.close(self._handle)


def _text(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False).encode() + b"\n"
