"""``python -m alx``: from a CSV of points to the next one, or to a model; policies; a server."""

import os
import sys
from pathlib import Path

import tyro

import alx
from alx.io.store import card, load, shipped
from alx.learner.commands import COMMANDS
from alx.serve.command import serve

__all__ = ["main"]

Positional = tyro.conf.Positional


def list_policies(name: Positional[str | None] = None) -> None:
    """Print a line for each shipped policy, the title of its card, or the whole card of one.

    Args:
        name: the policy whose whole card is printed.
    """
    if name is not None:
        print(card(name).rstrip())
        return
    for each in shipped():
        print(card(each).strip().splitlines()[0].lstrip("# "))


def export(policy: Positional[str], out: Path, dim: int | None = None, capacity: int | None = None) -> None:
    """Write a policy as one file that runs without alx.

    Args:
        policy: a shipped name or the path of a policy file.
        out: the file; with the ending .onnx an ONNX model, otherwise a jax.export artefact.
        dim: the number of inputs; required for the general policy, known for others.
        capacity: the number of points it takes; required for the general policy, by default as many as
            others were trained for.
    """
    alx.export(load(policy), out, dim, capacity)
    print(f"wrote {out}")


def main() -> None:
    """Run the command line; bad input ends in one sentence and exit code 2."""
    commands = {"list": list_policies, "export": export, **COMMANDS, "serve": serve}
    try:
        tyro.extras.subcommand_cli_from_dict(commands, prog="alx", description=__doc__)
        sys.stdout.flush()
    except BrokenPipeError:  # a reader such as `head` has what it wanted; nothing more can be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
        print(f"alx: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
