"""Where a result came from: command, versions, commit and device, for the record of every file alx writes."""

import functools
import importlib.metadata
import platform
import shlex
import subprocess
import sys
from pathlib import Path

import jax

__all__ = ["commit", "of_run", "versions"]

PACKAGES = ("alx", "jax", "flax", "optax", "numpyro", "numpy")
ROOT = Path(__file__).parents[2]


def versions() -> dict[str, str]:
    """Versions of Python and the packages that decide the numbers."""
    return {"python": platform.python_version()} | {
        package: importlib.metadata.version(package) for package in PACKAGES
    }


@functools.cache
def commit() -> str | None:
    """The git commit of the clone that alx runs from, if it is one."""
    if not (ROOT / ".git").exists():  # an installed alx may lie inside somebody else's clone
        return None
    try:
        result = subprocess.run(
            # Without optional locks git only reads: several processes may ask at once.
            ["git", "--no-optional-locks", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() or None if result.returncode == 0 else None


def of_run(command: str | None = None) -> dict:
    """Command, versions, commit and device of this process; its own command line if none is given."""
    device = jax.devices()[0]
    return {
        "command": command or shlex.join(["python", *sys.orig_argv[1:]]),
        "versions": versions(),
        "commit": commit(),
        "device": {"platform": device.platform, "kind": device.device_kind, "count": jax.device_count()},
    }
