"""The user's cache directory, and JAX's persistent compilation cache in it."""

import contextlib
import os
from pathlib import Path

import jax

__all__ = ["directory", "enable", "keep_matplotlib"]


def directory() -> Path:
    """Where alx keeps what can be made again: $XDG_CACHE_HOME/alx, by default ~/.cache/alx."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "alx"


def enable() -> None:
    """Keep compiled programs, so that the next start of the same program does not compile again."""
    try:
        where = directory() / "jax"
    except RuntimeError:  # a user without a home, as in some containers, has no cache
        return
    jax.config.update("jax_compilation_cache_dir", str(where))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    if jax.__version_info__ < (0, 11) and "JAX_LOGGING_LEVEL" not in os.environ:
        # These take what was compiled on this very machine for another machine's, and say so at length.
        jax.config.update("jax_logging_level", "CRITICAL")
    keep_matplotlib()


def keep_matplotlib() -> None:
    """Have matplotlib, when it is imported, keep its files here and not among the user's settings."""
    with contextlib.suppress(RuntimeError):
        os.environ.setdefault("MPLCONFIGDIR", str(directory() / "matplotlib"))
