"""``python -m benchmarks.speed``: what things cost. Each command lives in a file of its own."""

import tyro

from benchmarks.speed.propose import propose
from benchmarks.speed.train import train

__all__ = ["main"]

COMMANDS = {"propose": propose, "train": train}


def main() -> None:
    """Run the command line."""
    tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="benchmarks.speed", description=__doc__)


if __name__ == "__main__":
    main()
