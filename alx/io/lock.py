"""One process at a time in a directory of results."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["hold"]


@contextlib.contextmanager
def hold(directory: Path) -> Iterator[Callable[[], None]]:
    """Keep other processes out of the directory; the system lets go when this one dies.

    Yields a function that raises an OSError when the directory is no longer the one that was locked: when
    somebody removes it and starts again under the same name, two processes must not write to one result.
    """
    path = directory / "lock"
    try:
        handle = open(path, "w")  # noqa: SIM115
    except OSError as error:
        raise ValueError(f"{directory} cannot be written: {error.strerror}") from None

    def check() -> None:
        try:
            same = os.path.samestat(os.fstat(handle.fileno()), os.stat(path))
        except OSError:
            same = False
        if not same:
            raise OSError(f"{directory} was removed while it was in use")

    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"{directory} is in use by another process") from None
        check()
        yield check
