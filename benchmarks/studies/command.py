"""What the command lines of the studies share: one sentence for what cannot be studied, before any work."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import tyro

from alx.io import cache

__all__ = ["at_least", "known", "run"]

Arguments = TypeVar("Arguments")
Prepared = TypeVar("Prepared")


def run(
    arguments: type[Arguments],
    prepare: Callable[[Arguments], Prepared],
    study: Callable[[Arguments, Prepared], None],
) -> int:
    """Read the command line, prepare and study; returns the exit code.

    Bad input that `prepare` meets is told in one sentence; an error in the study itself keeps its traceback.
    """
    given = tyro.cli(arguments)
    cache.enable()
    try:
        prepared = prepare(given)
    except (OSError, ValueError) as error:
        print(f"{Path(sys.argv[0]).stem}: {error}", file=sys.stderr)
        return 2
    study(given, prepared)
    return 0


def known(flag: str, values: Iterable[object], every: Iterable[object]) -> None:
    """A ValueError for the first of the values that is not one of the known ones."""
    every = list(every)
    for value in values:
        if value not in every:
            raise ValueError(f"--{flag} must be some of {', '.join(map(str, every))}, got {value}")


def at_least(flag: str, value: int, least: int, reason: str = "") -> None:
    """A ValueError for a number that is too small."""
    if value < least:
        raise ValueError(f"--{flag} must be at least {least}{reason and f' {reason}'}, got {value}")
